"""Where the steps of a program stand in the question's text.

A program says `select: trash can (20)`, the text "the garbage can": GQA's annotations, which tie words to
object ids, bridge that. Where they are silent or name an object twice, the order in which English puts a
program's names decides: "the cup on the table" is `select table, relate cup`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import permutations

from pipeline.core.records import Word
from pipeline.language.functional_programs import Operation, Program, root
from pipeline.language.lexicon import synonyms
from pipeline.language.nouns import plural, singular
from pipeline.language.relations import spatial
from pipeline.language.sentence import Form, Place, Sentence, Span, annotated_words, overlaps, tokens_of
from pipeline.language.similarity import SPOKEN_ATTRIBUTES
from pipeline.language.word_lists import DETERMINERS, FRAME_NOUNS, PRONOUNS, heads, words

# program: also said. As seen in GQA's questions, whose annotations tell the rest; synonyms of names are WordNet's.
_NAMES = heads("""
counter: counter top; countertop: counter, counter top; faucet: tap; bicycle, motorcycle: bike; person: people; wristband: wrist band
""")
# "a piece of furniture", "the clothing items": said of one, or some, of what cannot be counted.
_PORTIONS = words("""
piece of {}, pieces of {}, item of {}, items of {}, {} item, {} items, article of {}, articles of {}
""")


def align(
    text: str, program: Program, annotations: Mapping[str, str], words: Sequence[Word] = ()
) -> Sentence:
    """The sentence with every name, attribute and spatial relation of a program that is found in it for sure.

    Args:
        annotations: word position ("3" or "2:4", words being what blanks part) -> object id, as in GQA.
        words: the text's tagged words.
    """
    sentence = Sentence(text, words)
    if program:
        _names(sentence, program, _marked(sentence, annotations))
        _asked(sentence, program[-1])
        _relations(sentence, program)
        _attributes(sentence, program)
    return sentence


def _marked(sentence: Sentence, annotations: Mapping[str, str]) -> dict[str, list[Place]]:
    """Object id -> its annotated tokens."""
    starts = [match.start() for match in re.finditer(r"\S+", sentence.text)]
    bounds = [*starts, len(sentence.text)]
    words = [i for i, (start, _) in enumerate(sentence.places) if sentence.text[start].isalnum()]
    marked: dict[str, list[Place]] = {}
    for position, object_id in annotations.items():
        found = annotated_words(position)
        if found is None or found[1] >= len(bounds):
            continue
        first, last = found
        inside = [i for i in words if bounds[first] <= sentence.places[i][0] < bounds[last]]
        if inside:
            marked.setdefault(object_id, []).append((inside[0], inside[-1] + 1))
    return marked


def _names(sentence: Sentence, program: Program, marked: Mapping[str, list[Place]]) -> None:
    spoken = [i for i in _spoken_order(program) if program[i].name and program[i].name not in PRONOUNS]
    options = {i: sentence.find(name_forms(program[i].name)) for i in spoken}
    chosen: dict[int, Place] = {}
    for i in spoken:  # what the annotations tell
        ranges = [place for object_id in program[i].object_ids for place in marked.get(object_id, ())]
        inside = [(a, b) for a, b in options[i] if any(low <= a and b <= high for low, high in ranges)]
        if len(ranges) == 1 and not options[i] and (place := _other_words(sentence, *ranges[0])):
            inside = [place]
        free = [place for place in inside if not overlaps(place, chosen.values())]
        if free:
            chosen[i] = free[0]
    position = 0
    for i in spoken:  # what is left, by the order of speech
        free = [place for place in options[i] if not overlaps(place, chosen.values())]
        if i not in chosen and free:
            chosen[i] = next((place for place in free if place[0] >= position), free[0])
        if i in chosen:
            position = chosen[i][1]
    sentence.names |= {i: sentence.take(*place) for i, place in chosen.items()}


def _other_words(sentence: Sentence, first: int, last: int) -> Place | None:
    """An annotated phrase that says a name in other words, without determiner and looks; None for "who", "one"."""
    while first < last and (sentence.tokens[first] in DETERMINERS or sentence.kind(first) == "attribute"):
        first += 1
    words = sentence.tokens[first:last]
    says_something = words and not FRAME_NOUNS.issuperset(words) and not PRONOUNS.issuperset(words)
    return (first, last) if says_something else None


def _spoken_order(program: Program) -> list[int]:
    """Steps in the order in which a question says their names."""

    def order(index: int) -> list[int]:
        step = program[index]
        before = [i for source in step.inputs for i in order(source)]
        if step.verb in ("verify", "choose") and step.name and not step.subject:
            return [*before, index]
        return [index, *before] if step.name else before

    return list(dict.fromkeys(order(len(program) - 1)))


def _asked(sentence: Sentence, asked: Operation) -> None:
    """Take "to the left or to the right of", "Is the cup to the left of": what is asked for there does not say
    where "the cup on the right" stands."""
    if asked.type == "rel":
        chosen = asked.verb == "choose"
        forms = choice_forms(asked.values) if chosen else relation_forms(spatial(asked.values[0]))
        for place in sentence.find(forms)[:1]:
            sentence.take(*place)


def _relations(sentence: Sentence, program: Program) -> None:
    for index, step in enumerate(program):
        anchor = root(program, step.inputs[0]) if step.verb == "relate" else index
        other = sentence.names.get(anchor) or sentence.pronoun(program[anchor].name)
        if step.verb != "relate" or other is None:
            continue
        places = sentence.find(relation_forms(spatial(step.values[0])))
        if step.subject:  # the cup ON the table: the last one between the two
            named = sentence.names.get(index)
            start = named.last if named and named.last <= other.first else 0
            between = [place for place in places if start <= place[0] and place[1] <= other.first][-1:]
        else:  # the table the cup is ON, what the cup is ON: the first one after the cup; or ON what the cup is
            fronted = [place for place in places if place[0] == 0]
            between = [place for place in places if place[0] >= other.last][:1] or fronted
        for place in between:
            sentence.values[index, 0] = sentence.take(*place)


def _attributes(sentence: Sentence, program: Program) -> None:
    # Filters go first: they stand next to their nouns, what is asked stands anywhere.
    for index in sorted(range(len(program)), key=lambda i: program[i].verb != "filter"):
        step = program[index]
        if step.verb not in ("filter", "verify", "choose") or step.type == "rel":
            continue
        noun = sentence.names.get(root(program, step.inputs[0]))
        for number, value in enumerate(step.values):
            places = sentence.find(name_forms(value) if step.type == "name" else attribute_forms(value))
            if step.verb == "filter" and noun:
                places.sort(key=partial(_distance, noun))
            elif step.verb == "verify":
                places.reverse()
            for place in places[:1]:
                sentence.values[index, number] = sentence.take(*place)


def _distance(noun: Span, place: Place) -> tuple[int, int]:
    """How far a look stands from its noun, right in front of it being nearest."""
    return (noun.first - place[1], 0) if place[1] <= noun.first else (place[0] - noun.last + 1, 1)


@lru_cache(maxsize=1 << 16)
def name_forms(name: str) -> tuple[Form, ...]:
    """The forms of an object's or category's name: singular, plural, other words, portions."""
    stems = {name, plural(name), singular(name)}
    for one in (name, singular(name)):
        stems |= {form for said in (*_NAMES.get(one, ()), *synonyms(one)) for form in (said, plural(said))}
    return _tokens(stems | {portion.format(name) for portion in _PORTIONS})


@lru_cache(maxsize=1 << 14)
def attribute_forms(value: str) -> tuple[Form, ...]:
    """The forms of an attribute: wood, wooden."""
    return _tokens({value, *SPOKEN_ATTRIBUTES.get(value, ())})


@lru_cache(maxsize=1 << 12)
def relation_forms(relation: str) -> tuple[Form, ...]:
    """The forms of a spatial relation: GQA also writes "behind of", and "before" for "in front of"; "left of" is short
    for "to the left of"."""
    if relation in ("on", "in"):
        return _tokens({relation})
    also = {"before"} if relation == "in front of" else set()
    return _tokens({relation, f"{relation} of", relation.removeprefix("to the "), *also})


def choice_forms(relations: Sequence[str]) -> tuple[Form, ...]:
    """The forms of a choice between relations: "to the left or to the right of", "in front of or behind"."""
    pairs = permutations(relations, 2)
    return _tokens(
        f"{said} or {second}" for first, second in pairs for said in (first, first.removesuffix(" of"))
    )


def _tokens(forms: Iterable[str]) -> tuple[Form, ...]:
    return tuple(sorted(map(tokens_of, forms), key=lambda form: (-len(form), form)))
