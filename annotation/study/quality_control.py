"""Which verdicts count: filter questions and annotators are weighed, and what cannot be relied on is set aside, with the reason.

A filter question falls, as its source erred, only by at least three people who answer the other filters well, never by
those whom it is there to find. An annotator is judged by sensitivity (of known invalid) and specificity (of known valid)
apart, over all and in a moving window: who grows careless after 200 tasks keeps the 200.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr  # scipy.stats has it, too, but takes half a second to load

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
MIN_CONTRADICTING_ANNOTATORS = (
    3  # fewer than these, each a good judge of the other filters, cannot make one fall,
)
MAX_EXPECTED_RATE = 0.25  # nor can they while more than this share of them gave the expected verdict.
# Good: of at least so many others of each kind this share was answered as expected.
MIN_OTHER_GOLD_ANSWERS, MIN_RELIABLE_ACCURACY = 5, 0.8
DRIFT_SIGNIFICANCE = (
    0.05  # how probable it is at most that somebody at the limit seems to drift, as with a 95 % interval
)


class AccuracyRate(Record):
    """How many were answered right of those asked, their share and its 95 % Wilson interval; None if none was asked.

    >>> print(rate(8, 10))
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
    """Of filters known to be invalid, those called invalid; of those known to be valid, those not called invalid."""

    sensitivity: AccuracyRate
    specificity: AccuracyRate


class QualityFlag(Record):
    """What is suspect about an annotator, and the figures that say so.

    Attributes:
        sure: whether it is beyond chance; what is not is told and never excludes.
        since: `order` of the task from which on it holds.
    """

    kind: QualityCheck
    detail: str
    is_significant: bool = True
    from_task: int = 0


class ExcludedAnswer(Record):
    """An answer on a candidate that does not count, and why; `detail` has the figures."""

    verdict_id: str
    task_id: str
    candidate_id: str
    annotator: str
    reason: Literal["annotator excluded", "filter failed", "judged before", "contradicts themselves"]
    detail: str = ""


class Exclusion(Record):
    """Why somebody's answers do not count, and from which task (their `order`) on."""

    reasons: tuple[str, ...]
    excluded_since: int = 0


class QualityAssessment(NamedTuple):
    """All answers, as a table that tells which of them count, and what was found of those who gave them.

    Attributes:
        skills, paces, flags: by annotator, sorted. excluded: who is, sorted by name.
    """

    answers: pd.DataFrame
    gold_accuracy: dict[str, GoldAccuracy]
    response_times: dict[str, ResponseTimes]
    flags: dict[str, list[QualityFlag]]
    excluded: dict[str, Exclusion]

    @property
    def excluded_answers(self) -> list[ExcludedAnswer]:
        """The answers on candidates that do not count."""
        table = self.answers[(self.answers["aside"] != "") & (self.answers["role"] != "filter")]
        rows = table.rename(columns={"aside": "reason"}).sort_values(["verdict_id", "place"])
        return to_records(rows[list(ExcludedAnswer.__struct_fields__)], ExcludedAnswer)


def assess_quality(answers: pd.DataFrame, rules: QualityRules) -> QualityAssessment:
    """Weigh filters and annotators, and set aside what does not count.

    Raises:
        UserError: more filters of a source are contradicted than may be wrong.
    """
    answers = answers.assign(fallen=find_discarded_gold(answers, rules.max_discarded_rate))
    found, excluded = measure_gold_accuracy(answers), {}
    fast, known = summarize_by_annotator(answers, rules), select_gold_answers(answers).sort_values("order")
    flags = {name: list(find_flags(known[known["annotator"] == name], rules)) for name in found}
    for name, given in flags.items():
        if detail := describe_if_too_fast(fast[name], rules):
            given.append(QualityFlag(kind="speed", detail=detail))
        if out := [flag for flag in given if flag.is_significant and flag.kind in rules.exclusion_checks]:
            reasons = tuple(f"{flag.kind}: {flag.detail}" for flag in out)
            excluded[name] = Exclusion(reasons=reasons, excluded_since=min(flag.from_task for flag in out))
    return QualityAssessment(mark_excluded_answers(answers, excluded), found, fast, flags, excluded)


