"""Decide which verdicts count: discard mislabelled gold questions, exclude unreliable annotators, and mark answers that do not count.

A gold question is discarded as mislabelled only if at least three reliable annotators contradict it. Annotators who fail other gold
questions have no say, because gold questions are there to find them.

Annotators are assessed by sensitivity (accuracy on invalid gold questions) and specificity (accuracy on valid ones) separately, over
all answers and in a moving window. The verdicts of an annotator who becomes careless after 200 tasks count for the first 200.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

# scipy.stats offers the same function, but takes half a second to import.
from scipy.special import bdtr

from annotation.study.answers_table import (
    EXCLUSION_REASONS,
    QualityCheck,
    QualityRules,
    make_categorical,
    select_gold_answers,
    to_records,
)
from annotation.study.assignment import wilson_interval
from annotation.study.response_times import ResponseTimes, describe_if_too_fast, summarize_by_annotator
from pipeline.core.errors import Problems
from pipeline.core.records import Choice, Record

RATE_BY_EXPECTED: dict[Choice, Literal["sensitivity", "specificity"]] = {
    "invalid": "sensitivity",
    "valid": "specificity",
}
# A gold question is discarded only if at least this number of reliable annotators answered it,
MIN_CONTRADICTING_ANNOTATORS = 3
# and at most this proportion of them gave the expected verdict.
MAX_EXPECTED_RATE = 0.25
# An annotator is reliable with at least this number of answers on other gold questions of each kind, and this accuracy on them.
MIN_OTHER_GOLD_ANSWERS, MIN_RELIABLE_ACCURACY = 5, 0.8
# Maximum probability that an annotator exactly at the limit is flagged for drift by chance, over all windows.
DRIFT_SIGNIFICANCE = 0.05


class AccuracyRate(Record):
    """A number of correct answers, with the rate and its 95 % Wilson interval; None if nothing was answered.

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
    """Accuracy on gold questions: sensitivity on invalid ones, specificity on valid ones."""

    sensitivity: AccuracyRate
    specificity: AccuracyRate


class QualityFlag(Record):
    """A failed quality check of an annotator.

    Attributes:
        kind: The check that failed.
        detail: The figures.
        is_significant: Whether chance is ruled out. Other flags are only reported and never exclude.
        from_task: `sequence_index` of the first affected task.
    """

    kind: QualityCheck
    detail: str
    is_significant: bool = True
    from_task: int = 0


class ExcludedAnswer(Record):
    """An answer on a candidate that does not count, with the reason and the figures."""

    verdict_id: str
    task_id: str
    candidate_id: str
    annotator: str
    reason: Literal["annotator excluded", "gold question failed", "duplicate", "self-contradiction"]
    detail: str = ""


class Exclusion(Record):
    """Why an annotator's answers do not count, from the task with `sequence_index` `excluded_since` on."""

    reasons: tuple[str, ...]
    excluded_since: int = 0


class QualityAssessment(NamedTuple):
    """The result of quality control.

    Attributes:
        answers: The answers table, with the columns is_discarded, exclusion_reason and detail filled in.
        gold_accuracy: Annotator -> accuracy on gold questions, sorted by name.
        response_times: Annotator -> times per task, sorted by name.
        flags: Annotator -> failed checks, sorted by name.
        excluded: Excluded annotator -> reasons, sorted by name.
    """

    answers: pd.DataFrame
    gold_accuracy: dict[str, GoldAccuracy]
    response_times: dict[str, ResponseTimes]
    flags: dict[str, list[QualityFlag]]
    excluded: dict[str, Exclusion]

    @property
    def excluded_answers(self) -> list[ExcludedAnswer]:
        """Answers on candidates that do not count, sorted by verdict id and position."""
        table = self.answers[(self.answers["exclusion_reason"] != "") & (self.answers["role"] != "gold")]
        rows = table.rename(columns={"exclusion_reason": "reason"}).sort_values(["verdict_id", "position"])
        return to_records(rows[list(ExcludedAnswer.__struct_fields__)], ExcludedAnswer)


