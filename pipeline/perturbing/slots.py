"""What of a question may be replaced so that it asks in vain: what it takes for granted, not what it asks.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does
not. Presupposed are the names, attributes and relations on the way to the final step; asserted are the final
step, what an `exist` asks, "a hat" in "Is the man wearing a hat?", and the options of a choice ("red or blue?").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.records import EditKind
from pipeline.judge.programs import Operation
from pipeline.language.frames import DEFINITE, DETERMINERS, PORTIONS, PRONOUNS
from pipeline.language.relations import ANTONYMS, spatial
from pipeline.perturbing.alignment import root
from pipeline.perturbing.sentence import Sentence, Span

POSITIONS = frozenset(("hposition", "vposition"))
NO_LOOK = frozenset(("name", "rel", "place", "room", "location", "type"))
# Of these a thing may have several values at a time; race is nothing to be judged by looks.
UNSUITED = NO_LOOK | {"activity", "sport", "sportActivity", "other", "flavor", "race"}


@dataclass(frozen=True, slots=True)
class Slot:
    """Something that may be replaced.

    Attributes:
        step, value: the program step, and which of its values (-1: its name).
        span: where it stands. word: what the program calls it.
        start: the token at which its noun phrase starts (its determiner); objects only.
    """

    kind: EditKind
    step: int
    value: int
    span: Span
    word: str
    start: int = -1


@dataclass(frozen=True, slots=True)
class Found:
    """The slots of a question; without any, `reason` says why."""

    slots: tuple[Slot, ...]
    reason: str = ""


def object_slots(program: Sequence[Operation], sentence: Sentence) -> Found:
    """The things that the question names and takes for granted."""
    named = [i for i, operation in enumerate(program) if operation.name and operation.name not in PRONOUNS]
    if not named:
        return Found((), "names no object")
    presupposed = [i for i in named if not program[i].asserted]
    if not presupposed:
        return Found((), "its objects are asked for, not presupposed")
    whether = program[-1].verb in ("exist", "and", "or")
    slots = []
    for i in presupposed:
        if i not in sentence.names:
            continue
        span = _whole(sentence, sentence.names[i])
        start = phrase_start(sentence, span)
        portion = sentence.before(span.first) == "of" and sentence.before(span.first - 1) in PORTIONS
        definite = sentence.tokens[start] in DEFINITE
        if portion or "other" in sentence.tokens[start : span.first]:
            continue  # "a slice of PIZZA", "the other CAR": makes sense with this word only
        if definite or not (whether or program[i].verb == "verify"):
            slots.append(Slot("object", i, -1, span, program[i].name, start))
    return Found(tuple(slots), "" if slots else "its objects were not found in the text, or are not definite")


def attribute_slots(program: Sequence[Operation], sentence: Sentence) -> Found:
    """The attributes that the question takes for granted."""
    verbs = ("filter", "verify", "choose")
    every = [
        i for i, o in enumerate(program) if o.verb in verbs and o.type not in POSITIONS | {"rel", "name"}
    ]
    presupposed = [i for i in every if program[i].verb == "filter" and not program[i].asserted]
    if not presupposed:
        return Found((), "its attributes are asked for, not presupposed" if every else "has no attribute")
    slots = [
        Slot("attribute", i, 0, sentence.values[i, 0], program[i].values[0])
        for i in presupposed
        if (i, 0) in sentence.values and not program[i].negated and program[i].type not in UNSUITED
    ]
    why = "its attributes are negated, not exclusive, or not found in the text"
    return Found(tuple(slots), "" if slots else why)


def relation_slots(program: Sequence[Operation], sentence: Sentence) -> Found:
    """The spatial relations and positions that the question takes for granted and that have an opposite."""
    slots = []
    for i, operation in enumerate(program):
        if operation.asserted or operation.negated or (i, 0) not in sentence.values:
            continue
        word = operation.values[0]
        if operation.verb == "relate":
            # "The man to the left of the other man": there is one to the right, too.
            other = program[root(program, operation.inputs[0])]
            wanted = spatial(word) in ANTONYMS and other.name != operation.name
        else:
            wanted = operation.verb == "filter" and operation.type in POSITIONS and word in ANTONYMS
        if wanted:
            slots.append(Slot("relation", i, 0, sentence.values[i, 0], word))
    return Found(tuple(slots), "" if slots else "has no spatial relation that it presupposes")


def phrase_start(sentence: Sentence, span: Span) -> int:
    """The token that starts a noun's phrase: its determiner, with only looks in between; else the noun's
    first."""
    for index in range(span.first - 1, max(span.first - 6, -1), -1):
        token = sentence.tokens[index]
        if token in DETERMINERS or token == "'s":
            return index
        look = sentence.taken[index] or sentence.tag(index).startswith(("JJ", "VBN", "RB"))
        if not look and token not in ("and", "other", "not"):
            break
    return span.first


def _whole(sentence: Sentence, span: Span) -> Span:
    """The noun with what belongs to it: "chocolate" of "chocolate cake", "adult" of "adult man", "computer" of
    "laptop computer"."""
    first, last = span.first, span.last
    while last < len(sentence.tokens) and not sentence.taken[last] and _ends_compound(sentence, last):
        last += 1
    while first > 0 and not sentence.taken[first - 1] and sentence.modifies(first - 1):
        first -= 1
    return sentence.span(first, last)


def _ends_compound(sentence: Sentence, index: int) -> bool:
    """Whether a token that no step names is a noun like the one before it."""
    return sentence.tag(index) in ("NN", "NNS") and sentence.modifies(index)
