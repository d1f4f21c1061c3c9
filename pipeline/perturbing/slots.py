"""What of a question may be replaced so that it asks in vain: what it takes for granted, not what it asks.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does not.
Presupposed are the names, attributes and relations on the way to the final step; asserted are the final step, what an
`exist` asks, and "a hat" in "Is the man wearing a hat?". The right option of a choice ("red or blue?") may go, too:
the question takes for granted that one of them holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.core.records import EditKind
from pipeline.judge.names import same_answer
from pipeline.judge.programs import FINDS, Operation
from pipeline.language.frames import DEFINITE, DETERMINERS, PORTIONS, PRONOUNS
from pipeline.language.relations import ANTONYMS, spatial
from pipeline.perturbing.alignment import Aligned, Span, root

POSITIONS = frozenset(("hposition", "vposition"))
# Types of which a thing may have several values at a time, or which nobody should judge by looks.
_NO_LOOK = frozenset(("name", "rel", "place", "room", "location", "type"))
UNSUITED = frozenset(("activity", "sport", "sportActivity", "other", "flavor", "race")) | _NO_LOOK


@dataclass(frozen=True, slots=True)
class Slot:
    """Something that may be replaced.

    Attributes:
        step, value: the program step, and which of its values (-1: its name).
        span: where it stands. said: the program's word for it.
        start: the token at which its noun phrase starts (its determiner), objects only.
    """

    kind: EditKind
    step: int
    value: int
    span: Span
    said: str
    start: int = -1


@dataclass(frozen=True, slots=True)
class Found:
    """The slots of a question; without any, `reason` says why."""

    slots: tuple[Slot, ...]
    reason: str = ""


def object_slots(program: Sequence[Operation], aligned: Aligned, answer: str) -> Found:
    """The things that the question takes for granted and names."""
    named = [i for i, operation in enumerate(program) if operation.name and operation.name not in PRONOUNS]
    options = list(_right_option(program, aligned, answer)) if program[-1].type == "name" else []
    presupposed = [i for i in named if not program[i].asserted]
    if not named and not options:
        return Found((), "names no object")
    if not presupposed and not options:
        return Found((), "its objects are asked for, not presupposed")
    asks = program[-1].verb in ("exist", "and", "or")
    slots = []
    for i in presupposed:
        if i not in aligned.names:
            continue
        span = _whole(aligned, aligned.names[i])
        start = phrase_start(aligned, span)
        if aligned.tokens[span.first - 1 : span.first] == ("of",) and span.first > 1 and aligned.tokens[span.first - 2] in PORTIONS:
            continue
        if "other" in aligned.tokens[max(start, 0) : span.first]:
            continue
        if (asks or program[i].verb == "verify") and aligned.tokens[start] not in DEFINITE:
            continue
        slots.append(Slot("object", i, -1, span, program[i].name, start))
    slots += [Slot("object", o.step, o.value, o.span, o.said, phrase_start(aligned, o.span)) for o in options]
    return Found(tuple(slots), "" if slots else "its objects were not found in the text, or are not definite")


def attribute_slots(program: Sequence[Operation], aligned: Aligned, answer: str) -> Found:
    """The attributes that the question takes for granted, and the option that is right."""
    every = [i for i, operation in enumerate(program) if operation.verb in ("filter", "verify") or operation.verb == "choose" and operation.type != "rel"]
    presupposed = [i for i in every if program[i].verb == "filter" and not program[i].asserted and program[i].type not in POSITIONS]
    options = list(_right_option(program, aligned, answer)) if program[-1].type not in UNSUITED | POSITIONS else []
    if not presupposed and not options:
        return Found((), "its attributes are asked for, not presupposed" if every else "has no attribute")
    slots = [
        Slot("attribute", i, 0, aligned.values[i, 0], program[i].values[0]) for i in presupposed
        if (i, 0) in aligned.values and not program[i].negated and program[i].type not in UNSUITED
    ]
    slots += options
    return Found(tuple(slots), "" if slots else "its attributes have no counterpart (negated, not exclusive, or not found in the text)")


def relation_slots(program: Sequence[Operation], aligned: Aligned) -> Found:
    """Spatial relations and positions that the question takes for granted and that have an opposite."""
    every = [i for i, operation in enumerate(program) if operation.verb == "relate" or operation.type in POSITIONS or operation.type == "rel"]
    slots = []
    for i in every:
        operation = program[i]
        if operation.asserted or operation.verb not in ("relate", "filter") or operation.negated:
            continue
        if operation.verb == "relate" and program[root(program, operation.inputs[0])].name == operation.name:
            continue  # "the man to the left of the other man": there is one to the right, too
        term = spatial(operation.values[0]) if operation.verb == "relate" else operation.values[0]
        if term in ANTONYMS and (i, 0) in aligned.values:
            slots.append(Slot("relation", i, 0, aligned.values[i, 0], operation.values[0]))
    return Found(tuple(slots), "" if slots else "has no spatial relation that it presupposes")


def _right_option(program: Sequence[Operation], aligned: Aligned, answer: str) -> Iterator[Slot]:
    """The option of a choice that is the answer. Without it, no option holds."""
    last = len(program) - 1
    if program[last].verb == "choose":
        for number, option in enumerate(program[last].values):
            if same_answer(option, answer) and (last, number) in aligned.values:
                yield Slot("object" if program[last].type == "name" else "attribute", last, number, aligned.values[last, number], option)
                return


def phrase_start(aligned: Aligned, span: Span) -> int:
    """The token that starts a noun's phrase: its determiner, with only looks in between; else the noun's own first."""
    index = span.first - 1
    while index >= 0 and span.first - index <= 5:
        token = aligned.tokens[index]
        if token in DETERMINERS or token == "'s":
            return index
        if not (aligned.taken[index] or token in ("and", "other", "not") or aligned.tag(index).startswith(("JJ", "VBN", "RB"))):
            break
        index -= 1
    return span.first


def _whole(aligned: Aligned, span: Span) -> Span:
    """The noun with what belongs to it: "chocolate" of "chocolate cake", "adult" of "adult man"."""
    first = span.first
    while first > 0 and not aligned.taken[first - 1] and aligned.modifies(first - 1):
        first -= 1
    return aligned.span(first, span.last)


def constraints(program: Sequence[Operation], step: int) -> tuple[list[tuple[str, ...]], list[tuple[str, str]], list[str]]:
    """What the rest of the question wants of the thing that a step names.

    Returns:
        its attributes, of each group at least one; (relation, "s" or "o" for its subject or object) pairs; types of
        which it should have a value.
    """
    attributes: list[tuple[str, ...]] = []
    relations: list[tuple[str, str]] = []
    types: list[str] = []
    own = program[step]
    if own.verb in ("relate", "verify", "choose"):
        relations += [(value, "s" if own.subject else "o") for value in own.values]
    for operation in program:
        if not any(program[i].verb in FINDS and root(program, i) == step for i in operation.inputs):
            continue
        if operation.verb == "relate" or operation.type == "rel":
            relations += [(value, "o" if operation.subject else "s") for value in operation.values]
        elif operation.verb == "filter" and not operation.negated and operation.type not in POSITIONS:
            attributes.append(operation.values)
        elif operation.verb in ("verify", "choose") and not operation.type:
            attributes.append(operation.values)
        elif operation.verb in ("query", "verify", "choose", "same", "different") and operation.type not in POSITIONS | _NO_LOOK:
            types.append(operation.type)
    return attributes, relations, types
