"""Decide which verdicts count: discard mislabelled gold questions, exclude unreliable annotators, and mark
answers that do not count.

An unconfirmed gold question counts only after annotators have agreed on it (`annotation.study.gold_status`).
Any other gold question is discarded as mislabelled only if at least three reliable annotators answered it, and most
of them contradict it. Annotators who fail other gold questions have no influence on this, because gold
questions are there to find such annotators.

Annotators are assessed by sensitivity (accuracy on invalid gold questions) and specificity (accuracy on valid
ones) separately, over all answers and in a moving window. If an annotator becomes careless after 200 tasks,
only the verdicts on the first 200 tasks count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from annotation.study.answers_table import (
    EXCLUSION_REASONS,
    QualityCheck,
    QualityRules,
    make_categorical,
    select_gold_answers,
    to_records,
)
from annotation.study.assignment import DEFAULT_RULES, wilson_interval
from annotation.study.gold_status import (
    CheckedGoldQuestion,
    check_unconfirmed_gold,
    find_uniform_annotators,
    is_unconfirmed_source,
    resolve_unconfirmed_gold,
)
from annotation.study.response_times import ResponseTimes, describe_if_too_fast, summarize_by_annotator
from annotation.study.sequential_test import find_change, is_below_limit
from pipeline.core.records import Choice, Record

RATE_BY_EXPECTED: dict[Choice, Literal["sensitivity", "specificity"]] = {
    "invalid": "sensitivity",
    "valid": "specificity",
}
# A gold question is discarded only if at least this number of reliable annotators answered it.
MIN_RELIABLE_ANSWERS = 3
# A gold question is discarded only if at most this proportion of the reliable annotators gave the expected
# choice.
MAX_EXPECTED_RATE = 0.25
# Minimum number of an annotator's answers to other gold questions of each kind (valid and invalid), and
# minimum accuracy of these answers, for the annotator to be reliable.
MIN_OTHER_GOLD_ANSWERS, MIN_RELIABLE_ACCURACY = 5, 0.8


class AccuracyRate(Record):
    """Number of correct answers, with their rate and its 95 % Wilson interval.

    `rate`, `low` and `high` are None if nothing was answered.

    >>> print(make_rate(8, 10))
    8 of 10, 80% (49% to 94%)
    """

    num_correct: int
    num_answered: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.rate is None:
            return "–"
        return f"{self.num_correct:,} of {self.num_answered:,}, {self.rate:.0%} ({self.low:.0%} to {self.high:.0%})"


class GoldAccuracy(Record):
    """Accuracy on gold questions: sensitivity (on invalid gold questions) and specificity (on valid gold
    questions).
    """

    sensitivity: AccuracyRate
    specificity: AccuracyRate


class QualityFlag(Record):
    """A failed quality check of an annotator.

    Attributes:
        kind: The check that failed.
        detail: The numbers behind the flag.
        is_significant: Whether the check failed significantly. Flags that are not significant are only
            reported.
        from_task: `sequence_index` (from 0) of the first affected task.
    """

    kind: QualityCheck
    detail: str
    is_significant: bool = True
    from_task: int = 0


class ExcludedAnswer(Record):
    """An answer about a candidate that does not count, with the reason and the numbers behind it."""

    verdict_id: str
    task_id: str
    candidate_id: str
    annotator: str
    reason: Literal[
        "annotator excluded", "gold question failed", "duplicate", "self-contradiction", "not trusted", "copy"
    ]
    detail: str = ""


class Exclusion(Record):
    """Why the answers of an annotator do not count.

    `excluded_since` is the `sequence_index` of the first task whose answers do not count.
    """

    reasons: tuple[str, ...]
    excluded_since: int = 0


class QualityAssessment(NamedTuple):
    """The result of quality control.

    Attributes:
        answers: The answers table, with the columns is_discarded, exclusion_reason and detail filled in.
        gold_accuracy: Annotator -> accuracy on gold questions, sorted by name.
        response_times: Annotator -> times per task, sorted by name.
        flags: Annotator -> failed checks, sorted by name.
        excluded: Excluded annotator -> why, and from which task on, sorted by name.
        gold_checks: The unconfirmed gold questions that were answered, sorted by image and text.
    """

    answers: pd.DataFrame
    gold_accuracy: dict[str, GoldAccuracy]
    response_times: dict[str, ResponseTimes]
    flags: dict[str, list[QualityFlag]]
    excluded: dict[str, Exclusion]
    gold_checks: list[CheckedGoldQuestion]


def list_excluded_answers(answers: pd.DataFrame) -> list[ExcludedAnswer]:
    """Return the answers about candidates that do not count, sorted by verdict id and position."""
    table = answers[(answers["exclusion_reason"] != "") & (answers["role"] != "gold")]
    rows = table.rename(columns={"exclusion_reason": "reason"}).sort_values(["verdict_id", "position"])
    return to_records(rows[list(ExcludedAnswer.__struct_fields__)], ExcludedAnswer)


def assess_quality(
    answers: pd.DataFrame, rules: QualityRules, min_gold_agreement: int = DEFAULT_RULES.min_gold_agreement
) -> QualityAssessment:
    """Discard mislabelled gold questions, find unreliable annotators, and mark the answers that do not count.

    Args:
        answers: The answers table.
        rules: The limits.
        min_gold_agreement: Number of annotators who must agree on an unconfirmed gold question.
    """
    checks = check_unconfirmed_gold(answers, min_gold_agreement)
    answers = resolve_unconfirmed_gold(answers, checks)
    discarded = find_discarded_gold(answers)
    answers = answers.assign(is_discarded=answers["is_discarded"] | discarded)
    accuracy, excluded = measure_gold_accuracy(answers), {}
    times, gold = (
        summarize_by_annotator(answers, rules),
        select_gold_answers(answers).sort_values("sequence_index"),
    )
    flags = {name: list(find_flags(gold[gold["annotator"] == name], rules)) for name in accuracy}
    uniform = find_uniform_annotators(answers)
    for name, own in flags.items():
        if name in uniform:
            own.insert(0, QualityFlag(kind="uniform", detail=uniform[name]))
        if detail := describe_if_too_fast(times[name], rules):
            own.append(QualityFlag(kind="speed", detail=detail))
        if excluding := [flag for flag in own if flag.is_significant and flag.kind in rules.exclusion_checks]:
            reasons = tuple(f"{flag.kind}: {flag.detail}" for flag in excluding)
            since = min(flag.from_task for flag in excluding)
            excluded[name] = Exclusion(reasons=reasons, excluded_since=since)
    return QualityAssessment(
        mark_excluded_answers(answers, excluded), accuracy, times, flags, excluded, checks
    )


def find_discarded_gold(answers: pd.DataFrame) -> pd.Series:
    """Find the gold questions that reliable annotators contradict.

    A gold question is identified by its image and text.

    Args:
        answers: The answers table.

    Returns:
        [rows] of bool: whether the row is an answer to a discarded gold question.
    """
    key_columns = ["image_id", "text"]
    # Unconfirmed gold questions have a rule of their own.
    is_unconfirmed = answers["gold_source"].map(is_unconfirmed_source).astype(bool)
    gold_answers = answers[(answers["role"] == "gold") & ~is_unconfirmed]
    gold_answers = gold_answers.sort_values("sequence_index", kind="stable")
    # If an annotator answered a question twice, the first answer counts.
    gold_answers = gold_answers.drop_duplicates(["annotator", *key_columns])
    reliable = pd.Series(True, gold_answers.index)
    for kind in RATE_BY_EXPECTED:
        is_kind = gold_answers["expected_choice"] == kind
        by_annotator = (
            gold_answers["is_correct"].where(is_kind).groupby(gold_answers["annotator"], observed=True)
        )
        # The question itself is not counted.
        num_others = by_annotator.transform("count") - is_kind
        correct_others = by_annotator.transform("sum") - (is_kind & gold_answers["is_correct"])
        reliable &= (num_others >= MIN_OTHER_GOLD_ANSWERS) & (
            correct_others >= MIN_RELIABLE_ACCURACY * num_others
        )
    by_question = (
        gold_answers[reliable].groupby(key_columns, observed=True)["is_correct"].agg(["size", "mean"])
    )
    discarded = by_question.index[
        (by_question["size"] >= MIN_RELIABLE_ANSWERS) & (by_question["mean"] <= MAX_EXPECTED_RATE)
    ]
    texts = discarded.get_level_values("text")
    keys = answers.loc[
        (answers["role"] == "gold") & ~is_unconfirmed & answers["text"].isin(texts), key_columns
    ]
    result = pd.Series(False, answers.index)
    result[keys.index[pd.MultiIndex.from_frame(keys).isin(discarded)]] = True
    return result


def measure_gold_accuracy(answers: pd.DataFrame) -> dict[str, GoldAccuracy]:
    """Return annotator -> accuracy on gold questions that are neither discarded nor pending, sorted by name."""
    gold = select_gold_answers(answers)
    table = gold.groupby(["annotator", "expected_choice"], observed=True)["is_correct"].agg(["sum", "size"])
    counts = {key: (int(correct), int(total)) for key, correct, total in table.itertuples()}
    return {
        name: GoldAccuracy(
            **{
                rate: make_rate(*counts.get((name, expected), (0, 0)))
                for expected, rate in RATE_BY_EXPECTED.items()
            }
        )
        for name in sorted(answers["annotator"].unique())
    }


def make_rate(num_correct: int, num_answered: int) -> AccuracyRate:
    """Return the rate of correct answers with its 95 % Wilson interval, rounded to 4 decimals."""
    if not num_answered:
        return AccuracyRate(num_correct=0, num_answered=0)
    values = num_correct / num_answered, *wilson_interval(num_correct, num_answered)
    rate, low, high = (round(value, 4) for value in values)
    return AccuracyRate(num_correct=num_correct, num_answered=num_answered, rate=rate, low=low, high=high)


def find_flags(answered: pd.DataFrame, rules: QualityRules) -> Iterator[QualityFlag]:
    """Yield the failed accuracy checks of one annotator.

    A rate below its limit is flagged. The flag is significant if the answers show that the accuracy is below the
    limit (`sequential_test.is_below_limit`). If the accuracy drops from some task on (`sequential_test.find_change`),
    drift is flagged. If drift is one of `exclusion_checks`, the rates are then measured on the answers
    before the drift, unless these are too few or their rates are low, too; in that case all answers are used.

    Args:
        answered: Answers of the annotator to gold questions, in the order in which the annotator gave them.
        rules: The limits.
    """
    drifts = []
    for expected, rate in RATE_BY_EXPECTED.items():
        rows, limit = answered[answered["expected_choice"] == expected], _get_limit(expected, rules)
        if change := find_change(rows["is_correct"].to_numpy(), limit, rules.drift_window):
            since = int(rows["sequence_index"].iloc[change.start])
            figures = f"{change.num_correct} of {change.num_answered} consecutive {expected} gold questions correct, below {limit:.0%}"
            detail = f"{rate} from task {since + 1} on: {figures}"
            drifts.append(QualityFlag(kind="drift", detail=detail, from_task=since))
    start = (
        min((flag.from_task for flag in drifts), default=inf) if "drift" in rules.exclusion_checks else inf
    )
    before = answered[answered["sequence_index"] < start]
    low_rates = list(_find_low_rates(before, rules))
    # If there are too few answers before the drift, or if their rates are low, the annotator is assessed on
    # all answers.
    if len(before) < rules.drift_window or low_rates:
        low_rates = list(_find_low_rates(answered, rules))
        drifts = [] if start < inf and any(flag.is_significant for flag in low_rates) else drifts
    yield from (*drifts, *low_rates)


def _get_limit(expected: Choice, rules: QualityRules) -> float:
    return rules.min_sensitivity if expected == "invalid" else rules.min_specificity


def _find_low_rates(answered: pd.DataFrame, rules: QualityRules) -> Iterator[QualityFlag]:
    for expected, kind in RATE_BY_EXPECTED.items():
        correct = answered.loc[answered["expected_choice"] == expected, "is_correct"]
        limit, found = _get_limit(expected, rules), make_rate(int(correct.sum()), len(correct))
        if found.rate is not None and found.high is not None and found.rate < limit:
            figures = (
                f"{found.num_correct} of {found.num_answered} {expected} gold questions correct "
                f"({found.rate:.1%}, 95 % interval up to {found.high:.1%})"
            )
            is_significant = is_below_limit(found.num_correct, found.num_answered, limit)
            yield QualityFlag(
                kind=kind, detail=f"{figures}, below {limit:.0%}", is_significant=is_significant
            )


def mark_excluded_answers(answers: pd.DataFrame, excluded: Mapping[str, Exclusion]) -> pd.DataFrame:
    """Return the answers table with the columns exclusion_reason and detail filled in.

    These answers do not count:

    - answers of excluded annotators,
    - answers about a candidate in a task whose gold question was failed and is not discarded,
    - if an annotator judged a candidate twice: the later answer if both agree, and both if they contradict each other.

    Args:
        answers: The answers table, with the column is_discarded filled in.
        excluded: Excluded annotator -> why, and from which task on.
    """
    # Step 1: find the answers of excluded annotators, and the answers in tasks whose gold question was
    # failed.
    gold = select_gold_answers(answers)
    failed = gold[~gold["is_correct"]].drop_duplicates("verdict_id").set_index("verdict_id")
    since = (
        answers["annotator"]
        .map({name: float(row.excluded_since) for name, row in excluded.items()})
        .astype(float)
    )
    is_candidate, by_excluded = answers["role"] != "gold", answers["sequence_index"] >= since
    gold_failed = is_candidate & answers["verdict_id"].isin(failed.index) & ~by_excluded
    reason_codes = np.select(
        [by_excluded, gold_failed],
        [EXCLUSION_REASONS.index("annotator excluded"), EXCLUSION_REASONS.index("gold question failed")],
        0,
    )
    # Step 2: describe both in the column `detail`. Each distinct text is a category, and `code_of` maps it to
    # its code.
    annotator_details = {name: "; ".join(row.reasons) for name, row in excluded.items()}
    gold_details = (
        "answered " + failed["choice"].astype(str) + ", expected " + failed["expected_choice"].astype(str)
    )
    details = ["", *sorted({*annotator_details.values(), *gold_details})]
    code_of = {text: code for code, text in enumerate(details)}
    by_annotator = answers["annotator"].map({name: code_of[text] for name, text in annotator_details.items()})
    by_verdict = answers["verdict_id"].map(gold_details.map(code_of))
    codes = [by_annotator.astype(float), by_verdict.astype(float)]
    detail_codes = np.select([by_excluded, gold_failed], codes, 0).astype(int)
    answers = answers.assign(
        exclusion_reason=make_categorical(reason_codes, EXCLUSION_REASONS),
        detail=make_categorical(detail_codes, details),
    )
    # Step 3: among the remaining answers, find candidates that an annotator judged twice.
    columns = answers[["sequence_index", "position", "annotator", "candidate_id", "choice"]]
    counting = columns[is_candidate & (reason_codes == 0)].sort_values(
        ["sequence_index", "position"], kind="stable"
    )
    pair_keys = [counting["annotator"], counting["candidate_id"]]
    is_contradicted = (counting["choice"] == "invalid").groupby(pair_keys, observed=True).transform(
        "nunique"
    ) > 1
    is_duplicate = counting.duplicated(["annotator", "candidate_id"])
    answers.loc[counting.index[is_duplicate], "exclusion_reason"] = "duplicate"
    answers.loc[counting.index[is_contradicted], "exclusion_reason"] = "self-contradiction"
    return answers
