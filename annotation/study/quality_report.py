"""Compute all numbers of the quality report, as the records of `quality.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import UNSET, UnsetType

from annotation.study.agreement import (
    IntervalEstimate,
    RetestReliability,
    SubsetAgreement,
    compute_agreement,
    compute_retest,
)
from annotation.study.answers_table import select_gold_answers, select_votes, to_records
from annotation.study.assignment import MAX_SHARE, MIN_PEOPLE
from annotation.study.exports import ADJUDICATOR_PREFIX, CHOICES
from annotation.study.gold_leakage import GoldLeakage, measure_gold_leakage, select_leaks
from annotation.study.gold_status import CheckedGoldQuestion, list_questions_to_check
from annotation.study.label_error import LabelError
from annotation.study.panel_priors import PanelReport
from annotation.study.posteriors import AnnotatorRates, PosteriorEstimates, list_people_warnings
from annotation.study.quality_control import GoldAccuracy, QualityAssessment, QualityFlag, make_rate
from annotation.study.response_times import ResponseTimes
from annotation.study.vote_aggregation import Status, count_votes
from pipeline.core.errors import format_count
from pipeline.core.records import DRAFTED_AQ, Choice, CollectedCandidate, Record, Subset

# Number of uncertain candidates in the report, the most uncertain first.
NUM_UNCERTAIN_ITEMS = 20
# Suspiciously low rate of errors and of disagreement: people usually err and disagree more often. And minimum
# number of candidates with several votes for measuring the disagreement.
SUSPICIOUS_ERROR_RATE, MIN_SHARED_CANDIDATES = 0.01, 100
# A study with a larger label error (upper end of the interval) is only a trial.
MAX_LABEL_ERROR = 0.05
# The share of a person can be larger than MAX_SHARE by so much, because votes are excluded later.
SHARE_TOLERANCE = 0.05
# Minimum log ratio per vote between the explanations that annotators have looked at the images and that they have not.
MIN_IMAGE_EVIDENCE = 0.02
# Columns of the answers table that `measure_gold_leakage` reads.
LEAKAGE_COLUMNS = ["annotator", "sequence_index", "position", "image_id", "text", "role"]


class AnnotatorRow(Record):
    """An annotator or adjudicator.

    Attributes:
        name: The pseudonym.
        verdicts: Number of verdicts.
        gold_accuracy: Accuracy on gold questions.
        num_failed_gold: Number of answers that do not count because the gold question in the same task was
            failed.
        exclusion_reasons: The reasons for exclusion; empty if the annotator is not excluded.
        excluded_since: `sequence_index` of the first task that does not count. 0 means that no task counts.
        response_times: Times per task.
        flags: Failed quality checks.
    """

    name: str
    verdicts: int
    gold_accuracy: GoldAccuracy
    num_failed_gold: int
    exclusion_reasons: tuple[str, ...]
    excluded_since: int
    response_times: ResponseTimes
    flags: tuple[QualityFlag, ...]

    @property
    def is_adjudicator(self) -> bool:
        """Return whether this is an adjudicator."""
        return self.name.startswith(ADJUDICATOR_PREFIX)


class GoldRow(Record):
    """Accuracy of annotators who are not excluded on the gold questions of one source and expected choice."""

    gold_source: str
    expected_choice: Choice
    num_answered: int
    num_correct: int


class DiscardedGoldQuestion(Record):
    """A discarded gold question, with the number of annotators per choice and the ids of its tasks."""

    image_id: str
    text: str
    expected_choice: Choice
    choices: dict[Choice, int]
    tasks: tuple[str, ...]


class SubsetRow(Record):
    """Number of candidates of a subset by status, and how many an adjudicator decided.

    `base_rate` is the estimated proportion of answerable candidates among those that votes decide, with its
    95 % credible interval (`annotation.study.base_rates`). It is empty unless the rule is dawid-skene.
    """

    subset: Subset
    candidates: int
    statuses: dict[Status, int]
    by_adjudicator: int
    base_rate: IntervalEstimate = IntervalEstimate()


class UncertainItem(Record):
    """A candidate whose votes do not decide.

    If there are no posteriors, `probability_invalid` is the proportion of invalid votes.
    """

    candidate_id: str
    subset: Subset
    image_id: str
    text: str
    choices: dict[Choice, int]
    probability_invalid: float


class QualityReport(Record):
    """The quality report.

    Attributes:
        simulated: Whether any verdict is simulated.
        rehearsal: Whether any verdict is simulated from incomplete graphs.
        warnings: What the study leader must check before publishing.
        settings: The parameters of stage `collect`.
        num_verdicts: Number of verdicts.
        num_answers: Number of answers about candidates. It is the sum of the next six numbers.
        num_from_excluded: Number of answers of excluded annotators.
        num_failed_gold: Number of answers in a task whose gold question was failed.
        num_repeated: Number of answers that do not count, because the annotator judged the candidate twice.
        num_not_trusted: Number of answers that do not count, because they do not depend on the images.
        num_copied: Number of answers that do not count, because accounts that answer alike judged the same candidate.
        num_counted: Number of answers that count.
        annotators: Annotators and adjudicators, sorted by name.
        gold_questions: Accuracy for each origin and expected choice of gold questions.
        discarded_gold_questions: Gold questions that were discarded as mislabelled.
        gold_checks: The unconfirmed gold questions that were answered, and whether annotators agree.
        agreement: Agreement on the candidates of overlap tasks, first for all subsets together, then for each
            subset.
        retest: Test-retest reliability on the candidates of overlap tasks.
        gold_leakage: For each cue, how well gold questions can be recognized without the image.
        subsets: Number of candidates by subset and status.
        label_error: Proportion of answerable candidates among those that votes verified as unanswerable, measured on the
            audit sample.
        image_evidence: How much more probable the votes are if annotators looked at the images than if each called a
            constant proportion invalid: a log ratio, per vote; only for the rule dawid-skene.
        max_share: Largest proportion of the counted votes that one person gave. Accounts that answer alike are one person.
        num_people: Number of people whose votes count.
        uncertain_items: The most uncertain candidates.
        doubtful: Candidate id -> probability of invalid, for the candidates that wait for an adjudicator.
        rates: Error rates of annotators on candidates; only for the rule dawid-skene.
        panel: The panel of models, and how often it errs. The field is missing without a panel.
        by_panel: Status -> number of candidates that only the panel decided. The field is missing if there is none.
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
    num_not_trusted: int
    num_copied: int
    num_counted: int
    annotators: tuple[AnnotatorRow, ...]
    gold_questions: tuple[GoldRow, ...]
    discarded_gold_questions: tuple[DiscardedGoldQuestion, ...]
    gold_checks: tuple[CheckedGoldQuestion, ...]
    agreement: tuple[SubsetAgreement, ...]
    retest: RetestReliability
    gold_leakage: tuple[GoldLeakage, ...]
    subsets: tuple[SubsetRow, ...]
    label_error: LabelError
    image_evidence: float | None
    max_share: float
    num_people: int
    uncertain_items: tuple[UncertainItem, ...]
    doubtful: dict[str, float]
    rates: tuple[AnnotatorRates, ...] = ()
    panel: PanelReport | UnsetType = UNSET
    by_panel: dict[Status, int] | UnsetType = UNSET

    @property
    def doubts(self) -> list[str]:
        """Return why the study is only a trial (`list_doubts`)."""
        return list_doubts(self)

    @property
    def num_invalid_gold_answers(self) -> int:
        """Return the number of answers to gold questions whose expected choice is invalid."""
        return sum(row.num_answered for row in self.gold_questions if row.expected_choice == "invalid")

    @property
    def num_unanswerable(self) -> int:
        """Return the number of candidates that are verified as unanswerable. Drafted questions are not among them."""
        return sum(row.statuses.get("unanswerable", 0) for row in self.subsets if row.subset != DRAFTED_AQ)


