"""Run a functional program on the facts of a picture, in three values: holds, does not hold, not known.

A question is answerable when everything it presupposes is there and exactly one answer is right. The first
step that certainly fails makes it unanswerable, with a category; a step that only may fail leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipeline.core.records import Answerability, Category
from pipeline.judge import asking, finding
from pipeline.judge.facts import Facts, Selection, Thing
from pipeline.judge.values import StepAnswer, Void, connect
from pipeline.programs.operations import Operation, root
from pipeline.programs.saying import Program, phrase

T = TypeVar("T")


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


_Step = Callable[[Operation, list[Selection], Program, Facts], T]
_FIND: dict[str, _Step[Selection]] = {
    "select": finding.select,
    "filter": finding.filter_,
    "relate": finding.relate,
}
_ASK: dict[str, _Step[StepAnswer]] = {
    "exist": asking.exist,
    "verify": asking.verify,
    "choose": asking.choose,
    "query": asking.query,
    "compare": asking.rank,
    "same": asking.compare,
    "different": asking.compare,
    "common": asking.common,
}


_NOTHING = Selection(())  # what a step finds that answers


def execute(program: Program, facts: Facts) -> Outcome:
    """Run a parsed program step by step."""
    things: list[Selection] = []  # what each step finds
    answers: dict[int, StepAnswer] = {}
    answer, doubt = StepAnswer(), ""
    for index, operation in enumerate(program):
        inputs, selection = [things[i] for i in operation.inputs], _NOTHING
        try:
            if operation.verb in _FIND:
                selection = _FIND[operation.verb](operation, inputs, program, facts)
                if not (selection.sure or operation.asserted or doubt):
                    doubt = f"whether there is {phrase(program, index)} is not known"
            else:
                if operation.verb in ("and", "or"):
                    answer = connect(operation.verb, [answers[i] for i in operation.inputs])
                else:
                    answer = _ASK[operation.verb](operation, inputs, program, facts)
                answers[index], doubt = answer, doubt or answer.doubt
        except Void as void:
            return _void(void, facts, _found(things))
        things.append(selection)
    if doubt:
        return Outcome("unknown", None, doubt, (), answer.possible, _found(things))
    if facts.partial and not _settled(program, -1, things):
        return Outcome("answerable", found=_found(things))
    return Outcome("answerable", None, "", answer.right, answer.possible, _found(things))


def _void(void: Void, facts: Facts, found: tuple[tuple[Thing, ...], ...]) -> Outcome:
    if void.category == "underspecified" and facts.partial:
        # Which of them is meant is seen in the picture: so GQA asks "Who is wearing a shirt?" of two.
        return Outcome("unknown", None, void.detail, (), void.answers, found)
    return Outcome("unanswerable", void.category, void.detail, void.answers, void.answers, found)


def _found(things: Sequence[Selection]) -> tuple[tuple[Thing, ...], ...]:
    return tuple(selection.sure for selection in things)


def _settled(program: Program, index: int, things: Sequence[Selection]) -> bool:
    """Whether a step asks of the thing that is known. Asked about the cup, it is the cup that others asked about; asked
    who wears a hat, it may be somebody else than the one of whom that is known."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return all(_settled(program, i, things) for i in operation.inputs)
    sources = [root(program, i) for i in operation.inputs] if operation.verb != "exist" else []
    return not any(program[i].verb == "relate" and (things[i].open or things[i].maybe) for i in sources)
