"""What one answered question states of its picture, fact by fact.

An answered question tells more than its answer: all that it presupposes holds, too. "What color is the cup on
the table?" red -> there is a table, and no second one is meant; there is a cup on it; it is red.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from pipeline.programs.operations import FINDS, SCENE, TRUTHS, Operation, noun_phrase, root
from pipeline.programs.saying import Program
from pipeline.words.frames import ANYTHING, PERSONS
from pipeline.words.nouns import lemma
from pipeline.words.spoken_answers import same_answer, spoken

_ELSEWHERE = {"indoors": "outdoors", "outdoors": "indoors"}
Ids = tuple[str, ...]
Kind = Literal["name", "attribute", "relation", "none", "scene", "absent", "alone"]


class Statement(msgspec.Struct, frozen=True, order=True):
    """One fact.

    Attributes:
        kind: name        the object goes by the name `value` ("" for an object of which no name is told)
              attribute   it has (`holds`), or has not, the attribute or position `value` of `type`
              relation    it is, or is not, in the relation `value` to the object `other`
              none        nothing is in a relation to it: `value` is GQA's spelling, "cup,on,s"
              scene       the scene's place, weather ... (`type`) is, or is not, `value`
              absent      the picture has no `value`
              alone       something was asked of "the cup" without more: there is one, or all are alike; with
                          type "kind" ("What animal is this?") there is no other member of the category either
        subject: the object's id; "" for scene, absent and alone.
    """

    kind: Kind
    subject: str = ""
    type: str = ""
    value: str = ""
    other: str = ""
    holds: bool = True


def of_program(program: Program, answer: str) -> Iterator[Statement]:
    """What a program with this answer states."""
    truths = _truths(program, answer)
    ids = [program[root(program, index)].object_ids for index in range(len(program))]
    if program[-1].verb == "query" and program[-1].type == "name":  # first: it is what the object is called
        yield from named(answer, ids[program[-1].inputs[0]])
    for index, operation in enumerate(program):
        if operation.verb == "select":
            yield from _selected(program, index)
        elif operation.verb in FINDS:
            truth = _truth_of_phrase(program, index, truths) if operation.asserted else True
            yield from _said(operation, operation.values[0], ids[index], ids[operation.inputs[0]], truth)
        elif operation.verb in ("verify", "query", "choose"):
            source = operation.inputs[0]
            for value, truth in _values(operation, answer, truths[index]):
                if program[source].name == SCENE:
                    yield from _of_scene(operation, value, truth)
                else:
                    yield from _said(operation, value, ids[source], ids[source], truth)


def named(name: str, ids: Ids) -> Iterator[Statement]:
    """The things of these ids exist and go by a name."""
    word = "" if name in ANYTHING or name == SCENE else "person" if name in PERSONS else name
    for object_id in ids:
        yield Statement("name", object_id, value=word)


def scene_is(type_: str, value: str, holds: bool = True) -> Statement:
    return Statement("scene", type="place" if type_ in ("", "room") else type_, value=value, holds=holds)


def _selected(program: Program, index: int) -> Iterator[Statement]:
    operation = program[index]
    yield from named(operation.name, operation.object_ids)
    users = [user for user in program if index in user.inputs]
    if (
        operation.absent
    ):  # also before a filter: "red windows" has an id where there are windows of another colour
        yield Statement("absent", value=lemma(operation.name))
    elif (
        operation.object_ids and users and all(map(_asks_directly, users)) and operation.name not in ANYTHING
    ):
        kind = "kind" if any(user.type == "name" for user in users) else ""
        yield Statement("alone", type=kind, value=lemma(operation.name))


def _asks_directly(user: Operation) -> bool:
    """Whether a step asks something of "the cup", so that only one can be meant. "Who is wearing a hat?" does not,
    nor does "Are all the cups red?"."""
    compares = user.verb in ("same", "different", "common") and len(user.inputs) == 2
    return compares or user.verb in ("query", "verify", "choose")


def _of_scene(operation: Operation, value: str, truth: bool | None) -> Iterator[Statement]:
    if truth is False and value in _ELSEWHERE:
        value, truth = _ELSEWHERE[value], True
    if truth is not None:
        yield scene_is(operation.type, value, truth is not operation.negated)


def _said(
    operation: Operation, value: str, ids: Ids, anchors: Ids, truth: bool | None
) -> Iterator[Statement]:
    """A value of things, or how the operation's things relate to the anchors; None says nothing."""
    related = operation.verb == "relate" or operation.type == "rel"
    if related:
        yield from named(operation.name, operation.object_ids)
    if truth is None:
        return
    holds = truth is not operation.negated
    if related:
        yield from _related(operation, value, anchors, holds)
    elif operation.type == "name":
        yield from named(value, ids) if holds else ()
    else:
        for object_id in ids:
            yield Statement("name", object_id)
            yield Statement("attribute", object_id, operation.type, value, holds=holds)


def _related(operation: Operation, relation: str, anchors: Ids, holds: bool) -> Iterator[Statement]:
    if relation.startswith("same "):
        return
    for anchor in anchors:
        if operation.absent and not holds:
            role = "s" if operation.subject else "o"
            yield Statement("none", anchor, value=f"{lemma(operation.name)},{relation},{role}")
        for object_id in operation.object_ids:
            subject, other = (object_id, anchor) if operation.subject else (anchor, object_id)
            if subject != other:  # GQA: "the car behind the other car", with one id for both
                yield Statement("relation", subject, value=relation, other=other, holds=holds)


def _truths(program: Program, answer: str) -> list[bool | None]:
    """Which yes-no steps are known to be true or false, from the final answer down."""
    truths: list[bool | None] = [None] * len(program)
    if program[-1].verb in TRUTHS:
        truths[-1] = {"yes": True, "no": False}.get(answer)
    for operation, truth in zip(reversed(program), reversed(truths), strict=True):
        if (operation.verb, truth) in (("and", True), ("or", False)):
            for i in operation.inputs:
                truths[i] = truth
    return truths


def _values(operation: Operation, answer: str, truth: bool | None) -> list[tuple[str, bool | None]]:
    """What the answer says of each value: of `verify` and `query` one, of `choose` the options."""
    if operation.verb == "verify":
        return [(operation.values[0], truth)]
    if operation.verb == "query":
        return [(answer, True)]
    meant = [option for option in operation.values if same_answer(option, answer) or spoken(option) == answer]
    return [(option, option == meant[0]) for option in operation.values] if len(meant) == 1 else []


def _truth_of_phrase(program: Program, index: int, truths: list[bool | None]) -> bool | None:
    """What the answer says of a step of a phrase that is asked for; "no" to several at once tells of none."""
    phrases = (
        (i, noun_phrase(program, step.inputs[0])) for i, step in enumerate(program) if step.verb == "exist"
    )
    exist, phrase = next((i, phrase) for i, phrase in phrases if index in phrase)
    claims = sum(program[i].verb in ("filter", "relate") for i in phrase)
    return truths[exist] if truths[exist] or claims == 1 else None
