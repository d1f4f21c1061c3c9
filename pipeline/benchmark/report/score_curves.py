"""What the plots of a model show, as rows of numbers: curves with bands, bins, histograms, scores by category."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from pipeline.scoring import acc_fpr_curve, reliability_table, risk_coverage_curve
from pipeline.scoring.bootstrap import bootstrap, number_clusters, percentile_intervals
from pipeline.scoring.joined_predictions import Answered, Options
from pipeline.scoring.selective_prediction import has_enough_answers
from pipeline.scoring.subgroups import by_group, few
from pipeline.scoring.threshold_sweep import ranking, share

POINTS = 500  # of a curve, evenly thinned, first and last kept: more cannot be seen
GRID = 101  # places of FPR at which a band is drawn
BINS = 30  # of a histogram
RELIABILITY_BINS = 15

Row = dict[Hashable, Any]


def acc_fpr(at: Answered, options: Options) -> list[Row]:
    """The ACC-FPR curve: x, y, and `place` along it; none where a kind of item is missing."""
    acc, fpr = acc_fpr_curve(*at.columns)
    return _line(fpr, acc) if np.isfinite(acc).all() and np.isfinite(fpr).all() else []


def acc_band(at: Answered, options: Options) -> list[Row]:
    """The 95 % band of ACC at each FPR (x, low, high), pictures resampled; none without repetitions.

    ACC at an FPR is the highest that is reached without more UQs accepted. It holds for each FPR, not for all at once.
    """
    if not options.bootstrap or at.answerable.all() or not at.answerable.any():
        return []
    by = ranking(*at.columns)
    count, (place,) = number_clusters([at.items.clusters.tolist()])
    grid = np.linspace(0, 1, GRID)
    places, memory = place[by.rows], by.sums()

    def acc_at_fpr(counts: np.ndarray) -> np.ndarray:
        repeated = []
        for row in counts:
            swept = by.sweep(row[places], memory)
            acc, fpr = share(swept.right, swept.aqs[-1:]), share(swept.uqs, swept.uqs[-1:])
            repeated.append(np.interp(grid, fpr, acc))
        return np.array(repeated)

    repeated = bootstrap(acc_at_fpr, count, options.bootstrap, options.seed, num_rows=len(places))
    bounds = percentile_intervals(repeated).T
    known = np.isfinite(bounds).all(axis=1)  # of few pictures, draws that lack a label leave no interval
    return _rows(x=grid[known], low=bounds[known, 0], high=bounds[known, 1])


def risk_coverage(at: Answered, options: Options) -> list[Row]:
    """Risk over coverage: x, y, and `place` along it, from `FEW_ANSWERS` on: before, it is noise."""
    coverage, risk, _ = risk_coverage_curve(at.confidence, at.correct)
    enough = has_enough_answers(coverage, len(at.items))
    return _line(coverage[enough], risk[enough])


def reliability(at: Answered, options: Options) -> list[Row]:
    """For each outcome (`of`) and bin the mean confidence x, the share that came true y, and how many items there are;
    none where confidences are no probabilities."""
    given = at.at(~at.missing)
    if given.confidence.min() < 0 or given.confidence.max() > 1:
        return []
    outcomes = {"the question is answerable": given.answerable, "the answer is right": given.correct}
    rows = []
    for of, happened in outcomes.items():
        if of != "the question is answerable" or not given.answerable.all():
            items, said, true = reliability_table(given.confidence, happened, bins=RELIABILITY_BINS).T
            rows += _rows(of=of, items=items, x=said, y=true, place=np.arange(len(items)))
    return rows


def confidences(at: Answered, options: Options) -> list[Row]:
    """How many AQs and UQs have a confidence from `from` to `to`, of those that have an answer."""
    given = at.at(~at.missing)
    edges = np.histogram_bin_edges(given.confidence, BINS)
    rows = []
    for kind, which in (("answerable (AQ)", given.answerable), ("unanswerable (UQ)", ~given.answerable)):
        counts, _ = np.histogram(given.confidence[which], edges)
        rows += _rows(**{"kind": kind, "from": edges[:-1], "to": edges[1:], "items": counts})
    return rows


def by_category(at: Answered, options: Options) -> list[Row]:
    """AUAF of each category (`kind`, with its number of UQs): x, and its interval low to high; of few UQs x is None."""
    slices = by_group(at, options._replace(by=("category",)))
    return [*_categories(slices.get("category", {}))]


def _categories(rows: dict[str, dict[str, Any]]) -> Iterator[Row]:
    for kind, row in rows.items():
        low, high = row["intervals"].get("auaf", (np.nan, np.nan))
        shown = None if few(row, "auaf") or np.isnan(row["auaf"]) else row["auaf"]
        bounds = {"low": low, "high": high} if np.isfinite([low, high]).all() else {}
        if bounds or shown is not None:
            yield {"kind": f"{kind} ({row['uqs']:,} UQs)", "x": shown, **bounds}


def _line(x: np.ndarray, y: np.ndarray) -> list[Row]:
    kept = np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int)
    return _rows(place=kept, x=x[kept], y=y[kept])


def _rows(**columns: Any) -> list[Row]:
    return pd.DataFrame(columns).to_dict("records")
