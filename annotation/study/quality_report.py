"""Every figure of the quality report, as records: `quality.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from annotation.study.agreement import (
    IntervalEstimate,
    RetestReliability,
    SubsetAgreement,
    compute_agreement,
    compute_retest,
)
from annotation.study.answers_table import select_gold_answers, select_votes, to_records
from annotation.study.dawid_skene import ConfusionTable
from annotation.study.exports import ADJUDICATOR_PREFIX, CHOICES
from annotation.study.gold_leakage import GoldLeakage, measure_gold_leakage, select_leaks
from annotation.study.quality_control import GoldAccuracy, QualityAssessment, QualityFlag, make_rate
from annotation.study.response_times import ResponseTimes
from annotation.study.vote_aggregation import Status, count_votes
from pipeline.core.errors import format_count
from pipeline.core.records import Choice, CollectedCandidate, Record, Subset

NUM_UNCERTAIN_ITEMS = 20  # items to look at
SUSPICIOUS_ERROR_RATE, MIN_SHARED_CANDIDATES = (
    0.01,
    100,
)  # people err and differ more often, of so many candidates
# Columns of the table of answers -> those that `betrayals` takes.
LEAKAGE_COLUMNS = {
    "annotator": "person",
    "order": "order",
    "place": "position",
    "image_id": "image",
    "text": "text",
    "role": "role",
}


class AnnotatorRow(Record):
    """An annotator or an expert, by pseudonym.

    Attributes:
        failed: answers set aside because the filter question beside them was failed.
        excluded: the reasons, none if they are not; `since`: from which task on (0: all).
    """

    name: str
    verdicts: int
    skill: GoldAccuracy
    num_failed_gold: int
    exclusion_reasons: tuple[str, ...]
    excluded_since: int
    response_times: ResponseTimes
    flags: tuple[QualityFlag, ...]

    @property
    def is_adjudicator(self) -> bool:
        """Whether their word decides."""
        return self.name.startswith(ADJUDICATOR_PREFIX)


class GoldRow(Record):
    """Filter questions of one source and expected verdict, as answered by annotators that are not excluded."""

    gold_source: str
    expected_choice: Choice
    num_answered: int
    num_correct: int


class DiscardedGoldQuestion(Record):
    """A filter question that good judges contradicted, what all chose, and the tasks that it stands in."""

    image_id: str
    text: str
    expected_choice: Choice
    choices: dict[Choice, int]
    tasks: tuple[str, ...]


class SubsetRow(Record):
    """What came of the candidates of a subset."""

    subset: Subset
    candidates: int
    statuses: dict[Status, int]
    by_adjudicator: int


class UncertainItem(Record):
    """A candidate that the votes left most in doubt; `invalid` is its probability, or the share of its votes."""

    candidate_id: str
    subset: Subset
    image_id: str
    text: str
    choices: dict[Choice, int]
    probability_invalid: float


class QualityReport(Record):
    """The report.

    Attributes:
        alarms: what somebody must look at before anything is published.
        settings: the parameters that these figures rest on.
        given: verdicts. answers, excluded, failed, repeated, counted: answers on candidates: all, of excluded annotators,
            beside a failed filter, of somebody who judged the candidate twice, left.
        doubtful: candidate id -> how probably it is invalid, of those that an expert is to decide.
        wrong: the share expected to be wrong among what votes verified as unanswerable, of the rule dawid-skene alone.
        agreement, retest: on the candidates that several judge by lot; all subsets together first. betrayals: what filters can be known by. tables: of the rule dawid-skene alone.
    """

    simulated: bool
    rehearsal: bool
    warnings: tuple[str, ...]
    settings: dict[str, Any]
    num_verdicts: int
    num_answers: int
    num_from_excluded: int
    num_failed_gold: int
    num_repeated: int
    num_counted: int
    annotators: tuple[AnnotatorRow, ...]
    gold_questions: tuple[GoldRow, ...]
    discarded_gold_questions: tuple[DiscardedGoldQuestion, ...]
    agreement: tuple[SubsetAgreement, ...]
    retest: RetestReliability
    gold_leakage: tuple[GoldLeakage, ...]
    subsets: tuple[SubsetRow, ...]
    expected_error: IntervalEstimate
    uncertain_items: tuple[UncertainItem, ...]
    doubtful: dict[str, float]
    confusion_tables: tuple[ConfusionTable, ...] = ()

    @property
    def num_invalid_gold_answers(self) -> int:
        """Answers that count to filter questions known to be unanswerable."""
        return sum(row.num_answered for row in self.gold_questions if row.expected_choice == "invalid")

    @property
    def num_unanswerable(self) -> int:
        """Candidates that go on."""
        return sum(row.statuses.get("unanswerable", 0) for row in self.subsets)


def build_report(
    assessment: QualityAssessment,
    verified: Collection[CollectedCandidate],
    posteriors: Mapping[str, float],
    expected_error: IntervalEstimate,
    tables: Sequence[ConfusionTable],
    settings: Mapping[str, Any],
    overlap_candidates: Collection[str],
) -> QualityReport:
    """Put together what was found; floats are rounded to 6 significant digits, and what is undefined is None."""
    judged = assessment.answers
    candidate = judged["role"] != "filter"
    reasons = Counter(judged.loc[candidate, "aside"])
    by_lot = judged[candidate & judged["candidate_id"].isin(overlap_candidates) & ~judged["expert"]]
    doubts = _rank_uncertain(judged, verified, posteriors)
    undecided = [row.candidate.candidate_id for row in verified if row.status == "doubtful"]
    quality = QualityReport(
        simulated=bool(judged["simulated"].any()),
        rehearsal=bool(judged["rehearsal"].any()),
        warnings=(),
        settings=dict(settings),
        num_verdicts=judged["verdict_id"].nunique(),
        num_answers=int(candidate.sum()),
        num_from_excluded=reasons["annotator excluded"],
        num_failed_gold=reasons["filter failed"],
        num_repeated=reasons["judged before"] + reasons["contradicts themselves"],
        num_counted=reasons[""],
        annotators=tuple(_build_annotator_rows(assessment)),
        gold_questions=tuple(_build_gold_rows(judged)),
        discarded_gold_questions=tuple(_build_discarded_rows(judged)),
        agreement=tuple(compute_agreement(select_votes(by_lot))),
        retest=compute_retest(by_lot[by_lot["aside"] != "annotator excluded"]),
        gold_leakage=tuple(
            measure_gold_leakage(judged[list(LEAKAGE_COLUMNS)].rename(columns=LEAKAGE_COLUMNS))
        ),
        subsets=tuple(_build_subset_rows(verified)),
        expected_error=expected_error,
        uncertain_items=tuple(_build_uncertain_items(judged, verified, doubts[:NUM_UNCERTAIN_ITEMS])),
        doubtful={str(key): value for key, value in doubts[doubts.index.isin(undecided)].items()},
        confusion_tables=tuple(tables),
    )
    quality = msgspec.structs.replace(quality, warnings=tuple(_find_warnings(quality)))
    rounding = msgspec.json.Decoder(float_hook=lambda number: float(f"{float(number):.6g}"))
    return msgspec.convert(rounding.decode(msgspec.json.encode(quality)), QualityReport)


def _find_warnings(quality: QualityReport) -> list[str]:
    alarms = []
    if quality.discarded_gold_questions:
        count = len(quality.discarded_gold_questions)
        alarms.append(
            f"{count} filter question{'s' if count > 1 else ''} fell: at least three people who answer the others well "
            "contradict what was known of it; nobody is blamed for them; look whether they or the people are wrong"
        )
    if quality.gold_questions and not quality.num_invalid_gold_answers:
        alarms.append(
            "no filter question that was answered is known to be unanswerable: who calls every question valid passes all of them"
        )
    judged = sum(
        count for row in quality.subsets for status, count in row.statuses.items() if status != "unjudged"
    )
    if judged and not quality.num_unanswerable:
        known = ": who simulates knows too little of these images" if quality.simulated else ""
        alarms.append(
            f"none of {judged:,} judged candidates is unanswerable, so nothing can be released{known}"
        )
    alarms += [
        f"filters may be known by {row.cue}: AUROC {row.auroc:.2f} ({row.low:.2f} to {row.high:.2f})"
        for row in select_leaks(quality.gold_leakage)
    ]
    out = sum(bool(row.exclusion_reasons) for row in quality.annotators)
    if 2 * out > len(quality.annotators):
        alarms.append(
            f"{out} of {format_count(len(quality.annotators), 'annotator')} are excluded: either the filters are wrong, or the guidelines are "
            "not understood, or nobody looked"
        )
    right, answered = (
        sum(getattr(row, name) for row in quality.gold_questions) for name in ("right", "answered")
    )
    erred, together = make_rate(answered - right, answered), quality.agreement[0]
    agreed = (
        together.candidates >= MIN_SHARED_CANDIDATES
        and (together.observed.low or 0) > 1 - SUSPICIOUS_ERROR_RATE
    )
    if agreed or (erred.high is not None and erred.high < SUSPICIOUS_ERROR_RATE):
        alarms.append(
            f"everything looks perfect: {right:,} of {answered:,} filter questions answered as known, "
            f"{together.observed.value or 0:.1%} of verdicts on one candidate alike; people err more often. Perhaps filters can be "
            "told from candidates, somebody copies, or a program answers"
        )
    return alarms


def _build_annotator_rows(weighed: QualityAssessment) -> list[AnnotatorRow]:
    judged = weighed.answers
    given = judged.groupby("annotator", observed=True)["verdict_id"].nunique()
    failed = Counter(judged.loc[judged["aside"] == "filter failed", "annotator"])
    return [
        AnnotatorRow(
            name=name,
            verdicts=int(given[name]),
            skill=skill,
            num_failed_gold=failed[name],
            exclusion_reasons=out.reasons if (out := weighed.excluded.get(name)) else (),
            excluded_since=out.excluded_since if out else 0,
            response_times=weighed.response_times[name],
            flags=tuple(weighed.flags[name]),
        )
        for name, skill in weighed.gold_accuracy.items()
    ]


def _build_gold_rows(judged: pd.DataFrame) -> list[GoldRow]:
    rows = select_gold_answers(judged)
    right = rows[rows["aside"] == ""].groupby(["source", "expected"], observed=True)["right"]
    return to_records(right.agg(answered="size", right="sum").reset_index(), GoldRow)


def _build_discarded_rows(judged: pd.DataFrame) -> list[DiscardedGoldQuestion]:
    question = judged[judged["fallen"]].groupby(["image_id", "text", "expected"], observed=True)
    rows = question.agg(
        choices=("choice", lambda said: dict(sorted(Counter(said).items()))),
        tasks=("task_id", lambda keys: tuple(sorted(set(keys)))),
    )
    return to_records(rows.reset_index(), DiscardedGoldQuestion)


def _build_subset_rows(verified: Collection[CollectedCandidate]) -> list[SubsetRow]:
    statuses: dict[Subset, Counter[Status]] = defaultdict(Counter)
    for row in verified:
        statuses[row.candidate.subset][row.status] += 1
    by_expert = Counter(row.candidate.subset for row in verified if row.decided_by == "expert")
    return [
        SubsetRow(
            subset=subset,
            candidates=of.total(),
            statuses=dict(sorted(of.items())),
            by_adjudicator=by_expert[subset],
        )
        for subset, of in sorted(statuses.items())
    ]


def _rank_uncertain(
    judged: pd.DataFrame, verified: Collection[CollectedCandidate], posteriors: Mapping[str, float]
) -> pd.Series:
    """Candidate id -> probability of being invalid, of those that no expert decided and that votes leave any doubt of: first
    those nearest to one half, of equals the one with more votes."""
    left = {row.candidate.candidate_id: row.status for row in verified if row.decided_by == "votes"}
    votes = count_votes(judged, sorted(left))
    total = votes.sum(axis=1)
    invalid = (pd.Series(dict(posteriors), dtype=float) if posteriors else votes["invalid"] / total).reindex(
        votes.index
    )
    doubt = np.abs(invalid - 0.5)
    order = (
        pd.DataFrame({"doubt": doubt.round(2), "total": -total})
        .sort_values(["doubt", "total"], kind="stable")
        .index
    )
    doubted = (total > 0) & ((doubt < 0.5) | (pd.Series(left) == "doubtful"))
    return invalid[order][doubted[order]]


def _build_uncertain_items(
    judged: pd.DataFrame, verified: Collection[CollectedCandidate], invalid: pd.Series
) -> list[UncertainItem]:
    wanted = set(invalid.index)
    candidates = {
        row.candidate.candidate_id: row.candidate for row in verified if row.candidate.candidate_id in wanted
    }
    fields = ("candidate_id", "subset", "image_id", "text")
    votes = count_votes(judged, invalid.index.tolist()).to_dict("index")
    return [
        UncertainItem(
            **{name: getattr(candidates[str(key)], name) for name in fields},
            choices={choice: votes[key][choice] for choice in CHOICES if votes[key][choice]},
            probability_invalid=float(value),
        )
        for key, value in invalid.items()
    ]