def build_report(
    assessment: QualityAssessment,
    verified: Collection[CollectedCandidate],
    estimates: PosteriorEstimates,
    label_error: LabelError,
    settings: Mapping[str, Any],
    overlap_candidates: Collection[str],
    panel: PanelReport | None = None,
) -> QualityReport:
    """Build the quality report.

    Args:
        assessment: The result of quality control.
        verified: All candidates, with votes and status.
        estimates: The posteriors and error rates; `NO_ESTIMATES` unless the rule is dawid-skene.
        label_error: The label error on the audit sample.
        settings: The parameters of section `collect`.
        overlap_candidates: Ids of the candidates of overlap tasks, on which agreement is measured.
        panel: The panel of models; None without one.

    Returns:
        The report. Floats are rounded to 6 significant digits.
    """
    answers = assessment.answers
    is_candidate = answers["role"] != "gold"
    reasons = Counter(answers.loc[is_candidate, "exclusion_reason"])
    overlap = answers[
        is_candidate & answers["candidate_id"].isin(overlap_candidates) & ~answers["is_adjudicator"]
    ]
    posteriors = {row.candidate_id: row.invalid for row in estimates.posteriors}
    uncertain = _rank_uncertain(answers, verified, posteriors)
    shares = _compute_shares(answers, estimates.copies)
    by_panel = Counter[Status](row.status for row in verified if row.decided_by == "panel")
    undecided = [row.candidate.candidate_id for row in verified if row.status == "doubtful"]
    quality = QualityReport(
        simulated=bool(answers["simulated"].any()),
        rehearsal=bool(answers["rehearsal"].any()),
        warnings=(),
        settings=dict(settings),
        num_verdicts=answers["verdict_id"].nunique(),
        num_answers=int(is_candidate.sum()),
        num_from_excluded=reasons["annotator excluded"],
        num_failed_gold=reasons["gold question failed"],
        num_repeated=reasons["duplicate"] + reasons["self-contradiction"],
        num_not_trusted=reasons["not trusted"],
        num_copied=reasons["copy"],
        num_counted=reasons[""],
        annotators=tuple(_build_annotator_rows(assessment)),
        gold_questions=tuple(_build_gold_rows(answers)),
        discarded_gold_questions=tuple(_build_discarded_rows(answers)),
        gold_checks=tuple(assessment.gold_checks),
        agreement=tuple(compute_agreement(select_votes(overlap))),
        retest=compute_retest(overlap[overlap["exclusion_reason"] != "annotator excluded"]),
        gold_leakage=tuple(measure_gold_leakage(answers[LEAKAGE_COLUMNS])),
        subsets=tuple(_build_subset_rows(verified, estimates.base_rates)),
        label_error=label_error,
        image_evidence=estimates.image_evidence if estimates.posteriors else None,
        max_share=max(shares.values(), default=0.0),
        num_people=len(shares),
        uncertain_items=tuple(_build_uncertain_items(answers, verified, uncertain[:NUM_UNCERTAIN_ITEMS])),
        doubtful={str(key): value for key, value in uncertain[uncertain.index.isin(undecided)].items()},
        rates=tuple(estimates.rates),
        panel=panel or UNSET,
        by_panel={status: by_panel[status] for status in sorted(by_panel)} or UNSET,
    )
    warnings = [
        *_find_warnings(quality),
        *_find_discarded_sources(answers, settings.get("max_discarded_rate", 1.0)),
        *list_people_warnings(estimates),
        *([panel.warning] if panel and panel.warning else []),
    ]
    quality = msgspec.structs.replace(quality, warnings=tuple(warnings))
    rounding = msgspec.json.Decoder(float_hook=lambda number: float(f"{float(number):.6g}"))
    return msgspec.convert(rounding.decode(msgspec.json.encode(quality)), QualityReport)