def find_discarded_gold(answers: pd.DataFrame, max_discarded: float) -> pd.Series:
    """For each row whether it is on a filter question, a text at an image, that good judges contradict.

    Raises:
        UserError: more than the share `most` of a source (and more than one) would fall.
    """
    question = ["image_id", "text"]
    given = answers[answers["role"] == "filter"].sort_values("order", kind="stable")
    given = given.drop_duplicates(["annotator", *question])  # of two answers the first
    good = pd.Series(True, given.index)
    for kind in RATE_BY_EXPECTED:
        own = given["expected"] == kind
        of = given["right"].where(own).groupby(given["annotator"], observed=True)
        others = of.transform("count") - own
        good &= (others >= MIN_OTHER_GOLD_ANSWERS) & (
            of.transform("sum") - (own & given["right"]) >= MIN_RELIABLE_ACCURACY * others
        )
    by_question = given[good].groupby(question, observed=True)["right"].agg(["size", "mean"])
    fell = by_question.index[
        (by_question["size"] >= MIN_CONTRADICTING_ANNOTATORS) & (by_question["mean"] <= MAX_EXPECTED_RATE)
    ]
    asked = given.drop_duplicates(question).set_index(question)["source"].astype(str)
    counts = pd.DataFrame({"asked": asked.value_counts(), "fell": asked[fell].value_counts()}).fillna(0)
    problems = Problems("filter questions contradicted by people who answer the others well")
    for source, row in counts[counts["fell"] > np.maximum(1, max_discarded * counts["asked"])].iterrows():
        texts = ", ".join(f"{image}: {text!r}" for image, text in fell[asked[fell] == source][:10])
        problems.add(
            f"source `{source}`",
            f"{row['fell']:,.0f} of {row['asked']:,.0f}, and {max_discarded:.0%} is the most that may be wrong: either the source "
            f"is wrong (look at them, mend it, and batch anew, or raise collect.max_fallen) or the crowd is (ask other people): {texts}",
        )
    problems.raise_if_any()
    texts = fell.get_level_values("text")
    known = answers.loc[(answers["role"] == "filter") & answers["text"].isin(texts), question]
    result = pd.Series(False, answers.index)
    result[known.index[pd.MultiIndex.from_frame(known).isin(fell)]] = True
    return result


def measure_gold_accuracy(answers: pd.DataFrame) -> dict[str, GoldAccuracy]:
    """Annotator -> skill on the filter questions that have not fallen, sorted by name."""
    sound = select_gold_answers(answers)
    table = sound.groupby(["annotator", "expected"], observed=True)["right"].agg(["sum", "size"])
    counts = {key: (int(right), int(asked)) for key, right, asked in table.itertuples()}
    return {
        name: GoldAccuracy(
            **{
                fault: make_rate(*counts.get((name, kind), (0, 0)))
                for kind, fault in RATE_BY_EXPECTED.items()
            }
        )
        for name in sorted(answers["annotator"].unique())
    }


def make_rate(right: int, asked: int) -> AccuracyRate:
    """A Rate of these counts, rounded to 4 places."""
    if not asked:
        return AccuracyRate(num_correct=0, num_answered=0)
    share, low, high = (round(value, 4) for value in (right / asked, *wilson_interval(right, asked)))
    return AccuracyRate(num_correct=right, num_answered=asked, rate=share, low=low, high=high)


def find_flags(answered: pd.DataFrame, rules: QualityRules) -> Iterator[QualityFlag]:
    """What is wrong with somebody's answers to filters: what is below a limit (sure where its interval's upper end is); or, if
    that holds from some task on alone, drift.

    Args:
        answered: their answers, in the order given.
    """
    drifts = []
    for kind, fault in RATE_BY_EXPECTED.items():
        rows, limit = answered[answered["expected"] == kind], _get_limit(kind, rules)
        if bad := find_drift(rows["right"].to_numpy(), limit, rules.drift_window):
            start, right = bad
            since = int(rows["order"].iloc[start])
            figures = (
                f"{right} of {rules.drift_window} known {kind} on end answered as known, below {limit:.0%}"
            )
            detail = f"{fault} from task {since + 1} on: {figures}"
            drifts.append(QualityFlag(kind="drift", detail=detail, from_task=since))
    begun = min((flag.since for flag in drifts), default=inf) if "drift" in rules.exclusion_checks else inf
    before = answered[answered["order"] < begun]
    told = list(_find_low_rates(before, rules))
    if len(before) < rules.drift_window or told:  # it cannot be said that they ever were good enough
        told = list(_find_low_rates(answered, rules))
        drifts = [] if begun < inf and any(flag.is_significant for flag in told) else drifts
    yield from (*drifts, *told)


