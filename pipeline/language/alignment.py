"""Align a functional program with the text of its question: find the words that express each step.

A program may say `select: trash can (20)` where the text says "the garbage can". GQA's annotations link words
of the text to object ids, and so connect the text and the program. Where annotations are missing or
ambiguous, the order in which English sentences mention the names of a program decides: "the cup on the table"
is `select table, relate cup`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import permutations

from pipeline.core.records import Word
from pipeline.language.functional_programs import Operation, Program, find_root_step
from pipeline.language.lexicon import get_synonyms
from pipeline.language.nouns import pluralize, singularize
from pipeline.language.relations import extract_spatial_relation
from pipeline.language.sentence import (
    Sentence,
    Span,
    SurfaceForm,
    TokenRange,
    has_overlap,
    parse_word_range,
    tokenize_text,
)
from pipeline.language.similarity import ATTRIBUTE_SYNONYMS
from pipeline.language.word_lists import (
    DETERMINERS,
    FRAME_WORDS,
    UNINFORMATIVE_NAMES,
    parse_headed_groups,
    parse_words,
)

# Name in a program -> variants of the name in GQA's texts. Other variants are found by GQA's annotations and
# by WordNet's synonyms.
_NAME_VARIANTS = parse_headed_groups("""
counter: counter top; countertop: counter, counter top; faucet: tap; bicycle, motorcycle: bike; person: people; wristband: wrist band
""")
# Ways to refer to one or several objects whose name is a mass noun: "a piece of furniture", "the clothing
# items".
_PARTITIVE_TEMPLATES = parse_words("""
piece of {}, pieces of {}, item of {}, items of {}, {} item, {} items, article of {}, articles of {}
""")


def align_program(
    text: str, program: Program, annotations: Mapping[str, str], words: Sequence[Word] = ()
) -> Sentence:
    """Find the names, attributes and spatial relations of a program in the text of its question.

    Only words that are found with certainty are marked in the returned sentence.

    Args:
        text: The text of the question.
        program: The parsed program of the question.
        annotations: Word position ("3" or "2:4", counted from 0) -> object id, as in GQA. Words are separated
            by blanks.
        words: The tagged words of the text; () if the text was not tagged.
    """
    sentence = Sentence(text, words)
    if program:
        _align_names(sentence, program, _collect_annotated_ranges(sentence, annotations))
        _mark_queried_relation(sentence, program[-1])
        _align_relations(sentence, program)
        _align_attributes(sentence, program)
    return sentence


def _collect_annotated_ranges(
    sentence: Sentence, annotations: Mapping[str, str]
) -> dict[str, list[TokenRange]]:
    """Return the annotated token ranges of each object id."""
    starts = [match.start() for match in re.finditer(r"\S+", sentence.text)]
    bounds = [*starts, len(sentence.text)]
    words = [i for i, (start, _) in enumerate(sentence.char_spans) if sentence.text[start].isalnum()]
    marked: dict[str, list[TokenRange]] = {}
    for position, object_id in annotations.items():
        found = parse_word_range(position)
        if found is None or found[1] >= len(bounds):
            continue
        first, last = found
        inside = [i for i in words if bounds[first] <= sentence.char_spans[i][0] < bounds[last]]
        if inside:
            marked.setdefault(object_id, []).append((inside[0], inside[-1] + 1))
    return marked


def _align_names(sentence: Sentence, program: Program, marked: Mapping[str, list[TokenRange]]) -> None:
    spoken = [
        i
        for i in _order_by_mention(program)
        if program[i].name and program[i].name not in UNINFORMATIVE_NAMES
    ]
    options = {i: sentence.find_forms(get_name_forms(program[i].name)) for i in spoken}
    chosen: dict[int, TokenRange] = {}
    # First find the names that annotations identify.
    for i in spoken:
        ranges = [place for object_id in program[i].object_ids for place in marked.get(object_id, ())]
        inside = [(a, b) for a, b in options[i] if any(low <= a and b <= high for low, high in ranges)]
        if len(ranges) == 1 and not options[i] and (place := _find_reworded_name(sentence, *ranges[0])):
            inside = [place]
        free = [place for place in inside if not has_overlap(place, chosen.values())]
        if free:
            chosen[i] = free[0]
    position = 0
    # Then find the other names, in the order in which the text mentions them.
    for i in spoken:
        free = [place for place in options[i] if not has_overlap(place, chosen.values())]
        if i not in chosen and free:
            chosen[i] = next((place for place in free if place[0] >= position), free[0])
        if i in chosen:
            position = chosen[i][1]
    sentence.name_spans |= {i: sentence.mark_matched(*place) for i, place in chosen.items()}


def _find_reworded_name(sentence: Sentence, first: int, last: int) -> TokenRange | None:
    """Return an annotated phrase that expresses a name in other words, without its determiner and attributes.

    Args:
        sentence: The sentence.
        first: The first token of the annotated phrase.
        last: The token after the annotated phrase.

    Returns:
        The token range; None if the phrase says nothing about the object, such as "who" or "one".
    """
    while first < last and (
        sentence.tokens[first] in DETERMINERS or sentence.get_word_class(first) == "attribute"
    ):
        first += 1
    words = sentence.tokens[first:last]
    says_something = words and not FRAME_WORDS.issuperset(words) and not UNINFORMATIVE_NAMES.issuperset(words)
    return (first, last) if says_something else None


def _order_by_mention(program: Program) -> list[int]:
    """Return the steps in the order in which a question mentions their names."""

    def order(index: int) -> list[int]:
        step = program[index]
        before = [i for source in step.inputs for i in order(source)]
        if step.verb in ("verify", "choose") and step.name and not step.is_subject:
            return [*before, index]
        return [index, *before] if step.name else before

    return list(dict.fromkeys(order(len(program) - 1)))


def _mark_queried_relation(sentence: Sentence, asked: Operation) -> None:
    """Mark the relation that the question asks about, as in "Is the cup to the left of ...?".

    Otherwise the word "left" of this relation could be taken for a position, as in "the cup on the left".
    """
    if asked.type == "rel":
        chosen = asked.verb == "choose"
        forms = (
            get_choice_forms(asked.values)
            if chosen
            else get_relation_forms(extract_spatial_relation(asked.values[0]))
        )
        for place in sentence.find_forms(forms)[:1]:
            sentence.mark_matched(*place)


def _align_relations(sentence: Sentence, program: Program) -> None:
    for index, step in enumerate(program):
        anchor = find_root_step(program, step.inputs[0]) if step.verb == "relate" else index
        other = sentence.name_spans.get(anchor) or sentence.find_pronoun(program[anchor].name)
        if step.verb != "relate" or other is None:
            continue
        places = sentence.find_forms(get_relation_forms(extract_spatial_relation(step.values[0])))
        # In "the cup ON the table", the last match between the two names is used.
        if step.is_subject:
            named = sentence.name_spans.get(index)
            start = named.end_token if named and named.end_token <= other.first_token else 0
            between = [place for place in places if start <= place[0] and place[1] <= other.first_token][-1:]
        # In "the table the cup is ON" and "What is the cup ON?", the first match after the cup is used. If
        # there is none, a match at the start of the text is used: "ON what is the cup?".
        else:
            fronted = [place for place in places if place[0] == 0]
            between = [place for place in places if place[0] >= other.end_token][:1] or fronted
        for place in between:
            sentence.value_spans[index, 0] = sentence.mark_matched(*place)


def _align_attributes(sentence: Sentence, program: Program) -> None:
    # Attributes of filters are found first, because they stand next to their nouns. An attribute that the
    # question asks about may stand anywhere.
    for index in sorted(range(len(program)), key=lambda i: program[i].verb != "filter"):
        step = program[index]
        if step.verb not in ("filter", "verify", "choose") or step.type == "rel":
            continue
        noun = sentence.name_spans.get(find_root_step(program, step.inputs[0]))
        for value_index, value in enumerate(step.values):
            places = sentence.find_forms(
                get_name_forms(value) if step.type == "name" else get_attribute_forms(value)
            )
            if step.verb == "filter" and noun:
                places.sort(key=partial(_compute_noun_distance, noun))
            elif step.verb == "verify":
                places.reverse()
            for place in places[:1]:
                sentence.value_spans[index, value_index] = sentence.mark_matched(*place)


def _compute_noun_distance(noun: Span, place: TokenRange) -> tuple[int, int]:
    """Return a sort key for the distance of an attribute from its noun.

    At the same distance, an attribute before the noun comes first.
    """
    return (
        (noun.first_token - place[1], 0)
        if place[1] <= noun.first_token
        else (place[0] - noun.end_token + 1, 1)
    )


@lru_cache(maxsize=1 << 16)
def get_name_forms(name: str) -> tuple[SurfaceForm, ...]:
    """Return the forms that a name may have in a text: singular, plural, synonyms, and forms like "piece of
    ...".

    >>> ("couches",) in get_name_forms("sofa")
    True
    """
    stems = {name, pluralize(name), singularize(name)}
    for one in (name, singularize(name)):
        stems |= {
            form
            for variant in (*_NAME_VARIANTS.get(one, ()), *get_synonyms(one))
            for form in (variant, pluralize(variant))
        }
    return _tokenize_forms(stems | {template.format(name) for template in _PARTITIVE_TEMPLATES})


@lru_cache(maxsize=1 << 14)
def get_attribute_forms(value: str) -> tuple[SurfaceForm, ...]:
    """Return the forms that an attribute may have in a text.

    >>> get_attribute_forms("wood")
    (('wood',), ('wooden',))
    """
    return _tokenize_forms({value, *ATTRIBUTE_SYNONYMS.get(value, ())})


@lru_cache(maxsize=1 << 12)
def get_relation_forms(relation: str) -> tuple[SurfaceForm, ...]:
    """Return the forms that a spatial relation may have in a text.

    The texts of GQA also contain "behind of", "before" for "in front of", and "left of" for "to the left of".
    """
    if relation in ("on", "in"):
        return _tokenize_forms({relation})
    also = {"before"} if relation == "in front of" else set()
    return _tokenize_forms({relation, f"{relation} of", relation.removeprefix("to the "), *also})


def get_choice_forms(relations: Sequence[str]) -> tuple[SurfaceForm, ...]:
    """Return the forms that a choice between relations may have in a text.

    >>> get_choice_forms(("in front of", "behind"))[0]
    ('behind', 'or', 'in', 'front', 'of')
    """
    pairs = permutations(relations, 2)
    return _tokenize_forms(
        f"{start} or {second}" for first, second in pairs for start in (first, first.removesuffix(" of"))
    )


def _tokenize_forms(forms: Iterable[str]) -> tuple[SurfaceForm, ...]:
    return tuple(sorted(map(tokenize_text, forms), key=lambda form: (-len(form), form)))
