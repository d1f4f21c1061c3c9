"""The question has an answer, so it is no candidate: by what was edited, by what it asks, by what was asked before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.records import Edit, Question, Step
from pipeline.programs.operations import SCENE, Operation, parse
from pipeline.screening.screen_case import Fault, ScreenCase
from pipeline.words.frames import DEFINITE
from pipeline.words.spoken_answers import same_answer

_SPACES = re.compile(r"\s+")
_NAMED = frozenset(("select", "relate", "verify", "choose"))  # verbs whose argument may end in object ids


def plain(text: str) -> str:
    """A text without capitals, doubled blanks and the mark at its end: equal for texts that ask the same way."""
    return _SPACES.sub(" ", text.rstrip("?. ")).strip().lower()


def edited_without_effect(case: ScreenCase) -> Fault:
    """It still asks what its source asks: the same text, or the options of a choice in another order."""
    candidate, question = case.candidate, case.question
    if question is None:
        return None
    text, source = plain(candidate.text), plain(question.text)
    if text == source:
        return True
    if candidate.program and question.program:
        return [_meaning(step) for step in candidate.program] == [_meaning(step) for step in question.program]
    return " or " in candidate.text and sorted(text.split()) == sorted(source.split())


def asked_already(case: ScreenCase) -> Fault:
    """The picture's own questions have it."""
    return plain(case.candidate.text) in case.asked


def proposed_before(case: ScreenCase) -> Fault:
    """Another candidate of the picture and subset, which stays, has the same text."""
    return plain(case.candidate.text) in case.kept


def edits_only_what_is_asserted(case: ScreenCase) -> Fault:
    """Every edit is of something that the question asks or states, none of something it takes for granted."""
    edits, question = case.candidate.edits, case.question
    if not edits or question is None or not question.program or any(edit.step < 0 for edit in edits):
        return None
    program = parse(question.program, question.question_id)
    return all(_asserted(program[edit.step], edit, question) for edit in edits)


def answerable_anywhere(case: ScreenCase) -> Fault:
    """It has an answer at every picture."""
    return bool(case.program) and always_answerable(case.program)


def answerable_by_evidence(case: ScreenCase) -> Fault:
    """The judge knows the answer."""
    return case.judgement.answerability == "answerable" and case.judgement.evidence


def always_answerable(program: Sequence[Operation]) -> bool:
    """Whether a question has an answer at every picture: what place it shows, whether there is something."""
    last = program[-1]
    if last.verb in ("query", "verify") or (last.verb == "choose" and last.type == "location"):
        return program[last.inputs[0]].name == SCENE and last.type in ("place", "room", "location")
    truths = ("exist", "and", "or")
    return last.verb in truths and all(step.asserted or step.verb in truths for step in program)


def _meaning(step: Step) -> tuple[str, object]:
    """A step without object ids, and the options of a choice without their order."""
    argument = step.argument.strip()
    if step.operation.split()[0] in _NAMED and not argument.startswith("not("):
        argument = argument.partition("(")[0].strip()
    return step.operation, frozenset(re.split(r"[|,]", argument)) if "|" in argument else argument


def _asserted(operation: Operation, edit: Edit, question: Question) -> bool:
    """Whether what an edit took out is asked or stated by its operation."""
    old = edit.old.lower()
    if operation.asserted:
        return True
    if operation.verb == "choose" and operation.type == "rel":
        return any(old in option for option in operation.values)
    if operation.verb == "choose":  # without the right option none holds; the wrong one may well be another
        return not same_answer(old, question.answer)
    if operation.verb == "verify" and operation.type == "rel":
        before = question.text[: edit.start].lower().split()[-3:]
        return operation.name not in old or DEFINITE.isdisjoint(before)
    return operation.verb not in ("select", "filter", "relate")
