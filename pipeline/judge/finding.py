"""The steps that find things: select, filter, relate. A step that certainly finds none voids the question,
unless whether there are any is just what the question asks."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.judge.facts import Facts, Found, Thing
from pipeline.judge.values import Truth, Void, any_of, unless
from pipeline.programs.operations import SCENE, Operation
from pipeline.programs.saying import Program, clause, name_of, phrase

_SCENE = Found((Thing("", (SCENE,), SCENE),))


def select(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    if operation.name == SCENE:
        return _SCENE
    return facts.named(operation.name) if operation.asserted else existing(operation, facts)


def existing(operation: Operation, facts: Facts) -> Found:
    """The things of the operation's name, which it takes for granted."""
    found = facts.named(operation.name)
    if not found:
        raise Void("missing object", f"no {name_of(operation)} in the picture")
    return found


def filter_(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    before, value = inputs[0], operation.values[0]
    found = _sift(before, lambda thing: unless(operation.negated, facts.has(thing, value, operation.type)))
    if not (found or operation.asserted):
        which = phrase(program, operation.inputs[0])
        raise Void("wrong attribute", f"no {which} is {'not ' if operation.negated else ''}{value}")
    return found


def relate(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    candidates, anchors = facts.named(operation.name), inputs[0]
    found = _sift(candidates, lambda thing: _related_to_any(operation, thing, anchors, facts))
    if not (found or operation.asserted):
        existing(operation, facts)
        raise Void("wrong relation", f"no {clause(program, operation, operation.values[0])}")
    return found


def related(operation: Operation, relation: str, thing: Thing, anchor: Thing, facts: Facts) -> Truth:
    """Whether the named `thing` and the input's `anchor` are related, in the program's direction."""
    if thing is anchor:  # "the man beside the other man" with one man listed: another may be unlisted
        return False if facts.complete else None
    return facts.holds(thing, relation, anchor) if operation.subject else facts.holds(anchor, relation, thing)


def called(thing: Thing, name: str, facts: Facts) -> Truth:
    """Whether a thing goes by a name. If only its category is known, it may."""
    if facts.complete:
        return facts.lexicon.is_one(thing.names, name, own=True)
    return facts.lexicon.may_be(thing.names, name)


def _sift(things: Found, truth_of: Callable[[Thing], Truth]) -> Found:
    """Keep the things of which it is true, and as "maybe" those of which it may be."""
    sure, maybe = [], []
    for thing in things.sure:
        truth = truth_of(thing)
        if truth is not False:
            (sure if truth else maybe).append(thing)
    maybe += [thing for thing in things.maybe if truth_of(thing) is not False]
    return Found(tuple(sure), tuple(maybe), things.open)


def _related_to_any(operation: Operation, thing: Thing, anchors: Found, facts: Facts) -> Truth:
    """Whether a thing stands in the relation to one of the anchors, of which some are meant only perhaps."""
    relation = operation.values[0]
    truth = any_of(related(operation, relation, thing, anchor, facts) for anchor in anchors.sure)
    if truth is not False:
        return truth
    perhaps = any(related(operation, relation, thing, anchor, facts) is not False for anchor in anchors.maybe)
    return None if perhaps or anchors.open else False
