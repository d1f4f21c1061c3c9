"""Scores of answering selectively on resampled images: C@R, the area under risk over coverage, and Phi_c (Whitehead et al., ECCV
2022, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pipeline.scoring.bootstrap import bootstrap_batches, cluster_mean, number_clusters
from pipeline.scoring.bootstrap_scores import Columns, risk_coverage_on_counts
from pipeline.scoring.items import Benchmark
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams
from pipeline.scoring.leaderboard.pairwise_comparison import Measured
from pipeline.scoring.leaderboard.rows import BoardRow
from pipeline.scoring.leaderboard.selective_table import (
    Chosen,
    RowThresholds,
    columns_of,
    distinct_aqs,
    number,
    thresholds_of,
)
from pipeline.scoring.selective_prediction import (
    coverage_at_risk,
    earned,
    effective_reliability,
    risk_coverage_auc,
)
from research.evaluation.expected_effects import AQS, LOW_RISK
from research.evaluation.published_scores import Cell

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
    images = np.concatenate([items.clusters for items in aqs.values()]).tolist()
    count, (cluster,) = number_clusters([images])
    found: dict[Cell, Measured] = {}
    for row in rows:
        if row.name not in SELECTORS or not aqs.keys() <= row.seeds[0].keys():
            continue
        told = thresholds_of(row, chosen) or [RowThresholds(at_risk={}, at_cost={})] * len(row.seeds)
        seeds = [
            selective_scores(*columns_of(aqs, seed), cluster, count, costs_of(one), p)
            for seed, one in zip(row.seeds, told, strict=True)
        ]
        for score in (name for name, _ in LOW_RISK if name in seeds[0]):
            values, drawn = zip(*(seed[score] for seed in seeds), strict=True)
            found[row.name, AQS, score] = Measured(np.array(values), np.mean(drawn, axis=0))
    return found


def selective_scores(
    confidence: np.ndarray,
    accuracy: np.ndarray,
    cluster: np.ndarray,
    count: int,
    thresholds: Thresholds,
    p: LeaderboardParams,
) -> dict[str, tuple[float, np.ndarray]]:
    """C@R, AUC, and Phi_c at each threshold, by the names that directions use: the score, and the replicates.

    Args:
        confidence, accuracy, cluster: [n] each.
        count: How many clusters there are.
        thresholds: By cost, the confidence from which on to answer.
        p: The replicates.
    """
    names = [f"effective_reliability/{cost:g}" for cost in thresholds]
    worth = [np.where(confidence >= at, earned(accuracy, cost), 0.0) for cost, at in thresholds.items()]
    means = cluster_mean(np.array(worth).T.reshape(len(cluster), len(names)), cluster)
    on_counts = risk_coverage_on_counts(confidence, accuracy, cluster, RISKS)

    def scores(counts: np.ndarray) -> Columns:
        return {**on_counts(counts), **dict(zip(names, means(counts).T, strict=True))}

    batches = bootstrap_batches(scores, count, p.repetitions, p.seed, num_rows=len(cluster))
    values = {
        "auc": risk_coverage_auc(confidence, accuracy),
        **{f"coverage_at_risk/{risk}": float(coverage_at_risk(confidence, accuracy, risk)) for risk in RISKS},
        **{
            name: effective_reliability(confidence, accuracy, cost=cost, threshold=at)
            for name, (cost, at) in zip(names, thresholds.items(), strict=True)
        },
    }
    return {
        name: (value, np.concatenate([batch[name] for batch in batches])) for name, value in values.items()
    }


def costs_of(thresholds: RowThresholds) -> Thresholds:
    """By cost, the confidence from which on to answer."""
    return {float(cost): number(at) for cost, at in thresholds.at_cost.items()}
