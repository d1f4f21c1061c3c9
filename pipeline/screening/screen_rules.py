"""All rules by which candidates are dropped, in the order in which they are tried: the first one broken is the reason.

A new rule is a function of a case, in a module of this room, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pipeline.screening import badly_said, contradicts_itself, gives_answer_away, has_an_answer, same_choice
from pipeline.screening.screen_case import Fault, ScreenCase

WITHOUT_EFFECT = "edited without effect"
SAME_CHOICE = "offers the same choice twice"
CONTRADICTS = "contradicts itself"
GIVES_AWAY = "gives its answer away"
BADLY_SAID = "badly said, as its source is"
ALREADY_ASKED = "already asked of this picture"
ASSERTED = "edits only what is asserted"
ALWAYS_ANSWERABLE = "always answerable"
BY_EVIDENCE = "answerable by evidence"
TWIN = "same text as another candidate of this picture"


class ScreenRule(NamedTuple):
    """A reason to drop a candidate.

    Attributes:
        fault: tells what is wrong with a case, if anything.
        of_picture: it claims that the picture has an answer, so the truth can tell whether it is right.
        paper: it is part of RGQA's conflict filter (section 3.1).
    """

    reason: str
    fault: Callable[[ScreenCase], Fault]
    of_picture: bool = False
    paper: bool = False


RULES = (
    ScreenRule(WITHOUT_EFFECT, has_an_answer.edited_without_effect, of_picture=True),
    ScreenRule(SAME_CHOICE, same_choice.in_program, paper=True),
    ScreenRule(CONTRADICTS, contradicts_itself.looks_that_exclude_each_other, paper=True),
    ScreenRule(GIVES_AWAY, gives_answer_away.asked_look_is_named, paper=True),
    ScreenRule(GIVES_AWAY, gives_answer_away.asked_name_is_put_in),
    ScreenRule(GIVES_AWAY, gives_answer_away.there_and_back, paper=True),
    ScreenRule(GIVES_AWAY, gives_answer_away.asked_look_is_said, paper=True),
    ScreenRule(SAME_CHOICE, same_choice.in_words),
    ScreenRule(BADLY_SAID, badly_said.slip_of_grammar),
    ScreenRule(ALREADY_ASKED, has_an_answer.asked_already, of_picture=True),
    ScreenRule(ASSERTED, has_an_answer.edits_only_what_is_asserted, of_picture=True),
    ScreenRule(ALWAYS_ANSWERABLE, has_an_answer.answerable_anywhere, of_picture=True),
    ScreenRule(BY_EVIDENCE, has_an_answer.answerable_by_evidence, of_picture=True),
    ScreenRule(TWIN, has_an_answer.proposed_before),
)
HELD_ANSWERABLE = frozenset(rule.reason for rule in RULES if rule.of_picture)


def reason_to_drop(case: ScreenCase, rules: Iterable[ScreenRule] = RULES) -> tuple[str, str] | None:
    """The reason of the first rule that a case breaks, with what is wrong ("" where that says no more); None to
    keep it."""
    for rule in rules:
        if fault := rule.fault(case):
            return rule.reason, fault if isinstance(fault, str) else ""
    return None
