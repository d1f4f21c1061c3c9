"""Decide which questions that a model drafted can be AQs, and count what annotators say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from pipeline.benchmark.balancing.pairing import AQ_NOT_CONFIRMED, AQ_REFUTED
from pipeline.core.records import GoldQuestionCheck, Question

# confirmed, rejected: annotators found the question answerable, or unanswerable. undecided: they disagree, or too few of them
# judged it. unasked: no vote counts.
AqStatus = Literal["confirmed", "rejected", "undecided", "unasked"]
AQ_STATUSES: tuple[AqStatus, ...] = ("confirmed", "rejected", "undecided", "unasked")
_STATUS_BY_CHECK: dict[str, AqStatus] = {"verified": "confirmed", "refuted": "rejected", "open": "undecided"}


def get_aq_status(check: GoldQuestionCheck | None) -> AqStatus:
    """Return what annotators say of a question; "unasked" if nobody judged it (None)."""
    if check is None or (check.status == "open" and not check.votes_valid + check.votes_invalid):
        return "unasked"
    return _STATUS_BY_CHECK[check.status]


def find_unusable_questions(
    questions: Iterable[Question], checks: Mapping[str, GoldQuestionCheck], require_confirmation: bool
) -> dict[str, str]:
    """Return question id -> why the question cannot be an AQ.

    Args:
        questions: All questions.
        checks: Question id -> votes of annotators on it.
        require_confirmation: Whether drafted questions must be confirmed (`BalanceParams`).
    """
    unusable = {key: AQ_REFUTED for key, check in checks.items() if check.status == "refuted"}
    if require_confirmation:
        for question in questions:
            if question.drafted_by and get_aq_status(checks.get(question.question_id)) != "confirmed":
                unusable.setdefault(question.question_id, AQ_NOT_CONFIRMED)
    return unusable


def describe_unjudged(question: Question, check: GoldQuestionCheck | None) -> str:
    """Return what an item says of an AQ that no annotator confirmed; "" if an annotator confirmed it, or if it needs no confirmation.

    >>> question = Question(question_id="1", image_id="a", split="testdev", text="What?", answer="x", drafted_by="net")
    >>> describe_unjudged(question, None)
    'answerable according to net, judged by nobody'
    """
    status = get_aq_status(check)
    if not question.drafted_by or status == "confirmed":
        return ""
    who = "judged by nobody" if status == "unasked" else "annotators did not decide"
    return f"answerable according to {question.drafted_by}, {who}"


def count_drafted_questions(
    questions: Iterable[Question], checks: Mapping[str, GoldQuestionCheck]
) -> dict[AqStatus, int]:
    """Count drafted questions by what annotators say of them.

    Args:
        questions: Questions. Those that no model drafted are not counted.
        checks: Question id -> votes of annotators on it.
    """
    counts = Counter(get_aq_status(checks.get(row.question_id)) for row in questions if row.drafted_by)
    return {name: counts[name] for name in AQ_STATUSES}
