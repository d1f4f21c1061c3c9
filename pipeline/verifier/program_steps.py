"""Execute the steps of a functional program on the evidence about an image.

The steps `select`, `filter` and `relate` select objects, and all other steps give an answer. A step that
almost certainly selects no object makes the question unanswerable, unless the question asks whether there is
such an object.

Each `execute_*` function takes the operation, the selections of its input steps, the whole program and the
evidence. The function raises `PresuppositionFailure` if the question has no answer, or more than one answer.
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
from pipeline.verifier.evidence import (
    UNKNOWN_PROBABILITY,
    Evidence,
    ObjectEvidence,
    Selection,
    TruthValue,
)
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
# The object that `select: scene` selects.
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
    """Select the objects of an operation's name. The operation presupposes that they exist."""
    selection = evidence.select_objects(operation.name)
    if not selection:
        raise PresuppositionFailure(
            "missing object", f"no {get_display_name(operation)} in the image", risk=selection.expected_others
        )
    return selection


def execute_filter(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> Selection:
    value, type_, is_negated = operation.values[0], operation.type, operation.is_negated

    def get_probability(obj: ObjectEvidence) -> float:
        probability = evidence.get_attribute_probability(obj, value, type_)
        return 1 - probability if is_negated and probability != UNKNOWN_PROBABILITY else probability

    unlisted_probability = UNKNOWN_PROBABILITY
    if evidence.completeness and not is_negated and type_ not in POSITION_TYPES:
        name = program[find_root_step(program, operation.inputs[0])].name
        unlisted_probability = evidence.completeness.estimate_attribute_probability(value, name, False)
    selection = _filter_selection(inputs[0], get_probability, unlisted_probability)
    if not (selection or operation.is_asserted):
        description = describe_objects(program, operation.inputs[0])
        raise PresuppositionFailure(
            "wrong attribute",
            f"no {description} is {'not ' if is_negated else ''}{value}",
            risk=selection.expected_others,
        )
    return selection


def execute_relate(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> Selection:
    relation, anchors = operation.values[0], inputs[0]
    names = operation.name, program[find_root_step(program, operation.inputs[0])].name
    subject_name, other_name = names if operation.is_subject else reversed(names)
    pair_probability = UNKNOWN_PROBABILITY
    if evidence.completeness and not relation.startswith("same "):
        pair_probability = evidence.completeness.estimate_relation_probability(
            subject_name, relation, other_name, False
        )

    def get_probability(obj: ObjectEvidence) -> float:
        def relate_to(anchor: ObjectEvidence) -> float:
            subject, other = (obj, anchor) if operation.is_subject else (anchor, obj)
            return evidence.get_relation_probability(subject, relation, other)

        to_certain = [relate_to(anchor) for anchor in anchors.certain]
        if 1 in to_certain:
            return 1.0
        to_possible = sum(probability * relate_to(anchor) for anchor, probability in anchors.possible)
        to_unlisted = anchors.expected_unlisted * pair_probability
        return min(sum(to_certain) + to_possible + to_unlisted, UNKNOWN_PROBABILITY)

    num_anchors = len(anchors.certain) + anchors.expected_others
    selection = _filter_selection(
        evidence.select_objects(operation.name),
        get_probability,
        min(num_anchors * pair_probability, UNKNOWN_PROBABILITY),
    )
    if not (selection or operation.is_asserted):
        _select_presupposed(operation, evidence)
        raise PresuppositionFailure(
            "wrong relation",
            f"no {describe_relation(program, operation, relation)}",
            risk=selection.expected_others,
        )
    return selection


def _filter_selection(
    selection: Selection,
    get_probability: Callable[[ObjectEvidence], float],
    unlisted_probability: float,
) -> Selection:
    """Keep the objects of a selection for which a condition holds, or may hold.

    Args:
        selection: The objects.
        get_probability: A function that returns the probability that the condition holds for an object.
        unlisted_probability: The probability that the condition holds for an object that is not listed.
    """
    probabilities = [(obj, get_probability(obj)) for obj in selection.certain]
    possible = [(obj, probability) for obj, probability in probabilities if 0 < probability < 1]
    possible += [
        (obj, selected * probability)
        for obj, selected in selection.possible
        if (probability := get_probability(obj))
    ]
    certain = tuple(obj for obj, probability in probabilities if probability == 1)
    return Selection(certain, tuple(possible), selection.expected_unlisted * unlisted_probability)


def execute_exist(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    if inputs[0].certain:
        return YES
    return YES_OR_NO if inputs[0] else NO


def execute_verify(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    value, objects = operation.values[0], inputs[0].certain
    description = describe_objects(program, operation.inputs[0])
    if operation.type == "rel":
        others = _select_presupposed(operation, evidence)
        if not others.certain:
            return _make_doubtful_answer(f"nothing is known of any {get_display_name(operation)}")
        # GQA asks "Is the man beside the boat?" with a program that asks whether the man is beside the man.
        if operation.object_ids and operation.object_ids == program[operation.inputs[0]].object_ids:
            return _make_doubtful_answer(f"the program does not say what {description} is {value}")
        # "Is the man wearing a hat?" asks about the man whether he wears any hat. "Are the trees in front of
        # the building?" asks about each tree whether it is in front of any building. So each subject of the
        # relation is checked, and one object of the other name is enough.
        subjects, related = (others, inputs[0]) if operation.is_subject else (inputs[0], others)
        truths = [
            any_true(
                (
                    *(evidence.evaluate_relation(obj, value, other) for other in related.certain),
                    _get_truth_of_others(related),
                )
            )
            for obj in subjects.certain
        ]
        description = describe_relation(program, operation, value)
    else:
        truths = [_evaluate_value(obj, value, operation.type, evidence) for obj in objects]
        may_be_indoors = objects == (SCENE_OBJECT,) and evidence.get_scene_value("location") != "outdoors"
        if may_be_indoors and truths == [None] and operation.type == "weather":
            return _make_doubtful_answer("it is not known whether the scene is outdoors")
    return step_answers.aggregate_truths(
        [negate_if(operation.is_negated, truth) for truth in truths], f"{description}, {value}"
    )


def execute_choose(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    options, objects = operation.values, inputs[0].certain
    description = describe_objects(program, operation.inputs[0])
    if operation.type == "rel":
        others = _select_presupposed(operation, evidence).certain
        if not others:
            return StepAnswer(doubt=f"nothing is known of any {get_display_name(operation)}")
        description = f"{get_display_name(operation)} and {description}"
        pairs = product(others, objects) if operation.is_subject else product(objects, others)
        cases = [
            {option: evidence.evaluate_relation(subject, option, other) for option in options}
            for subject, other in pairs
            if subject is not other
        ]
    elif operation.type == "name":
        truth_of_others = _get_truth_of_others(inputs[0])
        cases = [
            {
                name: any_true((*(evidence.evaluate_name(obj, name) for obj in objects), truth_of_others))
                for name in options
            }
        ]
    else:
        cases = [
            {option: _evaluate_value(obj, option, operation.type, evidence) for option in options}
            for obj in objects
        ]
    return step_answers.aggregate_options(cases, options, description)


def _get_truth_of_others(selection: Selection) -> TruthValue:
    """Return None if objects besides the certain ones may be selected, otherwise False."""
    return None if selection.has_possible_others else False


def execute_query(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    type_, objects = operation.type, inputs[0].certain
    description = describe_objects(program, operation.inputs[0])
    if objects == (SCENE_OBJECT,):
        known = _get_scene_value(type_, evidence)
        return step_answers.aggregate_values(
            [frozenset({known} - {""})], f"scene's {type_}", is_complete=False
        )
    # "What is on the table?" asks for one object. There may be more of them than questions mention.
    if evidence.is_partial and type_ == "name" and inputs[0].has_possible_others:
        return StepAnswer(doubt=f"there may be more than one {description}")
    known = [evidence.get_values(obj, type_) for obj in objects]
    return step_answers.aggregate_values(
        known, f"{type_} of {description}", is_complete=evidence.is_complete and type_ not in POSITION_TYPES
    )


def execute_compare(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """Doubt which of two objects is older, larger or healthier, as scene graphs do not say it."""
    return StepAnswer(doubt=f"it is not known which of the two is {operation.type}")


def execute_same_or_different(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """Compare two objects, or with a single input all objects of a kind."""
    type_, first, is_among_all = operation.type, inputs[0].certain, len(inputs) == 1
    if not is_among_all:
        pairs = [(a, b) for a, b in product(first, inputs[1].certain) if a is not b]
    elif len(first) > 1:
        pairs = [(first[0], obj) for obj in first[1:]]
    elif evidence.is_complete:
        raise PresuppositionFailure(
            "missing object", f"only one {describe_objects(program, operation.inputs[0])} to compare"
        )
    # An incomplete graph may list a whole herd as one object.
    else:
        return _make_doubtful_answer(
            f"it is not known how many are meant by {describe_objects(program, operation.inputs[0])!r}"
        )
    truths: list[TruthValue] = []
    for pair in pairs:
        first_values, second_values = (evidence.get_values(obj, type_) for obj in pair)
        if first_values and second_values:
            truths.append(first_values.isdisjoint(second_values) is (operation.verb == "different"))
        elif evidence.is_complete and type_ not in POSITION_TYPES:
            raise PresuppositionFailure("no valid answer", f"{pair[bool(first_values)].label} has no {type_}")
        else:
            return _make_doubtful_answer(f"the {type_} of both is not known")
    if is_among_all:
        return YES if (all if operation.verb == "same" else any)(truths) else NO
    return step_answers.aggregate_truths(truths, f"{operation.verb} {type_}")


def execute_common(
    operation: Operation, inputs: Sequence[Selection], program: Program, evidence: Evidence
) -> StepAnswer:
    """Return the attribute type in which two objects agree."""
    shared = [
        frozenset(a.attributes[word] for word in a.attributes.keys() & b.attributes.keys()) - {""}
        for a, b in product(inputs[0].certain, inputs[1].certain)
        if a is not b
    ]
    description = " and ".join(describe_objects(program, i) for i in operation.inputs)
    return step_answers.aggregate_values(
        shared, f"common attribute type of {description}", is_complete=evidence.is_complete
    )


def _make_doubtful_answer(doubt: str) -> StepAnswer:
    return StepAnswer(possible_answers=YES_OR_NO.possible_answers, doubt=doubt)


def _evaluate_value(obj: ObjectEvidence, value: str, type_: str, evidence: Evidence) -> TruthValue:
    """Return whether an object has an attribute, or the scene a value."""
    if obj is not SCENE_OBJECT:
        return evidence.evaluate_attribute(obj, value, type_)
    known = _get_scene_value(type_, evidence)
    return known == value if known else None


def _get_scene_value(type_: str, evidence: Evidence) -> str:
    """Return a value of the scene, or "" if it is not known. An indoor scene has no weather."""
    known = evidence.get_scene_value(type_)
    if not known and (
        evidence.is_complete or (type_ == "weather" and evidence.get_scene_value("location") == "indoors")
    ):
        raise PresuppositionFailure("no valid answer", f"the scene has no {type_}")
    return known


# The verbs that select objects, and the verbs that answer.
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
