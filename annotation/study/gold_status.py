"""Find the unconfirmed gold questions that count, in the answers table.

`annotation.study.gold_agreement` has the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from annotation.study.gold_agreement import GoldStatus, count_votes, decide_gold_status, is_uniform
from pipeline.core.records import UNCONFIRMED, Choice, Record

OWN_QUESTION = "own question"
_KEY_COLUMNS = ["image_id", "text"]


class CheckedGoldQuestion(Record):
    """An unconfirmed gold question, and what annotators say about it.

    Attributes:
        image_id, text, question_id: The question. The id is None for questions made from a template.
        expected_choice: The presumed choice.
        gold_source: Where the question comes from.
        status: Whether the question counts.
        num_expected: Number of annotators who made the presumed choice.
        num_other: Number of annotators who made the other choice.
        num_underspecified: Number of annotators who gave the reason "underspecified".
        reasons: The reasons that annotators gave for "invalid", with their numbers.
        is_adjudicated: Whether an adjudicator decided.
    """

    image_id: str
    text: str
    question_id: str | None
    expected_choice: Choice
    gold_source: str
    status: GoldStatus
    num_expected: int
    num_other: int
    num_underspecified: int
    reasons: dict[str, int]
    is_adjudicated: bool


def is_unconfirmed_source(gold_source: object) -> bool:
    """Return whether gold questions of a source count only after annotators have agreed."""
    return str(gold_source).endswith(UNCONFIRMED)


def is_own_question(gold_source: object) -> bool:
    """Return whether gold questions of a source are questions of the owner of the data."""
    return str(gold_source).removesuffix(UNCONFIRMED) == OWN_QUESTION


def find_uniform_annotators(answers: pd.DataFrame) -> dict[str, str]:
    """Return the annotators who give nearly the same answer to all gold questions, each with the figures.

    Gold questions count here whether they are confirmed or not, because the decision does not depend on any
    single one. Adjudicators are left out.
    """
    gold = answers[(answers["role"] == "gold") & ~answers["is_adjudicator"]]
    by_annotator = pd.DataFrame(
        {
            "annotator": gold["annotator"],
            "total": 1,
            "invalid": (gold["expected_choice"] == "invalid").astype(int),
            "called": (gold["choice"] == "invalid").astype(int),
        }
    ).groupby("annotator", observed=True)
    found = {}
    for name, total, invalid, called in by_annotator.sum().itertuples():
        if is_uniform(total - invalid, invalid, called):
            choice, count = ("invalid", called) if 2 * called > total else ("valid", total - called)
            found[str(name)] = (
                f"{count} of {total} gold questions called {choice}, although {invalid} are probably invalid and "
                f"{total - invalid} valid"
            )
    return found


def check_unconfirmed_gold(answers: pd.DataFrame, min_agreement: int) -> list[CheckedGoldQuestion]:
    """Decide which unconfirmed gold questions count.

    The first answer of each annotator counts. Annotators whose answers are uniform have no say.

    Args:
        answers: The answers table.
        min_agreement: Number of annotators who must agree (`annotate.min_gold_agreement`).

    Returns:
        One record per answered question, sorted by image and text.
    """
    if not answers["is_pending"].any():
        return []
    asked = answers[answers["is_pending"] & ~answers["annotator"].isin([*find_uniform_annotators(answers)])]
    asked = asked.sort_values("sequence_index", kind="stable").drop_duplicates(["annotator", *_KEY_COLUMNS])
    found = []
    for (image_id, text), rows in asked.groupby(_KEY_COLUMNS, observed=True):
        first = rows.iloc[0]
        names = rows["annotator"].astype(str)
        votes = count_votes(
            dict(zip(names, rows["choice"] == "invalid", strict=True)),
            first["expected_choice"] == "invalid",
            names[rows["is_adjudicator"]],
            names[rows["invalid_reason"] == "underspecified"],
        )
        reasons = Counter(sorted(reason for reason in rows["invalid_reason"].astype(str) if reason))
        question_id = first["question_id"]
        found.append(
            CheckedGoldQuestion(
                image_id=str(image_id),
                text=str(text),
                question_id=question_id if isinstance(question_id, str) else None,
                expected_choice=first["expected_choice"],
                gold_source=str(first["gold_source"]),
                status=decide_gold_status(votes, min_agreement),
                num_expected=votes.num_expected,
                num_other=votes.num_other,
                num_underspecified=votes.num_underspecified,
                reasons=dict(reasons),
                is_adjudicated=votes.adjudicated is not None,
            )
        )
    return found


def resolve_unconfirmed_gold(answers: pd.DataFrame, checked: Iterable[CheckedGoldQuestion]) -> pd.DataFrame:
    """Return the answers table with confirmed gold questions no longer pending, and refuted ones discarded.

    Args:
        answers: The answers table.
        checked: The result of `check_unconfirmed_gold`.
    """
    status = {(row.image_id, row.text): row.status for row in checked}
    if not status:
        return answers
    keys = zip(answers["image_id"], answers["text"], answers["is_pending"], strict=True)
    own = [status.get((image_id, text), "open") if is_pending else "" for image_id, text, is_pending in keys]
    statuses = pd.Series(own, answers.index)
    return answers.assign(
        is_pending=statuses.isin(["open", "contested"]),
        is_discarded=answers["is_discarded"] | (statuses == "refuted"),
    )


def list_questions_to_check(checked: Iterable[CheckedGoldQuestion]) -> list[CheckedGoldQuestion]:
    """Return the owner's questions that annotators found underspecified or unanswerable."""
    return [
        row for row in checked if is_own_question(row.gold_source) and row.status in ("refuted", "contested")
    ]


def count_by_status(checked: Iterable[CheckedGoldQuestion]) -> dict[str, dict[GoldStatus, int]]:
    """Return source and presumed choice -> status -> number of unconfirmed gold questions."""
    counts = dict[str, dict[GoldStatus, int]]()
    for row in checked:
        own = counts.setdefault(f"{row.gold_source.removesuffix(UNCONFIRMED)}, {row.expected_choice}", {})
        own[row.status] = own.get(row.status, 0) + 1
    return counts
