"""Decide from the evidence about an image whether a question has an answer.

The question's program is executed on the evidence in three-valued logic: a fact holds, does not hold or is
not known. A question is answerable if everything that it presupposes holds and exactly one answer is
correct. The first program step that certainly fails makes the question unanswerable and determines the
category. If a step may fail but does not certainly fail, the result is "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    identify_objects,
    join_evidence,
)
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.program_steps import ANSWER_STEPS, OBJECT_SET_STEPS
from pipeline.verifier.step_answers import PresuppositionFailure, StepAnswer, combine_answers


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of executing a program.

    Attributes:
        answerability: Whether the question has an answer.
        category: The reason why the question is unanswerable, or None if it is not unanswerable.
        detail: A description of why the question is unanswerable, or of what is not known.
        answers: The answers known to be correct. An answerable question has one such answer, or none if the
            answer is not known. An underspecified question has several.
        possible_answers: The answers that may be correct, including `answers`, or () if any answer may be
            correct.
        found_objects: For each executed step the objects that the step certainly selects, or () for a step
            that gives an answer.
    """

    answerability: Answerability
    category: Category | None = None
    detail: str = ""
    answers: tuple[str, ...] = ()
    possible_answers: tuple[str, ...] = ()
    found_objects: tuple[tuple[ObjectEvidence, ...], ...] = ()


def verify_question(program: Sequence[Step], evidence: Evidence | None, text: str = "") -> VerifierResult:
    """Decide whether a question about an image has an answer.

    Args:
        program: The question's program. Its object ids are ignored, because the question's text does not show
            them.
        evidence: The evidence about the image (`build_evidence`), or None if there is none.
        text: The question's text, for error messages.

    Returns:
        "unanswerable" with the category of the first step that fails, "answerable", or "unknown". The result
        is "unknown" if there is no evidence, if the question has no program, or if the evidence is incomplete
        and neither confirms nor contradicts what the question presupposes. It is also "unknown" if only facts
        that a model drafted contradict it, because a model may be wrong.

    Raises:
        UserError: The program is malformed.
    """
    if evidence is None:
        return VerifierResult(answerability="unknown", detail="there is no evidence about the image")
    if not program:
        return VerifierResult(
            answerability="unknown", evidence_source=evidence.source, detail="the question has no program"
        )
    result = execute_program(parse_program(program, text), evidence)
    if evidence.is_drafted and not evidence.is_complete and result.answerability == "unanswerable":
        detail = f"a model, which may be wrong, says: {result.detail}"
        return VerifierResult(answerability="unknown", evidence_source=evidence.source, detail=detail)
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
        image_id: The id of the image.
        scenes: The published scene graphs by image id.
        partial_graphs: The partial graphs, built from answered questions, by image id.
        lexicon: The categories and attribute types of the data set.
        is_complete: Whether to treat the graph as complete, as a rehearsal without annotators does.
        completeness: An estimate of what published scene graphs leave out, or None if there is no estimate.

    Returns:
        The evidence, or None if the image has neither a published nor a partial graph.
    """
    partial_graph = partial_graphs.get(image_id)
    question_evidence = partial_graph and build_question_evidence(partial_graph, lexicon, is_complete)
    if image_id not in scenes:
        return question_evidence
    scene = scenes[image_id]
    is_complete = is_complete or scene.is_complete
    graph_evidence = build_scene_evidence(
        msgspec.structs.replace(scene, is_complete=is_complete), lexicon, completeness
    )
    if is_complete or not partial_graph or not question_evidence:
        return graph_evidence
    # A model that drafted both wrote its questions about the objects of its graph. As the ids differ, each object would be there twice.
    if graph_evidence.is_drafted and question_evidence.is_drafted:
        return replace(graph_evidence, absent_names=question_evidence.absent_names)
    if partial_graph.is_from_text is True:
        question_evidence = identify_objects(graph_evidence, question_evidence)
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
        # In the image, a person can see which of several objects is meant. GQA, for example, asks "Who is
        # wearing a shirt?" although two people wear a shirt.
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
    # "The cup" means the cup that other questions ask about, so its facts give the answer. But "Who is
    # wearing a hat?" may mean a person whom no other question mentions, so the answer is not known.
    if evidence.is_partial and any(
        program[i].verb == "relate" and selections[i].has_possible_others for i in roots
    ):
        return ExecutionResult("answerable", found_objects=found)
    return ExecutionResult("answerable", None, "", answer.correct_answers, answer.possible_answers, found)


def _get_queried_steps(program: Program, index: int) -> list[int]:
    """Return the steps that select the objects about which a step asks more than whether they exist."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return [i for j in operation.inputs for i in _get_queried_steps(program, j)]
    return [] if operation.verb == "exist" else list(operation.inputs)
