"""The steps of a program on the facts of an image: those that find things, and those that answer.

A step that certainly finds nothing voids the question, unless whether there is any is just what the question asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeVar

from pipeline.language.functional_programs import (
    POSITION_TYPES,
    SCENE,
    Operation,
    Program,
    describe_objects,
    describe_relation,
    find_root_step,
    get_display_name,
)
from pipeline.verifier import step_answers
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.known_objects import UNKNOWN_PROBABILITY, ObjectEvidence, Selection, TruthValue
from pipeline.verifier.step_answers import (
    NO,
    YES,
    YES_OR_NO,
    PresuppositionFailure,
    StepAnswer,
    any_true,
    negate_if,
)

T = TypeVar("T")
StepFunction = Callable[[Operation, Sequence[Selection], Program, Evidence], T]
SCENE_OBJECT = ObjectEvidence("", (SCENE,), SCENE)


def execute_select(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> Selection:
    if operation.name == SCENE:
        return Selection((SCENE_OBJECT,))
    return (
        evidence.select_objects(operation.name)
        if operation.is_asserted
        else _select_presupposed(operation, evidence)
    )


def _select_presupposed(operation: Operation, evidence: Evidence) -> Selection:
    """The things of the operation's name, which it takes for granted."""
    if not (things := evidence.select_objects(operation.name)):
        raise PresuppositionFailure(
            "missing object", f"no {get_display_name(operation)} in the image", risk=things.expected_others
        )
    return things


