"""Compute the data of the score plots as rows.

The data are curves with bands, reliability bins, histograms, and scores by category.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from pipeline.scoring import acc_fpr_curve, reliability_table, risk_coverage_curve
from pipeline.scoring.bootstrap import bootstrap, number_clusters, percentile_intervals
from pipeline.scoring.joined_predictions import JoinedPredictions, ScoringOptions
from pipeline.scoring.selective_prediction import has_enough_answers
from pipeline.scoring.subgroups import has_too_few_items, score_subgroups
from pipeline.scoring.threshold_sweep import rank_items, safe_divide_arrays

# Maximum number of points of a curve. Longer curves are thinned evenly and keep their first and last point.
# More points would not be visible.
MAX_CURVE_POINTS = 500
# Number of FPR values at which a band is computed.
NUM_FPR_POINTS = 101
NUM_HISTOGRAM_BINS = 30
NUM_RELIABILITY_BINS = 15

PlotRow = dict[Hashable, Any]


def compute_acc_fpr(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the points x, y of the ACC-FPR curve with their `order`.

    ACC is the proportion of answerable questions (AQs) that are accepted and answered correctly. FPR is the
    proportion of unanswerable questions (UQs) that are accepted. The result is [] without AQs or without UQs.
    """
    acc, fpr = acc_fpr_curve(*predictions.metric_inputs)
    return _curve_rows(fpr, acc) if np.isfinite(acc).all() and np.isfinite(fpr).all() else []


def compute_acc_band(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the pointwise 95 % band of the ACC-FPR curve as rows (x, low, high).

    The band comes from a cluster bootstrap over images. ACC at an FPR is the highest value that is reached
    without accepting more UQs. The result is [] without bootstrap replicates, without AQs or without UQs.
    """
    if not options.bootstrap or predictions.answerable.all() or not predictions.answerable.any():
        return []
    ranked = rank_items(*predictions.metric_inputs)
    count, (cluster,) = number_clusters([predictions.items.clusters.tolist()])
    grid = np.linspace(0, 1, NUM_FPR_POINTS)
    clusters, memory = cluster[ranked.rows], ranked.allocate_sums()

    def acc_at_fpr(counts: np.ndarray) -> np.ndarray:
        curves = []
        for row in counts:
            swept = ranked.sweep(row[clusters], memory)
            acc, fpr = (
                safe_divide_arrays(swept.correct, swept.aqs[-1:]),
                safe_divide_arrays(swept.uqs, swept.uqs[-1:]),
            )
            curves.append(np.interp(grid, fpr, acc))
        return np.array(curves)

    curves = bootstrap(acc_at_fpr, count, options.bootstrap, options.seed, num_rows=len(clusters))
    bounds = percentile_intervals(curves).T
    # With few images, replicates without one of the labels leave some points without an interval.
    known = np.isfinite(bounds).all(axis=1)
    return _to_rows(x=grid[known], low=bounds[known, 0], high=bounds[known, 1])


def compute_risk_coverage(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the points x, y of the risk-coverage curve with their `order`.

    Points with fewer than `MIN_ANSWERS` answers are left out.
    """
    coverage, risk, _ = risk_coverage_curve(predictions.confidence, predictions.correct)
    enough = has_enough_answers(coverage, len(predictions.items))
    return _curve_rows(coverage[enough], risk[enough])


def compute_reliability(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the mean confidence x, the observed rate y and the number of items for each `outcome` and bin.

    The result is [] if confidences are not probabilities.
    """
    given = predictions.select(~predictions.missing)
    if given.confidence.min() < 0 or given.confidence.max() > 1:
        return []
    outcomes = {"the question is answerable": given.answerable, "the answer is right": given.correct}
    rows = []
    for outcome, occurred in outcomes.items():
        if outcome != "the question is answerable" or not given.answerable.all():
            items, confidence, rate = reliability_table(
                given.confidence, occurred, num_bins=NUM_RELIABILITY_BINS
            ).T
            rows += _to_rows(outcome=outcome, items=items, x=confidence, y=rate, order=np.arange(len(items)))
    return rows


def compute_confidence_histograms(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the number of AQs and of UQs with a confidence between `from` and `to`.

    Only items with a prediction are counted.
    """
    given = predictions.select(~predictions.missing)
    edges = np.histogram_bin_edges(given.confidence, NUM_HISTOGRAM_BINS)
    rows = []
    for kind, which in (("answerable (AQ)", given.answerable), ("unanswerable (UQ)", ~given.answerable)):
        counts, _ = np.histogram(given.confidence[which], edges)
        rows += _to_rows(**{"kind": kind, "from": edges[:-1], "to": edges[1:], "items": counts})
    return rows


def compute_auaf_by_category(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Return the AUAF x of each category and its interval.

    `kind` is the category with its number of UQs. x is None for a category with too few UQs.
    """
    slices = score_subgroups(predictions, options._replace(group_by=("category",)))
    return [*_category_rows(slices.get("category", {}))]


def _category_rows(rows: dict[str, dict[str, Any]]) -> Iterator[PlotRow]:
    for kind, row in rows.items():
        low, high = row["intervals"].get("auaf", (np.nan, np.nan))
        auaf = None if has_too_few_items(row, "auaf") or np.isnan(row["auaf"]) else row["auaf"]
        bounds = {"low": low, "high": high} if np.isfinite([low, high]).all() else {}
        if bounds or auaf is not None:
            yield {"kind": f"{kind} ({row['uqs']:,} UQs)", "x": auaf, **bounds}


def _curve_rows(x: np.ndarray, y: np.ndarray) -> list[PlotRow]:
    kept = np.linspace(0, len(x) - 1, min(len(x), MAX_CURVE_POINTS)).round().astype(int)
    return _to_rows(order=kept, x=x[kept], y=y[kept])


def _to_rows(**columns: Any) -> list[PlotRow]:
    return pd.DataFrame(columns).to_dict("records")
