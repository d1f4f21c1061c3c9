"""The leaderboard's table of selective prediction on answerable questions (Whitehead et al., ECCV 2022,
sections 3.2 and 4).

The table has the rows whose thresholds were chosen on validation data outside of the release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.json_files import read_json
from pipeline.core.records import Record
from pipeline.scoring.items import Benchmark, Items
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.leaderboard.prediction_files import parse_name_and_seed
from pipeline.scoring.leaderboard.row_scores import join_row_predictions
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.selective_prediction import coverage_at_risk, effective_reliability, risk_coverage_auc

RISK_LEVELS, VALIDATION_RISK, COST_LEVELS = (0.01, 0.05, 0.1, 0.2), "0.05", ("1", "10", "100")
COLUMN_TITLES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    **{f"c@{risk:g}": f"C@{100 * risk:g}" for risk in RISK_LEVELS},
    "coverage": "coverage at val's 5 %",
    "risk": "risk at val's 5 %",
    **{f"phi_{cost}": f"Phi_{cost}" for cost in COST_LEVELS},
}


class RowThresholds(Record):
    """Thresholds of a seed for each risk and for each cost.

    Questions with at least this confidence are answered. None means that no question is answered.
    """

    at_risk: dict[str, float | None]
    at_cost: dict[str, float | None]


# Row -> seed -> thresholds.
ThresholdsByRow = Mapping[str, Mapping[str, RowThresholds]]


def read_thresholds(path: Path) -> ThresholdsByRow:
    """Read the thresholds chosen on validation data; empty if the file does not exist.

    Raises:
        UserError: The file is invalid.
    """
    return read_json(path, dict[str, dict[str, RowThresholds]]) if path.exists() else {}


def find_row_thresholds(row: LeaderboardRow, thresholds: ThresholdsByRow) -> list[RowThresholds]:
    """Return the thresholds of each seed of a row; empty if a seed has none."""
    numbers = [parse_name_and_seed(Path(next(iter(seed.values())).name))[1] for seed in row.seeds]
    found = [thresholds.get(row.name, {}).get(number) for number in numbers]
    return [one for one in found if one] if all(found) else []


def to_float_threshold(threshold: float | None) -> float:
    """Return a threshold as a number: infinity for None (no question is answered)."""
    return math.inf if threshold is None else threshold


def select_distinct_aqs(benchmark: Benchmark) -> dict[str, Items]:
    """Select the AQs of each subset, without AQs that an earlier subset has.

    Several subsets may have the same question about the same image.
    """
    asked: set[tuple[object, object]] = set()
    found = {}
    for subset, items in benchmark.subsets.items():
        first = items.answerable
        for place in np.flatnonzero(first).tolist():
            pair = items["image"][place], items["question_text"][place] or items["id"][place]
            first[place] = pair not in asked
            asked.add(pair)
        found[subset] = items.select(first)
    return found


def stack_confidence_and_accuracy(
    aqs: Mapping[str, Items], seed: Mapping[str, Predictions]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence and accuracy of all AQs, [n] each."""
    parts = [
        join_row_predictions(items, seed[subset], ScoringOptions())
        for subset, items in aqs.items()
        if len(items)
    ]
    return np.concatenate([one.confidence for one in parts]), np.concatenate([one.correct for one in parts])


def compute_selective_scores(
    aqs: Mapping[str, Items], seed: Mapping[str, Predictions], thresholds: RowThresholds
) -> dict[str, float]:
    """Compute the scores of a seed by the keys of `COLUMN_TITLES`.

    The risk is NaN if no question is answered.
    """
    confidence, accuracy = stack_confidence_and_accuracy(aqs, seed)
    taken = confidence >= to_float_threshold(thresholds.at_risk[VALIDATION_RISK])
    return {
        "accuracy": float(accuracy.mean()),
        "auc": risk_coverage_auc(confidence, accuracy),
        **{f"c@{risk:g}": float(coverage_at_risk(confidence, accuracy, risk)) for risk in RISK_LEVELS},
        "coverage": float(taken.mean()),
        "risk": 1 - float(accuracy[taken].mean()) if taken.any() else math.nan,
        **{
            f"phi_{cost}": effective_reliability(
                confidence, accuracy, cost=float(cost), threshold=to_float_threshold(thresholds.at_cost[cost])
            )
            for cost in COST_LEVELS
        },
    }


class SelectiveTable(NamedTuple):
    """The table of selective prediction.

    Attributes:
        num_aqs: Number of AQs.
        rows: Row -> scores of each seed, sorted by the area under the risk-coverage curve.
    """

    num_aqs: int
    rows: dict[str, list[dict[str, float]]]

    @property
    def table(self) -> list[list[str]]:
        """Return the table in percent with a header.

        If a row has several seeds, its cells have the mean and the range.
        """
        lines = [
            [name, *(_format_cell([seed[column] for seed in seeds]) for column in COLUMN_TITLES)]
            for name, seeds in self.rows.items()
        ]
        return [["row", *COLUMN_TITLES.values()], *lines]


def make_selective_table(
    benchmark: Benchmark, rows: Sequence[LeaderboardRow], thresholds: ThresholdsByRow
) -> SelectiveTable:
    """Create the table of the rows that have all subsets, and thresholds for each seed."""
    aqs, found = select_distinct_aqs(benchmark), {}
    for row in rows:
        of_seeds = find_row_thresholds(row, thresholds)
        if of_seeds and row.seeds[0].keys() == benchmark.subsets.keys():
            found[row.name] = [
                compute_selective_scores(aqs, *pair) for pair in zip(row.seeds, of_seeds, strict=True)
            ]
    in_order = sorted(found.items(), key=lambda one: np.mean([seed["auc"] for seed in one[1]]))
    return SelectiveTable(sum(map(len, aqs.values())), dict(in_order))


def _format_cell(values: Sequence[float]) -> str:
    """Format the mean over seeds and their range in percent; "-" if a seed has no value.

    >>> _format_cell([0.1, 0.3]), _format_cell([0.25]), _format_cell([0.1, math.nan])
    ('20.0 (10.0 to 30.0)', '25.0', '-')
    """
    if not np.isfinite(values).all():
        return "-"
    spread = f" ({100 * min(values):.1f} to {100 * max(values):.1f})" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{spread}"