def execute_filter(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> Selection:
    value, type_, negated = operation.values[0], operation.type, operation.is_negated

    def chance(thing: ObjectEvidence) -> float:
        has = evidence.get_attribute_probability(thing, value, type_)
        return 1 - has if negated and has != UNKNOWN_PROBABILITY else has

    name, share = program[find_root_step(program, operation.inputs[0])].name, UNKNOWN_PROBABILITY
    if evidence.completeness and not negated and type_ not in POSITION_TYPES:
        share = evidence.completeness.estimate_attribute_probability(value, name, False)
    kept = _filter_selection(inputs[0], chance, share)
    if not (kept or operation.is_asserted):
        which = describe_objects(program, operation.inputs[0])
        raise PresuppositionFailure(
            "wrong attribute", f"no {which} is {'not ' if negated else ''}{value}", risk=kept.expected_others
        )
    return kept


def execute_relate(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> Selection:
    relation, anchors = operation.values[0], inputs[0]
    ends = operation.name, program[find_root_step(program, operation.inputs[0])].name
    subject_name, other_name = ends if operation.is_subject else reversed(ends)
    share = UNKNOWN_PROBABILITY
    if evidence.completeness and not relation.startswith("same "):
        share = evidence.completeness.estimate_relation_probability(subject_name, relation, other_name, False)

    def chance(thing: ObjectEvidence) -> float:
        def with_anchor(anchor: ObjectEvidence) -> float:
            subject, other = (thing, anchor) if operation.is_subject else (anchor, thing)
            return evidence.get_relation_probability(subject, relation, other)

        chances = [with_anchor(anchor) for anchor in anchors.certain]
        if 1 in chances:
            return 1.0
        perhaps = sum(known * with_anchor(anchor) for anchor, known in anchors.possible)
        return min(sum(chances) + perhaps + anchors.expected_unlisted * share, UNKNOWN_PROBABILITY)

    things = evidence.select_objects(operation.name)
    kept = _filter_selection(
        things, chance, min((len(anchors.certain) + anchors.expected_others) * share, UNKNOWN_PROBABILITY)
    )
    if not (kept or operation.is_asserted):
        _select_presupposed(operation, evidence)
        raise PresuppositionFailure(
            "wrong relation",
            f"no {describe_relation(program, operation, relation)}",
            risk=kept.expected_others,
        )
    return kept


def _filter_selection(
    things: Selection, get_probability: Callable[[ObjectEvidence], float], unlisted_probability: float
) -> Selection:
    """Keep the things of which it is true, and as "maybe" those of which it may be; `share` is the chance of one that is
    not listed."""
    chances = [(thing, get_probability(thing)) for thing in things.certain]
    perhaps = [(thing, value) for thing, value in chances if 0 < value < 1]
    perhaps += [
        (thing, known * value) for thing, known in things.possible if (value := get_probability(thing))
    ]
    sure = tuple(thing for thing, value in chances if value == 1)
    return Selection(sure, tuple(perhaps), things.expected_unlisted * unlisted_probability)


def execute_exist(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    if inputs[0].certain:
        return YES
    return YES_OR_NO if inputs[0] else NO


def execute_verify(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    value, things, what = (
        operation.values[0],
        inputs[0].certain,
        describe_objects(program, operation.inputs[0]),
    )
    if operation.type == "rel":
        others = _select_presupposed(operation, evidence)
        if not others.certain:
            return _make_doubtful_answer(f"nothing is known of any {get_display_name(operation)}")
        if operation.object_ids and operation.object_ids == program[operation.inputs[0]].object_ids:
            # GQA: "Is the man beside the boat?", with a program that asks if the man is beside the man.
            return _make_doubtful_answer(f"it is not told what {what} is {value}")
        # "Is the man wearing a hat?" (`o`) asks of the man whether he wears any; "Are the trees in front of the
        # building?" (`s`) asks it of the trees.
        asked, rest = (others, inputs[0]) if operation.is_subject else (inputs[0], others)
        truths = [
            any_true(
                (
                    *(evidence.evaluate_relation(one, value, other) for other in rest.certain),
                    _get_truth_of_others(rest),
                )
            )
            for one in asked.certain
        ]
        what = describe_relation(program, operation, value)
    else:
        truths = [_evaluate_value(thing, value, operation.type, evidence) for thing in things]
        indoors_perhaps = things == (SCENE_OBJECT,) and evidence.get_scene_value("location") != "outdoors"
        if indoors_perhaps and truths == [None] and operation.type == "weather":
            return _make_doubtful_answer("it is not known whether this is outdoors")
    return step_answers.aggregate_truths(
        [negate_if(operation.is_negated, truth) for truth in truths], f"{what}, {value}"
    )


def execute_choose(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    options, things, what = (
        operation.values,
        inputs[0].certain,
        describe_objects(program, operation.inputs[0]),
    )
    if operation.type == "rel":
        others = _select_presupposed(operation, evidence).certain
        if not others:
            return StepAnswer(doubt=f"nothing is known of any {get_display_name(operation)}")
        what = f"{get_display_name(operation)} and {what}"
        pairs = product(others, things) if operation.is_subject else product(things, others)
        cases = [
            {option: evidence.evaluate_relation(subject, option, other) for option in options}
            for subject, other in pairs
            if subject is not other
        ]
    elif operation.type == "name":
        rest = _get_truth_of_others(inputs[0])
        cases = [
            {
                name: any_true((*(evidence.evaluate_name(one, name) for one in things), rest))
                for name in options
            }
        ]
    else:
        cases = [
            {option: _evaluate_value(thing, option, operation.type, evidence) for option in options}
            for thing in things
        ]
    return step_answers.aggregate_options(cases, options, what)


def _get_truth_of_others(things: Selection) -> TruthValue:
    """What is true of the things that may be meant besides those listed for certain: not known, if there are any."""
    return None if things.has_possible_others else False


def execute_query(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    type_, things, which = operation.type, inputs[0].certain, describe_objects(program, operation.inputs[0])
    if things == (SCENE_OBJECT,):
        known = _get_scene_value(type_, evidence)
        return step_answers.aggregate_values(
            [frozenset({known} - {""})], f"scene's {type_}", is_complete=False
        )
    if evidence.is_partial and type_ == "name" and inputs[0].has_possible_others:
        # "What is on the table?" asks for one thing; is it all?
        return StepAnswer(doubt=f"there may be more than one {which}")
    known = [evidence.get_values(thing, type_) for thing in things]
    return step_answers.aggregate_values(
        known, f"{type_} of {which}", is_complete=evidence.is_complete and type_ not in POSITION_TYPES
    )


def execute_compare(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """Which of two things is older, larger, healthier: graphs do not tell."""
    return StepAnswer(doubt=f"it is not known which of the two is {operation.type}")


def execute_same_or_different(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """`same`, `different`: of two things, or (one input) among all of a kind."""
    type_, first, among = operation.type, inputs[0].certain, len(inputs) == 1
    if not among:
        pairs = [(a, b) for a, b in product(first, inputs[1].certain) if a is not b]
    elif len(first) > 1:
        pairs = [(first[0], thing) for thing in first[1:]]
    elif evidence.is_complete:
        raise PresuppositionFailure(
            "missing object", f"only one {describe_objects(program, operation.inputs[0])} to compare"
        )
    else:  # one object of an incomplete graph may be a whole herd
        return _make_doubtful_answer(
            f"it is not known how many are meant by {describe_objects(program, operation.inputs[0])!r}"
        )
    truths: list[TruthValue] = []
    for pair in pairs:
        first_values, second_values = (evidence.get_values(thing, type_) for thing in pair)
        if first_values and second_values:
            truths.append(first_values.isdisjoint(second_values) is (operation.verb == "different"))
        elif evidence.is_complete and type_ not in POSITION_TYPES:
            raise PresuppositionFailure("no valid answer", f"{pair[bool(first_values)].label} has no {type_}")
        else:
            return _make_doubtful_answer(f"the {type_} of both is not known")
    if among:
        return YES if (all if operation.verb == "same" else any)(truths) else NO
    return step_answers.aggregate_truths(truths, f"{operation.verb} {type_}")


def execute_common(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """The type of attribute in which two things agree."""
    shared = [
        frozenset(a.attributes[word] for word in a.attributes.keys() & b.attributes.keys()) - {""}
        for a, b in product(inputs[0].certain, inputs[1].certain)
        if a is not b
    ]
    what = " and ".join(describe_objects(program, i) for i in operation.inputs)
    return step_answers.aggregate_values(
        shared, f"thing in common of {what}", is_complete=evidence.is_complete
    )


def _make_doubtful_answer(doubt: str) -> StepAnswer:
    return StepAnswer(possible_answers=YES_OR_NO.possible_answers, doubt=doubt)


def _evaluate_value(thing: ObjectEvidence, value: str, type_: str, evidence: Evidence) -> TruthValue:
    """Whether a thing, or the scene, is so."""
    if thing is not SCENE_OBJECT:
        return evidence.evaluate_attribute(thing, value, type_)
    known = _get_scene_value(type_, evidence)
    return known == value if known else None


def _get_scene_value(type_: str, evidence: Evidence) -> str:
    """The scene's place, weather or location, "" when not known. Indoors there is no weather to speak of."""
    known = evidence.get_scene_value(type_)
    if not known and (
        evidence.is_complete or (type_ == "weather" and evidence.get_scene_value("location") == "indoors")
    ):
        raise PresuppositionFailure("no valid answer", f"the scene has no {type_}")
    return known


OBJECT_SET_STEPS: dict[str, StepFunction[Selection]] = {
    "select": execute_select,
    "filter": execute_filter,
    "relate": execute_relate,
}
ANSWER_STEPS: dict[str, StepFunction[StepAnswer]] = {
    "exist": execute_exist,
    "verify": execute_verify,
    "choose": execute_choose,
    "query": execute_query,
    "compare": execute_compare,
    "same": execute_same_or_different,
    "different": execute_same_or_different,
    "common": execute_common,
}
