"""Run a functional program on the facts of a picture, in three values: holds, does not hold, not known.

A question is answerable when everything it presupposes is there and exactly one answer is right. The first
step that certainly fails makes it unanswerable, with a category; a step that only may fail leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Answerability, Category
from pipeline.judge import asking, finding
from pipeline.judge.facts import Facts, Found, Thing
from pipeline.judge.values import Answer, Void
from pipeline.programs.operations import Operation
from pipeline.programs.saying import phrase


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
    category: Category | None
    detail: str
    answers: tuple[str, ...]
    possible: tuple[str, ...]
    found: tuple[tuple[Thing, ...], ...]


STEPS: dict[str, Callable[..., Found | Answer]] = {
    "select": finding.select,
    "filter": finding.filter_,
    "relate": finding.relate,
    "exist": asking.exist,
    "and": asking.connect,
    "or": asking.connect,
    "verify": asking.verify,
    "choose": asking.choose,
    "query": asking.query,
    "compare": asking.rank,
    "same": asking.compare,
    "different": asking.compare,
    "common": asking.common,
}


def execute(program: Sequence[Operation], facts: Facts) -> Outcome:
    """Run a parsed program step by step."""
    values: list[Found | Answer] = []
    found: list[tuple[Thing, ...]] = []
    doubt = ""
    for index, operation in enumerate(program):
        try:
            value = STEPS[operation.verb](operation, [values[i] for i in operation.inputs], program, facts)
        except Void as void:
            answers = void.answers
            if void.category == "underspecified" and facts.partial:
                # Which of them is meant is seen in the picture: so GQA asks "Who is wearing a shirt?" of two.
                return Outcome("unknown", None, void.detail, (), answers, tuple(found))
            return Outcome("unanswerable", void.category, void.detail, answers, answers, tuple(found))
        values.append(value)
        if isinstance(value, Found):
            found.append(value.sure)
            if not value.sure and not operation.asserted:
                doubt = doubt or f"whether there is {phrase(program, index)} is not known"
        else:
            found.append(())
            doubt = doubt or value.doubt
    last = values[-1]
    if doubt:
        return Outcome("unknown", None, doubt, (), last.possible, tuple(found))
    if facts.partial and not _settled(program, -1, values, facts):
        return Outcome("answerable", None, "", (), (), tuple(found))
    return Outcome("answerable", None, "", last.right, last.possible, tuple(found))


def _settled(
    program: Sequence[Operation], index: int, values: Sequence[Found | Answer], facts: Facts
) -> bool:
    """Whether a step asks of the thing that is known. Asked about the cup, it is the cup that others asked about; asked
    who wears a hat, it may be somebody else than the one of whom that is known."""
    operation = program[index]
    if operation.verb in ("and", "or"):
        return all(_settled(program, i, values, facts) for i in operation.inputs)
    if operation.verb == "exist":
        return True
    for i in operation.inputs:
        while program[i].verb == "filter":
            i = program[i].inputs[0]
        if program[i].verb == "relate" and (values[i].open or values[i].maybe):
            return False
    return True
