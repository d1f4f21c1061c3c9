"""Decide from the evidence about an image whether a question has an answer.

The question's program is executed on the evidence in three-valued logic: a fact holds, does not hold or is
not known. A question is answerable if everything that it presupposes is there and exactly one answer is
correct. The first step that certainly fails makes it unanswerable and determines the category. A step that
only may fail makes the verdict "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pipeline.core.records import Answerability, Category, SceneGraph, Step, VerifierResult
from pipeline.language.functional_programs import Program, describe_objects, find_root_step, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import (
    Evidence,
    GraphCompleteness,
    ObjectEvidence,
    Selection,
    build_scene_evidence,
    join_evidence,
)
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.program_steps import ANSWER_STEPS, OBJECT_SET_STEPS
from pipeline.verifier.step_answers import PresuppositionFailure, StepAnswer, combine_answers


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of a program.

    Attributes:
        answerability: whether the question has an answer.
        category: why it has none, if it is unanswerable.
        detail: in words why it is unanswerable, or what is not known.
        answers: the answers known to be correct. An answerable question has one, or none if the answer is not
            known. An underspecified question has several.
        possible_answers: the answers that may be correct, including `answers`, or () if nothing limits them.
        found_objects: for each executed step the objects that it selects for certain, or () for a step that
            answers.
    """

    answerability: Answerability
    category: Category | None = None
    detail: str = ""
    answers: tuple[str, ...] = ()
    possible_answers: tuple[str, ...] = ()
    found_objects: tuple[tuple[ObjectEvidence, ...], ...] = ()


def verify_question(program: Sequence[Step], evidence: Evidence | None, text: str = "") -> VerifierResult:
    """Decide whether a question has an answer at an image.

    Args:
        program: the question's program. Its object ids are ignored, as the text does not show them.
        evidence: the evidence about the image (`build_evidence`), or None if there is none.
        text: the question's text, for error messages.

    Returns:
        "answerable"; "unanswerable" with the category of the first step that fails; or "unknown" if the
        question has no program or if the evidence is incomplete and does not contradict the question.

    Raises:
        UserError: the program is malformed.
    """
    if evidence is None:
        return VerifierResult(answerability="unknown", detail="there is no evidence about the image")
    if not program:
        return VerifierResult(
            answerability="unknown", evidence_source=evidence.source, detail="the question has no program"
        )
    result = execute_program(parse_program(program, text), evidence)
    return VerifierResult(
        answerability=result.answerability,
        category=result.category,
        evidence_source=evidence.source,
        detail=result.detail,
    )


def build_evidence(
    image_id: str,
    scenes: Mapping[str, SceneGraph],
    partial_graphs: Mapping[str, PartialGraph],
    lexicon: Lexicon,
    is_complete: bool = False,
    completeness: GraphCompleteness | None = None,
) -> Evidence | None:
    """Return the evidence about an image from its published scene graph and its partial graph.

    Args:
        image_id: the image.
        scenes: the published scene graphs by image id.
        partial_graphs: the partial graphs, built from answered questions, by image id.
        lexicon: the categories and attribute types of the data set.
        is_complete: whether to treat the graph as complete, as a rehearsal without annotators does.
        completeness: an estimate of what published scene graphs leave out.

    Returns:
        The evidence, or None if the image has neither graph.
    """
    question_evidence = (
        build_question_evidence(partial_graphs[image_id], lexicon, is_complete)
        if image_id in partial_graphs
        else None
    )
    if image_id not in scenes:
        return question_evidence
    scene = scenes[image_id]
    is_complete = is_complete or scene.is_complete
    graph_evidence = build_scene_evidence(
        msgspec.structs.replace(scene, is_complete=is_complete), lexicon, completeness
    )
    if is_complete or not question_evidence:
        return graph_evidence
    return join_evidence(graph_evidence, question_evidence)


def execute_program(program: Program, evidence: Evidence) -> ExecutionResult:
    """Execute a parsed program on the evidence about an image."""
    selections: list[Selection] = []
    answers: dict[int, StepAnswer] = {}
    answer, doubt = StepAnswer(), ""
    try:
        for index, operation in enumerate(program):
            inputs = [selections[i] for i in operation.inputs]
            if operation.verb in OBJECT_SET_STEPS:
                selections.append(OBJECT_SET_STEPS[operation.verb](operation, inputs, program, evidence))
                if not (selections[-1].certain or operation.is_asserted or doubt):
                    doubt = f"nothing is known of any {describe_objects(program, index)}"
                continue
            if operation.verb in ("and", "or"):
                answer = combine_answers(operation.verb, [answers[i] for i in operation.inputs])
            else:
                answer = ANSWER_STEPS[operation.verb](operation, inputs, program, evidence)
            selections.append(Selection(()))
            answers[index], doubt = answer, doubt or answer.doubt
    except PresuppositionFailure as failure:
        found = tuple(selection.certain for selection in selections)
        # A person sees in the image which of several objects is meant. GQA asks "Who is wearing a shirt?"
        # where two people wear one.
        if failure.category == "underspecified" and evidence.is_partial:
            return ExecutionResult("unknown", None, failure.detail, (), failure.answers, found)
        return ExecutionResult(
            "unanswerable", failure.category, failure.detail, failure.answers, failure.answers, found
        )
    found, asked = tuple(selection.certain for selection in selections), _get_queried_steps(program, -1)
    if not doubt and evidence.completeness and any(selections[i].has_possible_others for i in asked):
        doubt = "other objects may be meant as well"
    if doubt:
        return ExecutionResult("unknown", None, doubt, (), answer.possible_answers, found)
    roots = {find_root_step(program, i) for i in asked}
    # "The cup" is the cup that other questions ask about. "Who is wearing a hat?" may mean another person
    # than the one whose hat other questions mention, so the answer is not known.
    if evidence.is_partial and any(
        program[i].verb == "relate" and selections[i].has_possible_others for i in roots
    ):
        return ExecutionResult("answerable", found_objects=found)
    return ExecutionResult("answerable", None, "", answer.correct_answers, answer.possible_answers, found)


def _get_queried_steps(program: Program, index: int) -> list[int]:
    """Return the steps whose objects a step asks about, other than whether they exist."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return [i for j in operation.inputs for i in _get_queried_steps(program, j)]
    return [] if operation.verb == "exist" else list(operation.inputs)
