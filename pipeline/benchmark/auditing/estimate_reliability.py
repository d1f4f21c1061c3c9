"""How far the estimates of stage estimate can be relied on, against the complete truth of images that they were not fitted
on (known for drawn worlds alone): of candidates said to have an answer with 20 %, do 20 % have one?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from pipeline.core.jsonl_index import RecordLookup, group_by
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, CandidateEstimate, Record, SceneGraph, ScreenedCandidate, Subset
from pipeline.research_registry import truth_reader
from pipeline.scoring import auroc
from pipeline.scoring.calibration import brier_score, expected_calibration_error, reliability_table

NUM_BINS = 10


class ReliabilityBin(Record):
    """Candidates whose estimates lie in one tenth of [0, 1]: how many, the mean estimate, the share that has an answer."""

    candidates: int
    mean_estimate: float
    answerable_rate: float


class Reliability(Record):
    """How the estimates of some candidates hold against the truth; those of which it does not tell are left out.

    Attributes:
        candidates, answerable: how many there are, and how many have an answer. expected: how many were expected to.
        calibration_error: expected calibration error over ten bins of equal width (Guo et al. 2017).
        auroc: of the estimates, for having an answer; None where all are alike.
        brier, brier_of_base_rate: mean squared error of the estimates, and of saying the share of all each time.
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
    """Compare estimates in [0, 1] with what is true; there must be some.

    >>> found = reliability([0.1, 0.1, 0.8, 0.8], [False, False, True, False])
    >>> found.calibration_error, found.brier, found.brier_of_base_rate  # (0.1 + 0.3) / 2, (0.01 + 0.01 + 0.04 + 0.64) / 4
    (0.2, 0.175, 0.1875)
    """
    said, true = np.array(estimates, float), np.array(answerable, float)
    rate, curve = float(true.mean()), auroc(said, true > 0)
    return Reliability(
        candidates=len(said),
        answerable=int(true.sum()),
        expected_answerable=round(float(said.sum()), 1),
        calibration_error=round(expected_calibration_error(said, true, num_bins=NUM_BINS), 4),
        auroc=None if np.isnan(curve) else round(curve, 4),
        brier=round(brier_score(said, true), 4),
        base_rate_brier=round(rate * (1 - rate), 4),
        bins=[
            ReliabilityBin(
                candidates=int(items), mean_estimate=round(mean, 4), answerable_rate=round(share, 4)
            )
            for items, mean, share in reliability_table(said, true, num_bins=NUM_BINS).tolist()
        ],
    )


def measure_estimate_reliability(
    folders: DatasetFolders, truth: Mapping[str, SceneGraph]
) -> dict[Subset | Literal["all"], Reliability]:
    """How the estimates hold, for all candidates with a program and by subset; {} where nobody knows the truth."""
    if not truth:
        return {}
    what_is_so = truth_reader(folders.read_vocabulary())
    said = RecordLookup(
        folders.record_file(CandidateEstimate),
        {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)},
    )
    screened = (row.candidate for row in folders.read_records(ScreenedCandidate) if row.candidate.program)
    told = ((row, what_is_so(row.program, truth[row.image_id])) for row in screened)
    pairs = [
        (row.subset, said[row.candidate_id], true == "answerable") for row, true in told if true != "unknown"
    ]
    by_subset = group_by(pairs, lambda pair: pair[0])
    named: dict[Subset | Literal["all"], list] = {"all": pairs}
    named |= {subset: by_subset[subset] for subset in SUBSETS if subset in by_subset}
    return {
        name: measure_reliability([row[1] for row in rows], [row[2] for row in rows])
        for name, rows in named.items()
        if rows
    }
