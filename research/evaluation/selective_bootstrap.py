"""Bootstrap the scores of selective prediction: C@R, the area under the risk-coverage curve, and Phi_c.

Source: Whitehead et al., ECCV 2022, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pipeline.scoring.bootstrap import bootstrap_batches, cluster_mean, number_clusters
from pipeline.scoring.bootstrap_scores import ScoreColumns, make_risk_coverage_statistic
from pipeline.scoring.items import Benchmark
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.leaderboard.selective_table import (
    RowThresholds,
    ThresholdsByRow,
    find_row_thresholds,
    select_distinct_aqs,
    stack_confidence_and_accuracy,
    to_float_threshold,
)
from pipeline.scoring.selective_prediction import (
    compute_utility,
    coverage_at_risk,
    effective_reliability,
    risk_coverage_auc,
)
from research.evaluation.expected_effects import ALL_AQS, SELECTIVE_SCORE_ALTERNATIVES
from research.evaluation.published_scores import ScoreKey

SELECTOR_ROWS = ("maxprob", "vector_scaling", "selector")
RISK_LEVELS = (0.01, 0.05)
# Cost -> threshold. Questions with at least this confidence are answered; infinity means that none is
# answered.
CostThresholds = Mapping[float, float]


def score_selectors(
    benchmark: Benchmark,
    rows: Iterable[LeaderboardRow],
    thresholds: ThresholdsByRow,
    params: LeaderboardParams,
) -> dict[ScoreKey, ScoreEstimate]:
    """Compute the scores of selective prediction that the expected effects need, on the distinct AQs.

    Args:
        benchmark: The scored items.
        rows: Rows of the leaderboard. Rows in `SELECTOR_ROWS` that have all subsets are scored.
        thresholds: Row -> seed -> thresholds for Phi_c, which were chosen on other data.
        params: Parameters of the bootstrap.
    """
    aqs = select_distinct_aqs(benchmark)
    images = np.concatenate([items.clusters for items in aqs.values()]).tolist()
    count, (cluster,) = number_clusters([images])
    found: dict[ScoreKey, ScoreEstimate] = {}
    for row in rows:
        if row.name not in SELECTOR_ROWS or not aqs.keys() <= row.seeds[0].keys():
            continue
        no_thresholds = [RowThresholds(at_risk={}, at_cost={})] * len(row.seeds)
        of_seeds = find_row_thresholds(row, thresholds) or no_thresholds
        seeds = [
            bootstrap_selective_scores(
                *stack_confidence_and_accuracy(aqs, seed), cluster, count, get_cost_thresholds(one), params
            )
            for seed, one in zip(row.seeds, of_seeds, strict=True)
        ]
        for score in (name for name, _ in SELECTIVE_SCORE_ALTERNATIVES if name in seeds[0]):
            values, replicates = zip(*(seed[score] for seed in seeds), strict=True)
            found[row.name, ALL_AQS, score] = ScoreEstimate(np.array(values), np.mean(replicates, axis=0))
    return found


def bootstrap_selective_scores(
    confidence: np.ndarray,
    accuracy: np.ndarray,
    cluster: np.ndarray,
    num_clusters: int,
    thresholds: CostThresholds,
    params: LeaderboardParams,
) -> dict[str, tuple[float, np.ndarray]]:
    """Compute C@R, AUC, and Phi_c at each threshold, with their bootstrap replicates.

    Args:
        confidence, accuracy, cluster: [n] each: confidence, accuracy in [0, 1] and cluster index of each
            item.
        num_clusters: Number of clusters.
        thresholds: Cost -> threshold. Questions with at least this confidence are answered.
        params: Parameters of the bootstrap.

    Returns:
        Score name (as in the expected effects) -> the score and its bootstrap replicates.
    """
    names = [f"effective_reliability/{cost:g}" for cost in thresholds]
    worth = [
        np.where(confidence >= at, compute_utility(accuracy, cost), 0.0) for cost, at in thresholds.items()
    ]
    means = cluster_mean(np.array(worth).T.reshape(len(cluster), len(names)), cluster)
    on_counts = make_risk_coverage_statistic(confidence, accuracy, cluster, RISK_LEVELS)

    def scores(counts: np.ndarray) -> ScoreColumns:
        return {**on_counts(counts), **dict(zip(names, means(counts).T, strict=True))}

    batches = bootstrap_batches(
        scores, num_clusters, params.num_replicates, params.seed, num_rows=len(cluster)
    )
    values = {
        "auc": risk_coverage_auc(confidence, accuracy),
        **{
            f"coverage_at_risk/{risk}": float(coverage_at_risk(confidence, accuracy, risk))
            for risk in RISK_LEVELS
        },
        **{
            name: effective_reliability(confidence, accuracy, cost=cost, threshold=at)
            for name, (cost, at) in zip(names, thresholds.items(), strict=True)
        },
    }
    return {
        name: (value, np.concatenate([batch[name] for batch in batches])) for name, value in values.items()
    }


def get_cost_thresholds(thresholds: RowThresholds) -> CostThresholds:
    """Return cost -> threshold of a seed."""
    return {float(cost): to_float_threshold(at) for cost, at in thresholds.at_cost.items()}
