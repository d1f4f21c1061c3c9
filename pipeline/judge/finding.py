"""The steps that find things: select, filter, relate. A step that certainly finds none voids the question, unless
its finding something is what the question asks."""

from __future__ import annotations

from pipeline.judge.facts import Facts, Found, Thing
from pipeline.judge.programs import SCENE, Operation
from pipeline.judge.values import Truth, Void, any_of, unless
from pipeline.judge.wording import Program, clause, name_of, phrase

_SCENE = Found((Thing("", (SCENE,), SCENE),))


def select(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    if operation.name == SCENE:
        return _SCENE
    return facts.named(operation.name) if operation.asserted else existing(operation, facts)


def existing(operation: Operation, facts: Facts) -> Found:
    """The things of the operation's name, which it takes for granted."""
    found = facts.named(operation.name)
    if not (found.sure or found.maybe or found.open):
        raise Void("missing object", f"no {name_of(operation)} in the picture")
    return found


def filter_(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    before, value, type_ = inputs[0], operation.values[0], operation.type
    sure, maybe = [], []
    for certain, things in ((True, before.sure), (False, before.maybe)):
        for thing in things:
            truth = unless(operation.negated, facts.has(thing, value, type_))
            if truth is not False:
                (sure if truth and certain else maybe).append(thing)
    if not (sure or maybe or before.open or operation.asserted):
        raise Void("wrong attribute", f"no {phrase(program, operation.inputs[0])} is {'not ' if operation.negated else ''}{value}")
    return Found(tuple(sure), tuple(maybe), before.open)


def relate(operation: Operation, inputs: list[Found], program: Program, facts: Facts) -> Found:
    anchors, candidates = inputs[0], facts.named(operation.name)
    sure, maybe = [], []
    for certain, things in ((True, candidates.sure), (False, candidates.maybe)):
        for thing in things:
            truth = related_to_any(operation, thing, anchors, facts)
            if truth is not False:
                (sure if truth and certain else maybe).append(thing)
    if not (sure or maybe or candidates.open or operation.asserted):
        existing(operation, facts)
        raise Void("wrong relation", f"no {clause(program, operation, operation.values[0])}")
    return Found(tuple(sure), tuple(maybe), candidates.open)


def related_to_any(operation: Operation, thing: Thing, anchors: Found, facts: Facts) -> Truth:
    """Whether a thing stands in the relation to one of the anchors, of which some may only perhaps be meant."""
    truth = any_of(related(operation, operation.values[0], thing, anchor, facts) for anchor in anchors.sure)
    if truth is False and (anchors.open or any(
        related(operation, operation.values[0], thing, anchor, facts) is not False for anchor in anchors.maybe
    )):
        return None
    return truth


def related(operation: Operation, relation: str, thing: Thing, anchor: Thing, facts: Facts) -> Truth:
    """Whether the named `thing` and the input's `anchor` are related, in the direction that the program says."""
    if thing is anchor:  # "the man beside the other man" with one man listed: another may be unlisted
        return False if facts.complete else None
    return facts.holds(thing, relation, anchor) if operation.subject else facts.holds(anchor, relation, thing)


def called(thing: Thing, name: str, facts: Facts) -> Truth:
    """Whether a thing goes by a name. If only its category is known, it may."""
    kinds = facts.lexicon.kinds(name)
    if kinds is None or not kinds.isdisjoint(thing.names):
        return True
    return False if facts.complete or thing.label else None
