"""What the plots of a model show, as rows of numbers: curves with bands, bins, histograms, scores by category."""

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

MAX_CURVE_POINTS = 500  # of a curve, evenly thinned, first and last kept: more cannot be seen
NUM_FPR_POINTS = 101  # places of FPR at which a band is drawn
NUM_HISTOGRAM_BINS = 30  # of a histogram
NUM_RELIABILITY_BINS = 15

PlotRow = dict[Hashable, Any]


def compute_acc_fpr(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """The ACC-FPR curve: x, y, and `place` along it; none where a kind of item is missing."""
    acc, fpr = acc_fpr_curve(*predictions.metric_inputs)
    return _curve_rows(fpr, acc) if np.isfinite(acc).all() and np.isfinite(fpr).all() else []


def compute_acc_band(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """The 95 % band of ACC at each FPR (x, low, high), images resampled; none without repetitions.

    ACC at an FPR is the highest that is reached without more UQs accepted. It holds for each FPR, not for all at once.
    """
    if not options.bootstrap or predictions.answerable.all() or not predictions.answerable.any():
        return []
    by = rank_items(*predictions.metric_inputs)
    count, (place,) = number_clusters([predictions.items.clusters.tolist()])
    grid = np.linspace(0, 1, NUM_FPR_POINTS)
    places, memory = place[by.rows], by.allocate_sums()

    def acc_at_fpr(counts: np.ndarray) -> np.ndarray:
        repeated = []
        for row in counts:
            swept = by.sweep(row[places], memory)
            acc, fpr = (
                safe_divide_arrays(swept.correct, swept.aqs[-1:]),
                safe_divide_arrays(swept.uqs, swept.uqs[-1:]),
            )
            repeated.append(np.interp(grid, fpr, acc))
        return np.array(repeated)

    repeated = bootstrap(acc_at_fpr, count, options.bootstrap, options.seed, num_rows=len(places))
    bounds = percentile_intervals(repeated).T
    known = np.isfinite(bounds).all(axis=1)  # of few images, draws that lack a label leave no interval
    return _to_rows(x=grid[known], low=bounds[known, 0], high=bounds[known, 1])


def compute_risk_coverage(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """Risk over coverage: x, y, and `place` along it, from `FEW_ANSWERS` on: before, it is noise."""
    coverage, risk, _ = risk_coverage_curve(predictions.confidence, predictions.correct)
    enough = has_enough_answers(coverage, len(predictions.items))
    return _curve_rows(coverage[enough], risk[enough])


def compute_reliability(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """For each outcome (`of`) and bin the mean confidence x, the share that came true y, and how many items there are;
    none where confidences are no probabilities."""
    given = predictions.select(~predictions.missing)
    if given.confidence.min() < 0 or given.confidence.max() > 1:
        return []
    outcomes = {"the question is answerable": given.answerable, "the answer is right": given.correct}
    rows = []
    for of, happened in outcomes.items():
        if of != "the question is answerable" or not given.answerable.all():
            items, said, true = reliability_table(given.confidence, happened, num_bins=NUM_RELIABILITY_BINS).T
            rows += _to_rows(of=of, items=items, x=said, y=true, place=np.arange(len(items)))
    return rows


def compute_confidence_histograms(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """How many AQs and UQs have a confidence from `from` to `to`, of those that have an answer."""
    given = predictions.select(~predictions.missing)
    edges = np.histogram_bin_edges(given.confidence, NUM_HISTOGRAM_BINS)
    rows = []
    for kind, which in (("answerable (AQ)", given.answerable), ("unanswerable (UQ)", ~given.answerable)):
        counts, _ = np.histogram(given.confidence[which], edges)
        rows += _to_rows(**{"kind": kind, "from": edges[:-1], "to": edges[1:], "items": counts})
    return rows


def compute_auaf_by_category(predictions: JoinedPredictions, options: ScoringOptions) -> list[PlotRow]:
    """AUAF of each category (`kind`, with its number of UQs): x, and its interval low to high; of few UQs x is None."""
    slices = score_subgroups(predictions, options._replace(group_by=("category",)))
    return [*_category_rows(slices.get("category", {}))]


def _category_rows(rows: dict[str, dict[str, Any]]) -> Iterator[PlotRow]:
    for kind, row in rows.items():
        low, high = row["intervals"].get("auaf", (np.nan, np.nan))
        shown = None if has_too_few_items(row, "auaf") or np.isnan(row["auaf"]) else row["auaf"]
        bounds = {"low": low, "high": high} if np.isfinite([low, high]).all() else {}
        if bounds or shown is not None:
            yield {"kind": f"{kind} ({row['uqs']:,} UQs)", "x": shown, **bounds}


def _curve_rows(x: np.ndarray, y: np.ndarray) -> list[PlotRow]:
    kept = np.linspace(0, len(x) - 1, min(len(x), MAX_CURVE_POINTS)).round().astype(int)
    return _to_rows(place=kept, x=x[kept], y=y[kept])


def _to_rows(**columns: Any) -> list[PlotRow]:
    return pd.DataFrame(columns).to_dict("records")
