"""The steps that find things: select, filter, relate. A step that certainly finds none voids the question,
unless whether there are any is just what the question asks."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.judge.facts import Facts, Selection, Thing
from pipeline.judge.values import Truth, Void, any_of, unless
from pipeline.programs.operations import SCENE, Operation
from pipeline.programs.saying import Program, clause, name_of, phrase

THE_SCENE = Thing("", (SCENE,), SCENE)


def select(operation: Operation, inputs: list[Selection], program: Program, facts: Facts) -> Selection:
    if operation.name == SCENE:
        return Selection((THE_SCENE,))
    return facts.named(operation.name) if operation.asserted else existing(operation, facts)


def existing(operation: Operation, facts: Facts) -> Selection:
    """The things of the operation's name, which it takes for granted."""
    if not (things := facts.named(operation.name)):
        raise Void("missing object", f"no {name_of(operation)} in the picture")
    return things


def filter_(operation: Operation, inputs: list[Selection], program: Program, facts: Facts) -> Selection:
    value, negated = operation.values[0], operation.negated
    kept = _sift(inputs[0], lambda thing: unless(negated, facts.has(thing, value, operation.type)))
    if not (kept or operation.asserted):
        which = phrase(program, operation.inputs[0])
        raise Void("wrong attribute", f"no {which} is {'not ' if negated else ''}{value}")
    return kept


def relate(operation: Operation, inputs: list[Selection], program: Program, facts: Facts) -> Selection:
    relation, anchors = operation.values[0], inputs[0]

    def related_to_any(thing: Thing) -> Truth:
        def truth_of(anchor: Thing) -> Truth:
            return related(operation, relation, thing, anchor, facts)

        truth = any_of(map(truth_of, anchors.sure))
        perhaps = anchors.open or any(truth_of(anchor) is not False for anchor in anchors.maybe)
        return None if truth is False and perhaps else truth

    kept = _sift(facts.named(operation.name), related_to_any)
    if not (kept or operation.asserted):
        existing(operation, facts)
        raise Void("wrong relation", f"no {clause(program, operation, relation)}")
    return kept


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


def _sift(things: Selection, truth_of: Callable[[Thing], Truth]) -> Selection:
    """Keep the things of which it is true, and as "maybe" those of which it may be."""
    sure: list[Thing] = []
    maybe: list[Thing] = []
    for thing in things.sure:
        truth = truth_of(thing)
        if truth is not False:
            (sure if truth else maybe).append(thing)
    maybe += [thing for thing in things.maybe if truth_of(thing) is not False]
    return Selection(tuple(sure), tuple(maybe), things.open)