def assess_quality(answers: pd.DataFrame, rules: QualityRules) -> QualityAssessment:
    """Discard mislabelled gold questions, find unreliable annotators, and mark the answers that do not count.

    Args:
        answers: The answers table.
        rules: The limits.

    Raises:
        UserError: More than `max_discarded_rate` of a source's gold questions would be discarded.
    """
    answers = answers.assign(is_discarded=find_discarded_gold(answers, rules.max_discarded_rate))
    accuracy, excluded = measure_gold_accuracy(answers), {}
    times, gold = (
        summarize_by_annotator(answers, rules),
        select_gold_answers(answers).sort_values("sequence_index"),
    )
    flags = {name: list(find_flags(gold[gold["annotator"] == name], rules)) for name in accuracy}
    for name, own in flags.items():
        if detail := describe_if_too_fast(times[name], rules):
            own.append(QualityFlag(kind="speed", detail=detail))
        if excluding := [flag for flag in own if flag.is_significant and flag.kind in rules.exclusion_checks]:
            reasons = tuple(f"{flag.kind}: {flag.detail}" for flag in excluding)
            since = min(flag.from_task for flag in excluding)
            excluded[name] = Exclusion(reasons=reasons, excluded_since=since)
    return QualityAssessment(mark_excluded_answers(answers, excluded), accuracy, times, flags, excluded)


def find_discarded_gold(answers: pd.DataFrame, max_discarded: float) -> pd.Series:
    """Find the gold questions that reliable annotators contradict. A gold question is a text at an image.

    Args:
        answers: The answers table.
        max_discarded: Maximum proportion of a source's gold questions that may be discarded; one is always allowed.

    Returns:
        [rows] of bool: whether the row is an answer on a discarded gold question.

    Raises:
        UserError: More gold questions of a source would be discarded than allowed.
    """
    question = ["image_id", "text"]
    given = answers[answers["role"] == "gold"].sort_values("sequence_index", kind="stable")
    # Of repeated answers of one annotator, the first counts.
    given = given.drop_duplicates(["annotator", *question])
    reliable = pd.Series(True, given.index)
    for kind in RATE_BY_EXPECTED:
        own = given["expected_choice"] == kind
        by_annotator = given["is_correct"].where(own).groupby(given["annotator"], observed=True)
        num_others = by_annotator.transform("count") - own
        correct_others = by_annotator.transform("sum") - (own & given["is_correct"])
        reliable &= (num_others >= MIN_OTHER_GOLD_ANSWERS) & (
            correct_others >= MIN_RELIABLE_ACCURACY * num_others
        )
    by_question = given[reliable].groupby(question, observed=True)["is_correct"].agg(["size", "mean"])
    discarded = by_question.index[
        (by_question["size"] >= MIN_CONTRADICTING_ANNOTATORS) & (by_question["mean"] <= MAX_EXPECTED_RATE)
    ]
    source_of = given.drop_duplicates(question).set_index(question)["gold_source"].astype(str)
    counts = pd.DataFrame(
        {"asked": source_of.value_counts(), "discarded": source_of[discarded].value_counts()}
    ).fillna(0)
    problems = Problems("gold questions contradicted by reliable annotators")
    for source, row in counts[
        counts["discarded"] > np.maximum(1, max_discarded * counts["asked"])
    ].iterrows():
        texts = ", ".join(
            f"{image}: {text!r}" for image, text in discarded[source_of[discarded] == source][:5]
        )
        problems.add(
            f"source `{source}`",
            f"{row['discarded']:,.0f} of {row['asked']:,.0f} would be discarded, more than collect.max_discarded_rate ({max_discarded:.0%}). "
            "Check these questions. If they are mislabelled, correct the source and run stage batch again, or raise "
            f"collect.max_discarded_rate; if not, ask other annotators. Examples: {texts}",
        )
    problems.raise_if_any()
    texts = discarded.get_level_values("text")
    known = answers.loc[(answers["role"] == "gold") & answers["text"].isin(texts), question]
    result = pd.Series(False, answers.index)
    result[known.index[pd.MultiIndex.from_frame(known).isin(discarded)]] = True
    return result


