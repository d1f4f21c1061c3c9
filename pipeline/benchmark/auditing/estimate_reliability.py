"""Measure the calibration of stage `estimate` on images that were not used to fit it.

The estimates are calibrated if, for example, 20 % of the candidates with an estimate of 20 % have an answer.
The measurement needs the complete ground truth, which is known only for synthetic worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from pipeline.core.jsonl_index import RecordLookup, group_by
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, CandidateEstimate, Record, SceneGraph, ScreenedCandidate, Subset
from pipeline.research_registry import make_truth_reader
from pipeline.scoring import auroc
from pipeline.scoring.calibration import brier_score, expected_calibration_error, reliability_table

NUM_BINS = 10


class ReliabilityBin(Record):
    """The candidates whose estimates lie in one tenth of [0, 1].

    Attributes:
        candidates: Number of candidates.
        mean_estimate: Mean estimate of the candidates.
        answerable_rate: Proportion of the candidates that are answerable.
    """

    candidates: int
    mean_estimate: float
    answerable_rate: float


class Reliability(Record):
    """Estimates of a set of candidates compared with the truth. Undecidable candidates are excluded.

    Attributes:
        candidates, answerable: Number of candidates, and number of answerable candidates.
        expected_answerable: Sum of the estimates.
        calibration_error: Expected calibration error over ten bins of equal width (Guo et al., 2017), in [0,
            1].
        auroc: AUROC of the estimates for being answerable, or None if all candidates have the same
            answerability.
        brier: Mean squared error of the estimates.
        base_rate_brier: Mean squared error of always predicting the base rate.
        bins: The reliability table.
    """

    candidates: int
    answerable: int
    expected_answerable: float
    calibration_error: float
    auroc: float | None
    brier: float
    base_rate_brier: float
    bins: list[ReliabilityBin]


def measure_reliability(estimates: Sequence[float], answerable: Sequence[bool]) -> Reliability:
    """Compare estimates with the truth.

    Args:
        estimates: [n] estimated probability of being answerable. n is at least 1.
        answerable: [n] whether each candidate is answerable.

    >>> found = measure_reliability([0.1, 0.1, 0.8, 0.8], [False, False, True, False])
    >>> found.calibration_error, found.brier, found.base_rate_brier  # (0.1 + 0.3) / 2, (0.01 + 0.01 + 0.04 + 0.64) / 4
    (0.2, 0.175, 0.1875)
    """
    probabilities, true = np.array(estimates, float), np.array(answerable, float)
    rate, curve = float(true.mean()), auroc(probabilities, true > 0)
    return Reliability(
        candidates=len(probabilities),
        answerable=int(true.sum()),
        expected_answerable=round(float(probabilities.sum()), 1),
        calibration_error=round(expected_calibration_error(probabilities, true, num_bins=NUM_BINS), 4),
        auroc=None if np.isnan(curve) else round(curve, 4),
        brier=round(brier_score(probabilities, true), 4),
        base_rate_brier=round(rate * (1 - rate), 4),
        bins=[
            ReliabilityBin(
                candidates=int(items), mean_estimate=round(mean, 4), answerable_rate=round(proportion, 4)
            )
            for items, mean, proportion in reliability_table(probabilities, true, num_bins=NUM_BINS).tolist()
        ],
    )


def measure_estimate_reliability(
    folders: DatasetFolders, truth: Mapping[str, SceneGraph]
) -> dict[Subset | Literal["all"], Reliability]:
    """Return the reliability of the estimates, for all candidates and by subset.

    Candidates without a program are excluded. The result is {} if the complete ground truth is not known.
    """
    if not truth:
        return {}
    true_answerability = make_truth_reader(folders.read_vocabulary())
    estimates = RecordLookup(
        folders.record_file(CandidateEstimate),
        {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)},
    )
    screened = (row.candidate for row in folders.read_records(ScreenedCandidate) if row.candidate.program)
    judged = ((row, true_answerability(row.program, truth[row.image_id])) for row in screened)
    pairs = [
        (row.subset, estimates[row.candidate_id], true == "answerable")
        for row, true in judged
        if true != "unknown"
    ]
    by_subset = group_by(pairs, lambda pair: pair[0])
    named: dict[Subset | Literal["all"], list] = {"all": pairs}
    named |= {subset: by_subset[subset] for subset in SUBSETS if subset in by_subset}
    return {
        name: measure_reliability([row[1] for row in rows], [row[2] for row in rows])
        for name, rows in named.items()
        if rows
    }
