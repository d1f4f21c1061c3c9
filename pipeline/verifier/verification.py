"""Whether a question has an answer at a picture, as far as the evidence tells: its program is run on the facts in three
values, holds, does not hold, not known.

A question is answerable when everything it presupposes is there and exactly one answer is right. The first
step that certainly fails makes it unanswerable, with a category; a step that only may fail leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pipeline.core.records import Answerability, Category, Judgement, Scene, Step
from pipeline.language.functional_programs import Program, parse, phrase, root
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import Facts, facts_of, joined
from pipeline.verifier.known_objects import Selection, Thing, Unlisted
from pipeline.verifier.partial_graphs import Reconstructed, facts_known
from pipeline.verifier.program_steps import ANSWERERS, FINDERS
from pipeline.verifier.step_answers import StepAnswer, Void, connect


@dataclass(frozen=True, slots=True)
class Outcome:
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
    possible: tuple[str, ...] = ()
    found: tuple[tuple[Thing, ...], ...] = ()


def judge(program: Sequence[Step], facts: Facts | None, text: str = "") -> Judgement:
    """Judge a question by its (edited) program.

    Args:
        program: its steps; object ids in them are ignored, as a reader of the question does not see them.
        facts: the evidence about the picture (`evidence_for`), None for none.
        text: names the question in errors.

    Returns:
        answerable, unanswerable with the category of the first step that fails, or unknown: the evidence is
        incomplete and nothing in it speaks against the question, or the question has no program.

    Raises:
        UserError: the program is malformed.
    """
    if facts is None:
        return Judgement(answerability="unknown", detail="there is no evidence about the picture")
    if not program:
        return Judgement(answerability="unknown", evidence=facts.source, detail="the question has no program")
    told = execute(parse(program, text), facts)
    return Judgement(
        answerability=told.answerability, category=told.category, evidence=facts.source, detail=told.detail
    )


def evidence_for(
    picture_id: str,
    scenes: Mapping[str, Scene],
    told: Mapping[str, Reconstructed],
    lexicon: Lexicon,
    complete: bool = False,
    unlisted: Unlisted | None = None,
) -> Facts | None:
    """The evidence about a picture: its published scene graph and what its answered questions told, or one of them, else
    None; both by picture id.

    Args:
        complete: as if it told everything there is: only for rehearsing without people.
        unlisted: what published graphs probably leave out.
    """
    by_questions = facts_known(told[picture_id], lexicon, complete) if picture_id in told else None
    if picture_id not in scenes:
        return by_questions
    scene = scenes[picture_id]
    complete = complete or scene.complete
    listed = facts_of(msgspec.structs.replace(scene, complete=complete), lexicon, unlisted)
    return listed if complete or not by_questions else joined(listed, by_questions)


def execute(program: Program, facts: Facts) -> Outcome:
    """Run a parsed program step by step."""
    things: list[Selection] = []  # what each step finds
    answers: dict[int, StepAnswer] = {}
    answer, doubt = StepAnswer(), ""
    try:
        for index, operation in enumerate(program):
            inputs = [things[i] for i in operation.inputs]
            if operation.verb in FINDERS:
                things.append(FINDERS[operation.verb](operation, inputs, program, facts))
                if not (things[-1].sure or operation.asserted or doubt):
                    doubt = f"nothing is known of any {phrase(program, index)}"
                continue
            if operation.verb in ("and", "or"):
                answer = connect(operation.verb, [answers[i] for i in operation.inputs])
            else:
                answer = ANSWERERS[operation.verb](operation, inputs, program, facts)
            things.append(Selection(()))
            answers[index], doubt = answer, doubt or answer.doubt
    except Void as void:
        found = tuple(selection.sure for selection in things)
        if void.category == "underspecified" and facts.partial:
            # Which of them is meant is seen in the picture: so GQA asks "Who is wearing a shirt?" of two.
            return Outcome("unknown", None, void.detail, (), void.answers, found)
        return Outcome("unanswerable", void.category, void.detail, void.answers, void.answers, found)
    found, asked = tuple(selection.sure for selection in things), _asked_of(program, -1)
    if not doubt and facts.unlisted and any(things[i].open for i in asked):
        doubt = "others may be meant, too"
    if doubt:
        return Outcome("unknown", None, doubt, (), answer.possible, found)
    roots = {root(program, i) for i in asked}
    if facts.partial and any(program[i].verb == "relate" and things[i].open for i in roots):
        # Asked about the cup, it is the cup that others asked about; asked who wears a hat, it may be somebody else than
        # the one of whom that is known.
        return Outcome("answerable", found=found)
    return Outcome("answerable", None, "", answer.right, answer.possible, found)


def _asked_of(program: Program, index: int) -> list[int]:
    """The steps of whose things something is asked, other than whether there are any."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return [i for j in operation.inputs for i in _asked_of(program, j)]
    return [] if operation.verb == "exist" else list(operation.inputs)