def measure_gold_accuracy(answers: pd.DataFrame) -> dict[str, GoldAccuracy]:
    """Return annotator -> accuracy on gold questions that are not discarded, sorted by name."""
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

    A rate below its limit is flagged, as significant if the upper end of its interval is below the limit too. If the rate is only
    low from some task on, drift is flagged instead.

    Args:
        answered: The annotator's answers on gold questions, in the order given.
        rules: The limits.
    """
    drifts = []
    for expected, rate in RATE_BY_EXPECTED.items():
        rows, limit = answered[answered["expected_choice"] == expected], _get_limit(expected, rules)
        if drift := find_drift(rows["is_correct"].to_numpy(), limit, rules.drift_window):
            start, num_correct = drift
            since = int(rows["sequence_index"].iloc[start])
            figures = f"{num_correct} of {rules.drift_window} consecutive {expected} gold questions correct, below {limit:.0%}"
            detail = f"{rate} from task {since + 1} on: {figures}"
            drifts.append(QualityFlag(kind="drift", detail=detail, from_task=since))
    start = (
        min((flag.from_task for flag in drifts), default=inf) if "drift" in rules.exclusion_checks else inf
    )
    before = answered[answered["sequence_index"] < start]
    low_rates = list(_find_low_rates(before, rules))
    # Without enough good answers before the drift, the annotator is assessed on all answers.
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
                f"({found.rate:.1%}, at most {found.high:.1%})"
            )
            is_significant = found.high < limit and found.num_answered >= MIN_OTHER_GOLD_ANSWERS
            yield QualityFlag(
                kind=kind, detail=f"{figures}, below {limit:.0%}", is_significant=is_significant
            )


def find_drift(is_correct: np.ndarray, limit: float, window: int) -> tuple[int, int] | None:
    """Find where an annotator's accuracy drops below a limit.

    A window is bad if an annotator with accuracy `limit` would have so few correct answers in any window with a probability below
    `DRIFT_SIGNIFICANCE` (binomial test with Bonferroni correction over windows).

    Args:
        is_correct: [answers] of bool, in the order given.
        limit: The minimum accuracy, in [0, 1].
        window: Number of answers in a window.

    Returns:
        The index of the first wrong answer in the first bad window, and the number of correct answers in the worst window; None if
        no window is bad.
    """
    if len(is_correct) < window:
        return None
    counts = np.convolve(is_correct, np.ones(window, int), "valid")
    bad = bdtr(counts, window, limit) * len(counts) < DRIFT_SIGNIFICANCE
    if not bad.any():
        return None
    first = int(bad.argmax())
    return first + int(np.argmin(is_correct[first : first + window])), int(counts.min())


def mark_excluded_answers(answers: pd.DataFrame, excluded: Mapping[str, Exclusion]) -> pd.DataFrame:
    """Return the answers table with the columns exclusion_reason and detail filled in.

    These answers do not count:

    - answers of excluded annotators,
    - answers on a candidate in a task whose gold question was failed and is not discarded,
    - if an annotator judged a candidate twice: the later answer if both agree, and both if they contradict each other.

    Args:
        answers: The answers table, with the column is_discarded filled in.
        excluded: Excluded annotator -> reasons and first affected task.
    """
    gold = select_gold_answers(answers)
    failed = gold[~gold["is_correct"]].drop_duplicates("verdict_id").set_index("verdict_id")
    since = (
        answers["annotator"]
        .map({name: float(row.excluded_since) for name, row in excluded.items()})
        .astype(float)
    )
    is_candidate, by_excluded = answers["role"] != "gold", answers["sequence_index"] >= since
    gold_failed = is_candidate & answers["verdict_id"].isin(failed.index) & ~by_excluded
    reason = np.select(
        [by_excluded, gold_failed],
        [EXCLUSION_REASONS.index("annotator excluded"), EXCLUSION_REASONS.index("gold question failed")],
        0,
    )
    annotator_details = {name: "; ".join(row.reasons) for name, row in excluded.items()}
    gold_details = (
        "answered " + failed["choice"].astype(str) + ", expected " + failed["expected_choice"].astype(str)
    )
    details = ["", *sorted({*annotator_details.values(), *gold_details})]
    code_of = {text: code for code, text in enumerate(details)}
    by_annotator = answers["annotator"].map({name: code_of[text] for name, text in annotator_details.items()})
    by_verdict = answers["verdict_id"].map(gold_details.map(code_of))
    codes = [by_annotator.astype(float), by_verdict.astype(float)]
    detail = np.select([by_excluded, gold_failed], codes, 0).astype(int)
    answers = answers.assign(
        exclusion_reason=make_categorical(reason, EXCLUSION_REASONS), detail=make_categorical(detail, details)
    )
    columns = answers[["sequence_index", "position", "annotator", "candidate_id", "choice"]]
    counting = columns[is_candidate & (reason == 0)].sort_values(
        ["sequence_index", "position"], kind="stable"
    )
    own = [counting["annotator"], counting["candidate_id"]]
    is_contradicted = (counting["choice"] == "invalid").groupby(own, observed=True).transform("nunique") > 1
    is_duplicate = counting.duplicated(["annotator", "candidate_id"])
    answers.loc[counting.index[is_duplicate], "exclusion_reason"] = "duplicate"
    answers.loc[counting.index[is_contradicted], "exclusion_reason"] = "self-contradiction"
    return answers