def _compute_shares(answers: pd.DataFrame, copies: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return person -> proportion of all votes that count. Accounts that answer alike have the name of the first one."""
    first = {name: people[0] for people in copies for name in people}
    counts = Counter(first.get(name, name) for name in select_votes(answers)["annotator"].astype(str))
    return {name: count / counts.total() for name, count in sorted(counts.items())}


def list_doubts(quality: QualityReport) -> list[str]:
    """Return why the study is only a trial: reasons for which its label error cannot be stated, or is too large.

    They are also on the dataset card, and `rgqa publish` refuses such a release.
    """
    doubts = []
    if quality.num_people < MIN_PEOPLE:
        doubts.append(
            f"the votes that count are those of {format_count(quality.num_people, 'person', 'people')}. At least {MIN_PEOPLE} are needed: "
            "nobody can tell whether one person alone has looked at the images"
        )
    elif quality.max_share > MAX_SHARE + SHARE_TOLERANCE:
        doubts.append(
            f"one person gave {quality.max_share:.0%} of the votes that count, more than {MAX_SHARE:.0%}"
        )
    people = {row.annotator for row in quality.rates}
    distrusted = {row.annotator for row in quality.rates if row.trusted_before is not None}
    if 2 * len(distrusted) > len(people):
        doubts.append(
            f"the votes of {len(distrusted)} of {len(people)} people do not depend on the images. It cannot be told who is right"
        )
    error = quality.label_error
    is_vague = quality.image_evidence is not None and quality.image_evidence < MIN_IMAGE_EVIDENCE
    if is_vague and error.value is None:
        doubts.append(
            "the votes could also have been given without looking at the images: hardly any differ from what the annotator "
            "says of all other candidates"
        )
    if error.value is None:
        doubts.append(
            f"the label error is not known: {error.unknown_because}. Invite an adjudicator (rgqa annotate invite NAME --adjudicator)"
        )
    elif (error.high or 0.0) > MAX_LABEL_ERROR:
        doubts.append(
            f"the label error can be {error.high:.1%}, more than {MAX_LABEL_ERROR:.0%}: {error.num_wrong} of {error.num_audited} audited UQs "
            "are answerable. Let the adjudicator judge more, or the annotators vote again"
        )
    return doubts


def _find_discarded_sources(answers: pd.DataFrame, max_rate: float) -> list[str]:
    """Return a sentence for each origin of gold questions of which too many are discarded."""
    gold = answers[(answers["role"] == "gold") & ~answers["is_adjudicator"]]
    keys = ["image_id", "text"]
    sentences = []
    for source, rows in gold.groupby("gold_source", observed=True):
        questions = rows.groupby(keys, observed=True)["is_discarded"].any()
        discarded = questions[questions]
        if len(discarded) <= max(1, max_rate * len(questions)):
            continue
        people = rows[rows["is_discarded"] & ~rows["is_correct"]]["annotator"].astype(str)
        texts = ", ".join(f"{image}: {text!r}" for image, text in discarded.index[:5])
        sentences.append(
            f"{len(discarded):,} of {len(questions):,} gold questions of source `{source}` are discarded, more than "
            f"collect.max_discarded_rate ({max_rate:.0%}); {', '.join(sorted(set(people)))} contradict them. If the questions are "
            f"wrong, correct the source and run stage batch again; if not, ask other annotators. Examples: {texts}"
        )
    return sentences


def _find_warnings(quality: QualityReport) -> list[str]:
    warnings = []
    refuted = {(row.image_id, row.text) for row in quality.gold_checks if row.status == "refuted"}
    if count := sum((row.image_id, row.text) not in refuted for row in quality.discarded_gold_questions):
        warnings.append(
            f"{format_count(count, 'gold question is', 'gold questions are')} discarded: at least three reliable annotators contradict "
            "the expected choice. Check whether the questions or the annotators are wrong. They do not count against anybody"
        )
    if to_check := list_questions_to_check(quality.gold_checks):
        warnings.append(
            f"annotators find {format_count(len(to_check), 'question')} of the source underspecified or unanswerable: "
            f"{', '.join(repr(row.text) for row in to_check[:5])}{' and more' if len(to_check) > 5 else ''}. Correct "
            "them in the source. They do not count against anybody"
        )
    if contested := sum(row.status == "contested" for row in quality.gold_checks):
        warnings.append(
            f"annotators disagree on {format_count(contested, 'gold question')}, which therefore count for nobody. Let an "
            "adjudicator decide them (rgqa annotate invite NAME --adjudicator)"
        )
    if quality.gold_checks and not quality.num_invalid_gold_answers:
        warnings.append(
            "annotators agree on no unanswerable gold question yet, so only annotators who always answer the same are "
            "recognised. Let at least annotate.min_gold_agreement annotators answer the same tasks"
        )
    elif quality.gold_questions and not quality.num_invalid_gold_answers:
        warnings.append(
            "no answered gold question is known to be unanswerable, so an annotator who calls every question valid passes all of them"
        )
    num_judged = sum(
        count for row in quality.subsets for status, count in row.statuses.items() if status != "no_votes"
    )
    if num_judged and not quality.num_unanswerable:
        num_doubtful = sum(row.statuses.get("doubtful", 0) for row in quality.subsets)
        cause = ""
        if quality.simulated:
            cause = ": the simulated annotators have too little information on these images"
        elif 2 * num_doubtful >= num_judged:
            cause = f": the votes do not suffice for {num_doubtful:,} of them. Let more annotators judge them"
        warnings.append(
            f"none of {format_count(num_judged, 'judged candidate')} is verified as unanswerable, so nothing can be released{cause}"
        )
    warnings += [
        f"gold questions may be recognised by {row.cue}: AUROC {row.auroc:.2f} ({row.low:.2f} to {row.high:.2f})"
        for row in select_leaks(quality.gold_leakage)
    ]
    num_excluded = sum(bool(row.exclusion_reasons) for row in quality.annotators)
    if 2 * num_excluded > len(quality.annotators):
        warnings.append(
            f"{num_excluded} of {format_count(len(quality.annotators), 'annotator')} are excluded: either the gold questions are wrong, or "
            "the guidelines are not understood, or the annotators did not look at the images"
        )
    num_correct, num_answered = (
        sum(getattr(row, name) for row in quality.gold_questions) for name in ("num_correct", "num_answered")
    )
    error, overall = make_rate(num_answered - num_correct, num_answered), quality.agreement[0]
    is_agreement_suspicious = (
        overall.candidates >= MIN_SHARED_CANDIDATES
        and (overall.observed.low or 0) > 1 - SUSPICIOUS_ERROR_RATE
    )
    if is_agreement_suspicious or (error.high is not None and error.high < SUSPICIOUS_ERROR_RATE):
        warnings.append(
            f"the results are suspiciously good: {num_correct:,} of {num_answered:,} gold questions correct, "
            f"{overall.observed.value or 0:.1%} observed agreement. People err more often. Perhaps gold questions can be recognised, "
            "somebody copies answers, or a program answers"
        )
    return warnings


def _build_annotator_rows(assessment: QualityAssessment) -> list[AnnotatorRow]:
    answers = assessment.answers
    verdicts = answers.groupby("annotator", observed=True)["verdict_id"].nunique()
    failed = Counter(answers.loc[answers["exclusion_reason"] == "gold question failed", "annotator"])
    return [
        AnnotatorRow(
            name=name,
            verdicts=int(verdicts[name]),
            gold_accuracy=accuracy,
            num_failed_gold=failed[name],
            exclusion_reasons=exclusion.reasons if (exclusion := assessment.excluded.get(name)) else (),
            excluded_since=exclusion.excluded_since if exclusion else 0,
            response_times=assessment.response_times[name],
            flags=tuple(assessment.flags[name]),
        )
        for name, accuracy in assessment.gold_accuracy.items()
    ]


def _build_gold_rows(answers: pd.DataFrame) -> list[GoldRow]:
    rows = select_gold_answers(answers)
    right = rows[rows["exclusion_reason"] == ""].groupby(["gold_source", "expected_choice"], observed=True)[
        "is_correct"
    ]
    return to_records(right.agg(num_answered="size", num_correct="sum").reset_index(), GoldRow)


def _build_discarded_rows(answers: pd.DataFrame) -> list[DiscardedGoldQuestion]:
    question = answers[answers["is_discarded"]].groupby(
        ["image_id", "text", "expected_choice"], observed=True
    )
    rows = question.agg(
        choices=("choice", lambda values: dict(sorted(Counter(values).items()))),
        tasks=("task_id", lambda keys: tuple(sorted(set(keys)))),
    )
    return to_records(rows.reset_index(), DiscardedGoldQuestion)


def _build_subset_rows(
    verified: Collection[CollectedCandidate], base_rates: Mapping[Subset, IntervalEstimate]
) -> list[SubsetRow]:
    statuses: dict[Subset, Counter[Status]] = defaultdict(Counter)
    for row in verified:
        statuses[row.candidate.subset][row.status] += 1
    num_adjudicated = Counter(row.candidate.subset for row in verified if row.decided_by == "adjudicator")
    return [
        SubsetRow(
            subset=subset,
            candidates=counts.total(),
            statuses=dict(sorted(counts.items())),
            by_adjudicator=num_adjudicated[subset],
            base_rate=base_rates.get(subset, IntervalEstimate()),
        )
        for subset, counts in sorted(statuses.items())
    ]


def _rank_uncertain(
    answers: pd.DataFrame, verified: Collection[CollectedCandidate], posteriors: Mapping[str, float]
) -> pd.Series:
    """Return candidate id -> probability of invalid, for doubtful candidates that no adjudicator decided.

    Candidates with a probability close to 0.5 come first. Of equal ones, candidates with more votes come
    first.
    """
    statuses = {row.candidate.candidate_id: row.status for row in verified if row.decided_by == "votes"}
    votes = count_votes(answers, sorted(statuses))
    total = votes.sum(axis=1)
    invalid = (pd.Series(dict(posteriors), dtype=float) if posteriors else votes["invalid"] / total).reindex(
        votes.index
    )
    distance = np.abs(invalid - 0.5)
    order = (
        pd.DataFrame({"distance": distance.round(2), "total": -total})
        .sort_values(["distance", "total"], kind="stable")
        .index
    )
    in_doubt = (total > 0) & ((distance < 0.5) | (pd.Series(statuses) == "doubtful"))
    return invalid[order][in_doubt[order]]


def _build_uncertain_items(
    answers: pd.DataFrame, verified: Collection[CollectedCandidate], invalid: pd.Series
) -> list[UncertainItem]:
    wanted = set(invalid.index)
    candidates = {
        row.candidate.candidate_id: row.candidate for row in verified if row.candidate.candidate_id in wanted
    }
    fields = ("candidate_id", "subset", "image_id", "text")
    votes = count_votes(answers, invalid.index.tolist()).to_dict("index")
    return [
        UncertainItem(
            **{name: getattr(candidates[str(key)], name) for name in fields},
            choices={choice: votes[key][choice] for choice in CHOICES if votes[key][choice]},
            probability_invalid=float(value),
        )
        for key, value in invalid.items()
    ]
