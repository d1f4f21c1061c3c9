"""Where the steps of a program stand in the question's text.

A program says `select: trash can (20)`, the text "the garbage can": GQA's annotations, which tie words to
object ids, bridge that. Where they are silent or name an object twice, the order in which English puts a
program's names decides: "the cup on the table" is `select table, relate cup`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.core.records import Word
from pipeline.perturbing.sentence import Sentence, Span, sentence_of
from pipeline.programs.operations import Operation
from pipeline.programs.spelling import attribute_forms, choice_forms, name_forms, relation_forms
from pipeline.words.frames import DETERMINERS, FRAME_NOUNS, PRONOUNS
from pipeline.words.relations import spatial

Place = tuple[int, int]  # tokens [first, last)


def align(
    text: str, program: Sequence[Operation], annotations: Mapping[str, str], words: Sequence[Word] = ()
) -> Sentence:
    """Find every name, attribute and spatial relation of a program in its question.

    Args:
        annotations: word position ("3" or "2:4", words being what blanks part) -> object id, as in GQA.
        words: the text's tagged words.

    Returns:
        The sentence with `names` and `values`; what is not found, or not for sure, is left out.
    """
    sentence = sentence_of(text, words)
    if program:
        _names(sentence, program, _marked(sentence, annotations))
        _asked(sentence, program[-1])
        _relations(sentence, program)
        _attributes(sentence, program)
    return sentence


def root(program: Sequence[Operation], index: int) -> int:
    """The step that names what a chain of filters narrows down."""
    while program[index].verb == "filter":
        index = program[index].inputs[0]
    return index


def _marked(sentence: Sentence, annotations: Mapping[str, str]) -> dict[str, list[Place]]:
    """Object id -> its annotated tokens."""
    starts = [match.start() for match in re.finditer(r"\S+", sentence.text)]
    bounds = [*starts, len(sentence.text)]
    marked: dict[str, list[Place]] = {}
    for position, object_id in annotations.items():
        first, _, last = position.partition(":")
        low, high = int(first), int(last or int(first) + 1)
        if 0 <= low < high <= len(starts):
            inside = [
                index
                for index, (start, end) in enumerate(sentence.places)
                if bounds[low] <= start and end <= bounds[high] and sentence.text[start].isalnum()
            ]
            if inside:
                marked.setdefault(object_id, []).append((inside[0], inside[-1] + 1))
    return marked


def _names(sentence: Sentence, program: Sequence[Operation], marked: Mapping[str, list[Place]]) -> None:
    wanted = [i for i in _spoken_order(program) if program[i].name and program[i].name not in PRONOUNS]
    options = {i: sentence.find(name_forms(program[i].name)) for i in wanted}
    filters = [operation for operation in program if operation.verb == "filter"]
    looks = {form[0] for o in filters for form in attribute_forms(o.values[0]) if len(form) == 1}
    chosen: dict[int, Place] = {}

    def free(place: Place) -> bool:
        return not any(place[0] < last and first < place[1] for first, last in chosen.values())

    for i in wanted:  # what the annotations tell
        ranges = [place for object_id in program[i].object_ids for place in marked.get(object_id, ())]
        inside = [(a, b) for a, b in options[i] if any(low <= a and b <= high for low, high in ranges)]
        if len(ranges) == 1 and not options[i] and (place := _other_words(sentence, *ranges[0], looks)):
            inside = [place]
        if place := next(filter(free, inside), None):
            chosen[i] = place
    position = 0
    for i in wanted:  # what is left, by the order of speech
        if i not in chosen:
            places = list(filter(free, options[i]))
            if places:
                chosen[i] = next((place for place in places if place[0] >= position), places[0])
        if i in chosen:
            position = chosen[i][1]
    for i, place in chosen.items():
        sentence.names[i] = sentence.take(*place)


def _other_words(sentence: Sentence, first: int, last: int, looks: set[str]) -> Place | None:
    """An annotated phrase that says a name in other words, without determiner and looks; None for "who",
    "one"."""
    while first < last and (sentence.tokens[first] in DETERMINERS or sentence.tokens[first] in looks):
        first += 1
    words = sentence.tokens[first:last]
    says_something = words and not FRAME_NOUNS.issuperset(words) and not PRONOUNS.issuperset(words)
    return (first, last) if says_something else None


def _spoken_order(program: Sequence[Operation]) -> list[int]:
    """Steps in the order in which a question says their names."""

    def order(index: int) -> list[int]:
        operation = program[index]
        before = [i for source in operation.inputs for i in order(source)]
        if operation.verb in ("verify", "choose") and operation.name and not operation.subject:
            return [*before, index]
        return [index, *before] if operation.name else before

    return list(dict.fromkeys(order(len(program) - 1)))


def _asked(sentence: Sentence, asked: Operation) -> None:
    """Take "to the left or to the right of", "Is the cup to the left of": what is asked for there does not say
    where "the cup on the right" stands."""
    if asked.type != "rel":
        return
    forms = choice_forms(asked.values) if asked.verb == "choose" else relation_forms(spatial(asked.values[0]))
    for place in sentence.find(forms)[:1]:
        sentence.take(*place)


def _relations(sentence: Sentence, program: Sequence[Operation]) -> None:
    for index, operation in enumerate(program):
        if operation.verb != "relate":
            continue
        places = sentence.find(relation_forms(spatial(operation.values[0])))
        other = sentence.names.get(root(program, operation.inputs[0]))
        if not places or other is None:
            continue
        if operation.subject:  # the cup ON the table: the last one between the two
            mine = sentence.names.get(index)
            between = [
                p for p in places if p[1] <= other.first and not (mine and p[0] < mine.last <= other.first)
            ]
            place = between[-1] if between else None
        else:  # the table the cup is ON, what the cup is ON: the first one after the cup
            place = next((place for place in places if place[0] >= other.last), None)
        if place:
            sentence.values[index, 0] = sentence.take(*place)


def _attributes(sentence: Sentence, program: Sequence[Operation]) -> None:
    # Filters go first: they stand next to their nouns, what is asked stands anywhere.
    for index in sorted(range(len(program)), key=lambda i: program[i].verb != "filter"):
        operation = program[index]
        if operation.verb not in ("filter", "verify", "choose") or operation.type == "rel":
            continue
        noun = sentence.names.get(root(program, operation.inputs[0]))
        for number, value in enumerate(operation.values):
            places = sentence.find(name_forms(value) if operation.type == "name" else attribute_forms(value))
            if not places or (noun is None and len(places) > 1 and operation.verb == "filter"):
                continue
            if operation.verb == "filter" and noun:
                place = min(places, key=lambda place: _distance(place, noun))
            else:
                place = places[-1] if operation.verb == "verify" else places[0]
            sentence.values[index, number] = sentence.take(*place)


def _distance(place: Place, noun: Span) -> tuple[int, int]:
    """How far a look stands from its noun, right in front of it being nearest."""
    return (noun.first - place[1], 0) if place[1] <= noun.first else (place[0] - noun.last + 1, 1)
