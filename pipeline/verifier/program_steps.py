"""The steps of a program on the facts of a picture: those that find things, and those that answer.

A step that certainly finds nothing voids the question, unless whether there is any is just what the question asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeVar

from pipeline.language.functional_programs import (
    POSITIONS,
    SCENE,
    Operation,
    Program,
    clause,
    name_of,
    phrase,
    root,
)
from pipeline.verifier import step_answers
from pipeline.verifier.evidence import Facts
from pipeline.verifier.known_objects import UNKNOWN, Selection, Thing, Truth
from pipeline.verifier.step_answers import NO, YES, YES_OR_NO, StepAnswer, Void, any_of, unless

T = TypeVar("T")
StepRun = Callable[[Operation, Sequence[Selection], Program, Facts], T]
THE_SCENE = Thing("", (SCENE,), SCENE)


def select(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> Selection:
    if operation.name == SCENE:
        return Selection((THE_SCENE,))
    return facts.named(operation.name) if operation.asserted else _existing(operation, facts)


def _existing(operation: Operation, facts: Facts) -> Selection:
    """The things of the operation's name, which it takes for granted."""
    if not (things := facts.named(operation.name)):
        raise Void("missing object", f"no {name_of(operation)} in the picture", risk=things.others)
    return things


def filter_(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> Selection:
    value, type_, negated = operation.values[0], operation.type, operation.negated

    def chance(thing: Thing) -> float:
        has = facts.chance_has(thing, value, type_)
        return 1 - has if negated and has != UNKNOWN else has

    name, share = program[root(program, operation.inputs[0])].name, UNKNOWN
    if facts.unlisted and not negated and type_ not in POSITIONS:
        share = facts.unlisted.look(value, name, False)
    kept = _sift(inputs[0], chance, share)
    if not (kept or operation.asserted):
        which = phrase(program, operation.inputs[0])
        raise Void("wrong attribute", f"no {which} is {'not ' if negated else ''}{value}", risk=kept.others)
    return kept


def relate(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> Selection:
    relation, anchors = operation.values[0], inputs[0]
    ends = operation.name, program[root(program, operation.inputs[0])].name
    subject_name, other_name = ends if operation.subject else reversed(ends)
    share = UNKNOWN
    if facts.unlisted and not relation.startswith("same "):
        share = facts.unlisted.relation(subject_name, relation, other_name, False)

    def chance(thing: Thing) -> float:
        def with_anchor(anchor: Thing) -> float:
            subject, other = (thing, anchor) if operation.subject else (anchor, thing)
            return facts.chance_related(subject, relation, other)

        chances = [with_anchor(anchor) for anchor in anchors.sure]
        if 1 in chances:
            return 1.0
        perhaps = sum(known * with_anchor(anchor) for anchor, known in anchors.maybe)
        return min(sum(chances) + perhaps + anchors.unlisted * share, UNKNOWN)

    things = facts.named(operation.name)
    kept = _sift(things, chance, min((len(anchors.sure) + anchors.others) * share, UNKNOWN))
    if not (kept or operation.asserted):
        _existing(operation, facts)
        raise Void("wrong relation", f"no {clause(program, operation, relation)}", risk=kept.others)
    return kept


def _sift(things: Selection, chance: Callable[[Thing], float], share: float) -> Selection:
    """Keep the things of which it is true, and as "maybe" those of which it may be; `share` is the chance of one that is
    not listed."""
    chances = [(thing, chance(thing)) for thing in things.sure]
    perhaps = [(thing, value) for thing, value in chances if 0 < value < 1]
    perhaps += [(thing, known * value) for thing, known in things.maybe if (value := chance(thing))]
    sure = tuple(thing for thing, value in chances if value == 1)
    return Selection(sure, tuple(perhaps), things.unlisted * share)


def exist(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    if inputs[0].sure:
        return YES
    return YES_OR_NO if inputs[0] else NO


def verify(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    value, things, what = operation.values[0], inputs[0].sure, phrase(program, operation.inputs[0])
    if operation.type == "rel":
        others = _existing(operation, facts)
        if not others.sure:
            return _yes_or_no_unless(f"nothing is known of any {name_of(operation)}")
        if operation.object_ids and operation.object_ids == program[operation.inputs[0]].object_ids:
            # GQA: "Is the man beside the boat?", with a program that asks if the man is beside the man.
            return _yes_or_no_unless(f"it is not told what {what} is {value}")
        # "Is the man wearing a hat?" (`o`) asks of the man whether he wears any; "Are the trees in front of the
        # building?" (`s`) asks it of the trees.
        asked, rest = (others, inputs[0]) if operation.subject else (inputs[0], others)
        truths = [
            any_of((*(facts.holds(one, value, other) for other in rest.sure), _unlisted(rest)))
            for one in asked.sure
        ]
        what = clause(program, operation, value)
    else:
        truths = [_has(thing, value, operation.type, facts) for thing in things]
        indoors_perhaps = things == (THE_SCENE,) and facts.of_scene("location") != "outdoors"
        if indoors_perhaps and truths == [None] and operation.type == "weather":
            return _yes_or_no_unless("it is not known whether this is outdoors")
    return step_answers.agreed([unless(operation.negated, truth) for truth in truths], f"{what}, {value}")


def choose(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    options, things, what = operation.values, inputs[0].sure, phrase(program, operation.inputs[0])
    if operation.type == "rel":
        others = _existing(operation, facts).sure
        if not others:
            return StepAnswer(doubt=f"nothing is known of any {name_of(operation)}")
        what = f"{name_of(operation)} and {what}"
        pairs = product(others, things) if operation.subject else product(things, others)
        cases = [
            {option: facts.holds(subject, option, other) for option in options}
            for subject, other in pairs
            if subject is not other
        ]
    elif operation.type == "name":
        rest = _unlisted(inputs[0])
        cases = [{name: any_of((*(facts.called(one, name) for one in things), rest)) for name in options}]
    else:
        cases = [
            {option: _has(thing, option, operation.type, facts) for option in options} for thing in things
        ]
    return step_answers.one_option(cases, options, what)


def _unlisted(things: Selection) -> Truth:
    """What is true of the things that may be meant besides those listed for certain: not known, if there are any."""
    return None if things.open else False


def query(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    type_, things, which = operation.type, inputs[0].sure, phrase(program, operation.inputs[0])
    if things == (THE_SCENE,):
        known = _of_scene(type_, facts)
        return step_answers.one_value([frozenset({known} - {""})], f"scene's {type_}", closed=False)
    if facts.partial and type_ == "name" and inputs[0].open:
        # "What is on the table?" asks for one thing; is it all?
        return StepAnswer(doubt=f"there may be more than one {which}")
    known = [facts.values(thing, type_) for thing in things]
    return step_answers.one_value(
        known, f"{type_} of {which}", closed=facts.complete and type_ not in POSITIONS
    )


def rank(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    """Which of two things is older, larger, healthier: graphs do not tell."""
    return StepAnswer(doubt=f"it is not known which of the two is {operation.type}")


def compare(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    """`same`, `different`: of two things, or (one input) among all of a kind."""
    type_, first, among = operation.type, inputs[0].sure, len(inputs) == 1
    if not among:
        pairs = [(a, b) for a, b in product(first, inputs[1].sure) if a is not b]
    elif len(first) > 1:
        pairs = [(first[0], thing) for thing in first[1:]]
    elif facts.complete:
        raise Void("missing object", f"only one {phrase(program, operation.inputs[0])} to compare")
    else:  # one object of an incomplete graph may be a whole herd
        return _yes_or_no_unless(
            f"it is not known how many are meant by {phrase(program, operation.inputs[0])!r}"
        )
    truths: list[Truth] = []
    for pair in pairs:
        first_values, second_values = (facts.values(thing, type_) for thing in pair)
        if first_values and second_values:
            truths.append(first_values.isdisjoint(second_values) is (operation.verb == "different"))
        elif facts.complete and type_ not in POSITIONS:
            raise Void("no valid answer", f"{pair[bool(first_values)].label} has no {type_}")
        else:
            return _yes_or_no_unless(f"the {type_} of both is not known")
    if among:
        return YES if (all if operation.verb == "same" else any)(truths) else NO
    return step_answers.agreed(truths, f"{operation.verb} {type_}")


def common(operation: Operation, inputs: Sequence[Selection], program: Program, facts: Facts) -> StepAnswer:
    """The type of attribute in which two things agree."""
    shared = [
        frozenset(a.attributes[word] for word in a.attributes.keys() & b.attributes.keys()) - {""}
        for a, b in product(inputs[0].sure, inputs[1].sure)
        if a is not b
    ]
    what = " and ".join(phrase(program, i) for i in operation.inputs)
    return step_answers.one_value(shared, f"thing in common of {what}", closed=facts.complete)


def _yes_or_no_unless(doubt: str) -> StepAnswer:
    return StepAnswer(possible=YES_OR_NO.possible, doubt=doubt)


def _has(thing: Thing, value: str, type_: str, facts: Facts) -> Truth:
    """Whether a thing, or the scene, is so."""
    if thing is not THE_SCENE:
        return facts.has(thing, value, type_)
    known = _of_scene(type_, facts)
    return known == value if known else None


def _of_scene(type_: str, facts: Facts) -> str:
    """The scene's place, weather or location, "" when not known. Indoors there is no weather to speak of."""
    known = facts.of_scene(type_)
    if not known and (facts.complete or (type_ == "weather" and facts.of_scene("location") == "indoors")):
        raise Void("no valid answer", f"the scene has no {type_}")
    return known


FINDERS: dict[str, StepRun[Selection]] = {"select": select, "filter": filter_, "relate": relate}
ANSWERERS: dict[str, StepRun[StepAnswer]] = {
    "exist": exist,
    "verify": verify,
    "choose": choose,
    "query": query,
    "compare": rank,
    "same": compare,
    "different": compare,
    "common": common,
}