def _get_limit(kind: Choice, rules: QualityRules) -> float:
    return rules.min_sensitivity if kind == "invalid" else rules.min_specificity


def _find_low_rates(answered: pd.DataFrame, rules: QualityRules) -> Iterator[QualityFlag]:
    for kind, fault in RATE_BY_EXPECTED.items():
        right, limit = answered.loc[answered["expected"] == kind, "right"], _get_limit(kind, rules)
        found = make_rate(int(right.sum()), len(right))
        if found.rate is not None and found.high is not None and found.rate < limit:
            figures = f"{found.num_correct} of {found.num_answered} known {kind} ({found.rate:.1%}, at most {found.high:.1%})"
            sure = found.high < limit and found.num_answered >= MIN_OTHER_GOLD_ANSWERS
            yield QualityFlag(kind=fault, detail=f"{figures}, below {limit:.0%}", is_significant=sure)


def find_drift(right: np.ndarray, limit: float, window: int) -> tuple[int, int] | None:
    """The first wrong answer of the first window that somebody who is right as often as `limit` would not have by chance (DRIFT,
    over all windows), and how many of the worst window are right; None if there is no such window.

    Args:
        right: [answers] of bool, in the order given.
    """
    if len(right) < window:
        return None
    counts = np.convolve(right, np.ones(window, int), "valid")
    bad = bdtr(counts, window, limit) * len(counts) < DRIFT_SIGNIFICANCE
    if not bad.any():
        return None
    first = int(bad.argmax())
    return first + int(np.argmin(right[first : first + window])), int(counts.min())


def mark_excluded_answers(answers: pd.DataFrame, excluded: Mapping[str, Exclusion]) -> pd.DataFrame:
    """The table with the reasons for which answers do not count: of excluded annotators; with a failed filter that has not
    fallen beside them; and of somebody's two answers on one candidate the later if both say the same, so that every vote is a
    first look, both if they contradict each other."""
    known = select_gold_answers(answers)
    failed = known[~known["right"]].drop_duplicates("verdict_id").set_index("verdict_id")
    since = (
        answers["annotator"]
        .map({name: float(row.excluded_since) for name, row in excluded.items()})
        .astype(float)
    )
    candidate, out = answers["role"] != "filter", answers["order"] >= since
    beside = candidate & answers["verdict_id"].isin(failed.index) & ~out
    aside = np.select(
        [out, beside],
        [EXCLUSION_REASONS.index("annotator excluded"), EXCLUSION_REASONS.index("filter failed")],
        0,
    )
    of_person = {name: "; ".join(row.reasons) for name, row in excluded.items()}
    said = "said " + failed["choice"].astype(str) + ", " + failed["expected"].astype(str) + " was expected"
    details = ["", *sorted({*of_person.values(), *said})]
    number = {text: place for place, text in enumerate(details)}
    by_person = answers["annotator"].map({name: number[text] for name, text in of_person.items()})
    by_verdict = answers["verdict_id"].map(said.map(number))
    detail = np.select([out, beside], [by_person.astype(float), by_verdict.astype(float)], 0).astype(int)
    answers = answers.assign(
        aside=make_categorical(aside, EXCLUSION_REASONS), detail=make_categorical(detail, details)
    )
    looks = answers[["order", "place", "annotator", "candidate_id", "choice"]]
    counting = looks[candidate & (aside == 0)].sort_values(["order", "place"], kind="stable")
    own = [counting["annotator"], counting["candidate_id"]]
    differ = (counting["choice"] == "invalid").groupby(own, observed=True).transform("nunique") > 1
    answers.loc[counting.index[counting.duplicated(["annotator", "candidate_id"])], "aside"] = "judged before"
    answers.loc[counting.index[differ], "aside"] = "contradicts themselves"
    return answers
