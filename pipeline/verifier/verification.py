"""Whether a question has an answer at an image, as far as the evidence tells: its program is run on the facts in three
values, holds, does not hold, not known.

A question is answerable when everything it presupposes is there and exactly one answer is right. The first
step that certainly fails makes it unanswerable, with a category; a step that only may fail leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pipeline.core.records import Answerability, Category, SceneGraph, Step, VerifierResult
from pipeline.language.functional_programs import Program, describe_objects, find_root_step, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import Evidence, build_scene_evidence, join_evidence
from pipeline.verifier.known_objects import GraphCompleteness, ObjectEvidence, Selection
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.program_steps import ANSWER_STEPS, OBJECT_SET_STEPS
from pipeline.verifier.step_answers import PresuppositionFailure, StepAnswer, combine_answers


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What a program comes to.

    Attributes:
        answers: the answers known to be right: one when answerable (none if the answer is not known), several
            when underspecified.
        possible: the answers that may be right, `answers` included; () when nothing limits them.
        found: for every step run, the things it certainly finds (() for steps that answer).
        detail: in words, why the question is unanswerable or what is not known.
    """

    answerability: Answerability
    category: Category | None = None
    detail: str = ""
    answers: tuple[str, ...] = ()
    possible_answers: tuple[str, ...] = ()
    found_objects: tuple[tuple[ObjectEvidence, ...], ...] = ()


def verify_question(program: Sequence[Step], evidence: Evidence | None, text: str = "") -> VerifierResult:
    """Judge a question by its (edited) program.

    Args:
        program: its steps; object ids in them are ignored, as a reader of the question does not see them.
        facts: the evidence about the image (`evidence_for`), None for none.
        text: names the question in errors.

    Returns:
        answerable, unanswerable with the category of the first step that fails, or unknown: the evidence is
        incomplete and nothing in it speaks against the question, or the question has no program.

    Raises:
        UserError: the program is malformed.
    """
    if evidence is None:
        return VerifierResult(answerability="unknown", detail="there is no evidence about the image")
    if not program:
        return VerifierResult(
            answerability="unknown", evidence_source=evidence.source, detail="the question has no program"
        )
    told = execute_program(parse_program(program, text), evidence)
    return VerifierResult(
        answerability=told.answerability,
        category=told.category,
        evidence_source=evidence.source,
        detail=told.detail,
    )


def build_evidence(
    image_id: str,
    scenes: Mapping[str, SceneGraph],
    partial_graphs: Mapping[str, PartialGraph],
    lexicon: Lexicon,
    is_complete: bool = False,
    completeness: GraphCompleteness | None = None,
) -> Evidence | None:
    """The evidence about an image: its published scene graph and what its answered questions told, or one of them, else
    None; both by image id.

    Args:
        complete: as if it told everything there is: only for rehearsing without people.
        unlisted: what published graphs probably leave out.
    """
    by_questions = (
        build_question_evidence(partial_graphs[image_id], lexicon, is_complete)
        if image_id in partial_graphs
        else None
    )
    if image_id not in scenes:
        return by_questions
    scene = scenes[image_id]
    is_complete = is_complete or scene.is_complete
    listed = build_scene_evidence(
        msgspec.structs.replace(scene, is_complete=is_complete), lexicon, completeness
    )
    return listed if is_complete or not by_questions else join_evidence(listed, by_questions)


def execute_program(program: Program, evidence: Evidence) -> ExecutionResult:
    """Run a parsed program step by step."""
    things: list[Selection] = []  # what each step finds
    answers: dict[int, StepAnswer] = {}
    answer, doubt = StepAnswer(), ""
    try:
        for index, operation in enumerate(program):
            inputs = [things[i] for i in operation.inputs]
            if operation.verb in OBJECT_SET_STEPS:
                things.append(OBJECT_SET_STEPS[operation.verb](operation, inputs, program, evidence))
                if not (things[-1].certain or operation.is_asserted or doubt):
                    doubt = f"nothing is known of any {describe_objects(program, index)}"
                continue
            if operation.verb in ("and", "or"):
                answer = combine_answers(operation.verb, [answers[i] for i in operation.inputs])
            else:
                answer = ANSWER_STEPS[operation.verb](operation, inputs, program, evidence)
            things.append(Selection(()))
            answers[index], doubt = answer, doubt or answer.doubt
    except PresuppositionFailure as void:
        found = tuple(selection.certain for selection in things)
        if void.category == "underspecified" and evidence.is_partial:
            # Which of them is meant is seen in the image: so GQA asks "Who is wearing a shirt?" of two.
            return ExecutionResult("unknown", None, void.detail, (), void.answers, found)
        return ExecutionResult("unanswerable", void.category, void.detail, void.answers, void.answers, found)
    found, asked = tuple(selection.certain for selection in things), _get_queried_steps(program, -1)
    if not doubt and evidence.completeness and any(things[i].has_possible_others for i in asked):
        doubt = "others may be meant, too"
    if doubt:
        return ExecutionResult("unknown", None, doubt, (), answer.possible_answers, found)
    roots = {find_root_step(program, i) for i in asked}
    if evidence.is_partial and any(
        program[i].verb == "relate" and things[i].has_possible_others for i in roots
    ):
        # Asked about the cup, it is the cup that others asked about; asked who wears a hat, it may be somebody else than
        # the one of whom that is known.
        return ExecutionResult("answerable", found_objects=found)
    return ExecutionResult("answerable", None, "", answer.correct_answers, answer.possible_answers, found)


def _get_queried_steps(program: Program, index: int) -> list[int]:
    """The steps of whose things something is asked, other than whether there are any."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return [i for j in operation.inputs for i in _get_queried_steps(program, j)]
    return [] if operation.verb == "exist" else list(operation.inputs)
