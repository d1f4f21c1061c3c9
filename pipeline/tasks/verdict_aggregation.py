"""Aggregate the verdicts of annotators into a status of each candidate.

First the annotators are assessed. Then answers that do not count are excluded. The remaining answers decide
each candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import to_builtins as asdict

from annotation.study.agreement import IntervalEstimate
from annotation.study.answers_table import QualityRules, select_votes
from annotation.study.assignment import DEFAULT_RULES
from annotation.study.dawid_skene import MILLION, Posterior, PosteriorEstimates, estimate_posteriors
from annotation.study.gold_status import count_by_status, list_questions_to_check
from annotation.study.quality_control import ExcludedAnswer, assess_quality
from annotation.study.quality_report import QualityReport, build_report
from annotation.study.vote_aggregation import check_aqs, verify_candidates
from pipeline.core.params import Seed
from pipeline.core.records import CollectedCandidate, GoldQuestionCheck, Record, ScreenedCandidate
from pipeline.research_registry import NUM_SIMULATED_ANNOTATORS
from pipeline.scoring.bootstrap import percentile_interval


class CollectParams(QualityRules):
    """Parameters of the stage collect, besides the rules of quality control.

    Attributes:
        simulate: Whether to use simulated annotators in place of exported verdicts. `true` needs complete
            scene graphs, which are known only for synthetic worlds. "rehearsal" treats incomplete graphs as
            complete, to test the process before people are asked. The results of a rehearsal are marked and
            cannot be published.
        seed: Seed of the simulated annotators.
        simulated_votes: Number of simulated verdicts per task. It is used only if `simulate` is set.
    """

    simulate: bool | Literal["rehearsal"] = False
    seed: Seed = 0
    simulated_votes: Annotated[int, msgspec.Meta(ge=1, le=NUM_SIMULATED_ANNOTATORS)] = 3

    def get_active_values(self) -> dict[str, object]:
        """Return the parameters on which the quality report depends.

        The parameters of the simulation are included only if `simulate` is set.
        """
        simulation = ("simulate", "seed", "simulated_votes") if self.simulate else ("simulate",)
        return {name: getattr(self, name) for name in (*simulation, *QualityRules.__struct_fields__)}


class AggregatedVerdicts(Record):
    """The results of aggregating verdicts.

    Attributes:
        verified: The screened candidates, each with its status.
        excluded_answers: The answers that do not count, each with a reason.
        aq_checks: For each answerable question (AQ) that served as a gold question, what annotators said
            about it.
        posteriors: The probabilities of Dawid and Skene's model, or [] if the model was not used.
        quality: The quality report.
    """

    verified: Collection[CollectedCandidate]
    excluded_answers: list[ExcludedAnswer]
    aq_checks: list[GoldQuestionCheck]
    posteriors: list[Posterior]
    quality: QualityReport


def aggregate_verdicts(
    screened: Mapping[str, ScreenedCandidate],
    answers_table: pd.DataFrame,
    params: CollectParams,
    answerable_priors: Mapping[str, float] = MappingProxyType({}),
    overlap: Collection[str] = (),
    store: Callable[[Iterable[CollectedCandidate]], Collection[CollectedCandidate]] = list,
    min_gold_agreement: int = DEFAULT_RULES.min_gold_agreement,
) -> AggregatedVerdicts:
    """Aggregate verdicts into the status of each screened candidate.

    Args:
        screened: Candidate id -> screened candidate.
        answers_table: The answers, one row per annotator and question (`annotation.study.answers_table`).
        params: The parameters of the stage collect.
        answerable_priors: Candidate id -> prior probability (0 to 1) of being answerable. It is used only by
            the rule dawid-skene.
        overlap: The ids of the candidates that were sampled at random to be judged by several annotators.
            Agreement is measured on these candidates.
        store: A function that stores the verified candidates as they are made, and returns a collection from
            which they can be read again.
        min_gold_agreement: Number of annotators who must agree on an unconfirmed gold question.

    Raises:
        UserError: See `assess_quality`.
    """
    assessed = assess_quality(answers_table, params, min_gold_agreement)
    answers_table, label_error = assessed.answers, IntervalEstimate()
    uses_posteriors = params.aggregation == "dawid-skene" and len(select_votes(answers_table)) > 0
    estimated = (
        estimate_posteriors(answers_table, answerable_priors)
        if uses_posteriors
        else PosteriorEstimates([], [], np.empty((0, 0)), {})
    )
    invalid = {row.candidate_id: row.invalid for row in estimated.posteriors}
    verified = store(verify_candidates(screened, answers_table, params, invalid))
    if uses_posteriors:
        released = {
            row.candidate.candidate_id
            for row in verified
            if row.status == "unanswerable" and row.decided_by == "votes"
        }
        is_released = np.array([row.candidate_id in released for row in estimated.posteriors])
        label_error = estimate_label_error(
            np.array(list(invalid.values()))[is_released], (row[is_released] for row in estimated.replicates)
        )
    return AggregatedVerdicts(
        verified=verified,
        excluded_answers=assessed.excluded_answers,
        aq_checks=check_aqs(answers_table),
        posteriors=estimated.posteriors,
        quality=build_report(
            assessed,
            verified,
            invalid,
            label_error,
            estimated.confusion_tables,
            params.get_active_values(),
            overlap,
            estimated.base_rates,
        ),
    )


def estimate_label_error(
    unanswerable_probabilities: np.ndarray, resampled: Iterable[np.ndarray]
) -> IntervalEstimate:
    """Estimate the proportion of candidates verified as unanswerable that are in fact answerable.

    The estimate assumes that the posterior probabilities are calibrated.

    Args:
        unanswerable_probabilities: [candidates] the posterior probability (0 to 1) of being unanswerable.
        resampled: For each bootstrap resample an array [candidates] of the same probabilities, in millionths.

    Returns:
        The proportion, with a percentile interval. It is empty if there are no candidates.
    """
    if not len(unanswerable_probabilities):
        return IntervalEstimate()
    low, high = percentile_interval(np.array([1 - row.mean() / MILLION for row in resampled]))
    return IntervalEstimate(value=float(1 - unanswerable_probabilities.mean()), low=low, high=high)


def make_report(aggregated: AggregatedVerdicts) -> dict[str, Any]:
    """Return the content of `collect.json`, which the audit and later stages read.

    The quality report has all details.
    """
    quality = aggregated.quality
    return {
        "simulated": quality.simulated,
        "rehearsal": quality.rehearsal,
        "warnings": quality.warnings,
        "annotators": {
            row.name: {
                **asdict(row.gold_accuracy),
                "excluded": bool(row.exclusion_reasons),
                "excluded_from": row.excluded_since,
                "reasons": row.exclusion_reasons,
            }
            for row in quality.annotators
        },
        "verdicts": quality.num_verdicts,
        "excluded_answers": Counter(row.reason for row in aggregated.excluded_answers),
        "discarded_gold_questions": sorted(
            f"{row.image_id}: {row.text}" for row in quality.discarded_gold_questions
        ),
        "gold_agreement": count_by_status(quality.gold_checks),
        "questions_to_check": [
            f"{row.image_id}: {row.text}" for row in list_questions_to_check(quality.gold_checks)
        ],
        "agreement": asdict(quality.agreement[0]),
        "retest": asdict(quality.retest),
        "expected_label_error": asdict(quality.expected_error),
        "candidates": {row.subset: row.statuses for row in quality.subsets},
        "base_rates": {row.subset: asdict(row.base_rate) for row in quality.subsets},
        "by_adjudicator": Counter(
            row.status for row in aggregated.verified if row.decided_by == "adjudicator"
        ),
        "aqs": Counter(row.status for row in aggregated.aq_checks),
    }
