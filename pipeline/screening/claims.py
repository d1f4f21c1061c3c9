"""Reasons to hold that a candidate has an answer: what was edited, what is asked, what was asked before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.records import Candidate, Question, Step
from pipeline.programs.operations import SCENE, Operation, parse
from pipeline.words.frames import DEFINITE
from pipeline.words.lexicon import same_answer

WITHOUT_EFFECT = "edited without effect"
ASSERTED = "edits only what is asserted"
ALWAYS_ANSWERABLE = "always answerable"
ALREADY_ASKED = "already asked of this picture"
TWIN = "same text as another candidate of this picture"
BY_EVIDENCE = "answerable by evidence"
# Reasons that claim something of the picture, so that the truth can tell whether they were right.
HELD_ANSWERABLE = frozenset((WITHOUT_EFFECT, ASSERTED, ALWAYS_ANSWERABLE, ALREADY_ASKED, BY_EVIDENCE))

_SPACES = re.compile(r"\s+")


def plain(text: str) -> str:
    """A text without capitals, doubled blanks and the mark at its end: equal for texts that ask the same
    way."""
    return _SPACES.sub(" ", text.rstrip("?. ")).strip().lower()


def without_effect(candidate: Candidate, question: Question) -> bool:
    """Whether an edited question still asks the same: the same text, or the options of a choice in another
    order."""
    if plain(candidate.text) == plain(question.text):
        return True
    if candidate.program and question.program:
        return list(map(_asks, candidate.program)) == list(map(_asks, question.program))
    same_words = sorted(plain(candidate.text).split()) == sorted(plain(question.text).split())
    return same_words and " or " in candidate.text


def _asks(step: Step) -> tuple[str, object]:
    """A step without object ids, and the options of a choice without their order."""
    argument = (
        step.argument.partition("(")[0].strip()
        if step.operation.split()[0] in ("select", "relate", "verify", "choose")
        and not step.argument.startswith("not(")
        else step.argument.strip()
    )
    return step.operation, frozenset(re.split(r"[|,]", argument)) if "|" in argument else argument


def edits_asserted_only(candidate: Candidate, question: Question) -> bool:
    """Whether every edit is of something that the question asks or states, none of something it takes for
    granted."""
    if not candidate.edits or not question.program or any(edit.step < 0 for edit in candidate.edits):
        return False
    program = parse(question.program, question.question_id)
    return all(_asserted(program[edit.step], edit.old, edit.start, question) for edit in candidate.edits)


def _asserted(operation: Operation, old: str, start: int, question: Question) -> bool:
    if operation.asserted:
        return True
    if operation.verb == "choose" and operation.type == "rel":
        return any(old.lower() in option for option in operation.values)
    if (
        operation.verb == "choose"
    ):  # without the right option no option holds; the wrong one may well be another
        return not same_answer(old.lower(), question.answer)
    if operation.verb == "verify" and operation.type == "rel":
        before = question.text[:start].lower().split()[-3:]
        return operation.name not in old.lower() or DEFINITE.isdisjoint(before)
    return operation.verb not in ("select", "filter", "relate")


def always_answerable(program: Sequence[Operation]) -> bool:
    """Whether a question has an answer at every picture: what place it shows, whether there is something."""
    last = program[-1]
    if last.verb in ("query", "verify") or (last.verb == "choose" and last.type == "location"):
        return program[last.inputs[0]].name == SCENE and last.type in ("place", "room", "location")
    if last.verb in ("exist", "and", "or"):
        return all(operation.asserted or operation.verb in ("exist", "and", "or") for operation in program)
    return False
