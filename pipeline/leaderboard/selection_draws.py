"""Scores of answering selectively on a thousand draws of pictures at once: C@R, the area under risk over coverage, and Phi_c
(Whitehead et al., ECCV 2022, section 3.2).

The numbers are those of `pipeline.scorers.selective` on items of which each stands there as often as its picture is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pipeline.leaderboard.board import LeaderboardParams
from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.directions import AQS, LOW_RISK
from pipeline.leaderboard.paired_scores import Measured
from pipeline.leaderboard.paper_figures import Cell
from pipeline.leaderboard.selection_table import (
    Chosen,
    RowThresholds,
    columns_of,
    distinct_aqs,
    number,
    thresholds_of,
)
from pipeline.scorers.bootstrap import clusters, draws
from pipeline.scorers.items import Benchmark
from pipeline.scorers.selective import earned
from pipeline.scorers.sweep import SLACK, ranking

SELECTORS = ("maxprob", "vector_scaling", "selector")
RISKS = (0.01, 0.05)
Thresholds = Mapping[
    float, float
]  # by cost, the confidence from which on to answer; infinite: answer nothing


def selection_cells(
    benchmark: Benchmark,
    rows: Iterable[BoardRow],
    chosen: Chosen,
    p: LeaderboardParams,
) -> dict[Cell, Measured]:
    """What the directions of selective answering need, of the rows that are there and have all subsets: on the distinct AQs.

    Args:
        chosen: thresholds for Phi_c of each row's seeds, chosen elsewhere.
    """
    aqs = distinct_aqs(benchmark)
    pictures = np.concatenate([items.clusters for items in aqs.values()]).tolist()
    count, (picture,) = clusters([pictures])
    drawn = np.array([np.ones(count, int), *draws(count, range(p.repetitions), p.seed)])
    found: dict[Cell, Measured] = {}
    for row in rows:
        if row.name not in SELECTORS or not aqs.keys() <= row.seeds[0].keys():
            continue
        told = thresholds_of(row, chosen) or [RowThresholds(at_risk={}, at_cost={})] * len(row.seeds)
        seeds = [
            selective_on_draws(*columns_of(aqs, seed), picture, drawn, costs_of(one))
            for seed, one in zip(row.seeds, told, strict=True)
        ]
        for score in (name for name, _ in LOW_RISK if name in seeds[0]):
            values = np.array([seed[score] for seed in seeds])
            found[row.name, AQS, score] = Measured(values[:, 0], values[:, 1:].mean(axis=0))
    return found


def costs_of(thresholds: RowThresholds) -> Thresholds:
    """By cost, the confidence from which on to answer."""
    return {float(cost): number(at) for cost, at in thresholds.at_cost.items()}


def selective_on_draws(
    confidence: np.ndarray,
    accuracy: np.ndarray,
    picture: np.ndarray,
    drawn: np.ndarray,
    thresholds: Thresholds,
) -> dict[str, np.ndarray]:
    """C@R, AUC, and Phi_c at each threshold, by the names that directions use, [repetitions] each.

    Args:
        confidence, accuracy, picture: [n]. drawn: [repetitions, pictures], how often each is drawn, some at least once.
    """
    by = ranking(confidence, accuracy, np.ones(len(accuracy), bool))
    ends = np.arange(len(by.rows) + 1) if by.ends is None else by.ends
    counts = drawn.T[picture[by.rows]].astype(float)
    weigh = np.vstack([np.zeros(len(drawn)), counts.cumsum(axis=0)])[ends]
    wrong = counts * (1 - accuracy[by.rows][:, None])
    losses = np.vstack([np.zeros(len(drawn)), wrong.cumsum(axis=0)])[ends]
    items = weigh[-1]
    found = {"auc": _area(weigh, losses)}
    for risk in RISKS:
        within = losses <= (risk + SLACK) * weigh
        found[f"coverage_at_risk/{risk:g}"] = np.where(within, weigh, 0).max(axis=0) / items
    for cost, threshold in thresholds.items():
        worth = np.where(confidence >= threshold, earned(accuracy, cost), 0.0)[by.rows]
        found[f"effective_reliability/{cost:g}"] = worth @ counts / items
    return found


def _area(weigh: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """As `selective.risk_coverage_auc`: the sum over k of the risk when k items are answered. Inside of a tie, and so
    among copies of an item, losses rise evenly: from `t` items with `l` lost on, `s` more with `d` lost add up to the
    sum over j = 1 to s of (l + d j / s) / (t + j) = l D + d / s (s - t D), D the sum of 1 / (t + j)."""
    items = weigh[-1]
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, int(items.max()) + 1)))
    more, lost, start = np.diff(weigh, axis=0), np.diff(losses, axis=0), weigh[:-1]
    inverse = harmonic[weigh[1:].astype(int)] - harmonic[start.astype(int)]
    each = np.divide(lost, more, out=np.zeros_like(lost), where=more > 0)
    total = (losses[:-1] * inverse + each * (more - start * inverse)).sum(axis=0)
    first = each[(more > 0).argmax(axis=0), np.arange(len(items))]
    return (total - (first + losses[-1] / items) / 2) / items
