"""Score every row of the leaderboard, on the data and on the same bootstrap samples of images.

The score of a row with several seeds is the mean over seeds, both on the data and on every replicate. Each
seed is scored separately on the same replicate. Additional seeds add no images, so they do not narrow the
part of an interval that is due to the number of images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.progress import track
from pipeline.scoring.bootstrap import bootstrap_batches, number_clusters
from pipeline.scoring.bootstrap_scores import make_realistic_statistic
from pipeline.scoring.items import Benchmark, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import JoinedPredictions, Predictions, ScoringOptions
from pipeline.scoring.leaderboard.pairwise_comparison import ScoreEstimate
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.realistic_vqa import auaf, realistic_scores
from pipeline.scoring.subgroups import MIN_ITEMS, REPORTED_SCORES
from pipeline.scoring.threshold_sweep import rank_items

# Scope of the unweighted mean over subsets.
MEAN = "mean"


class RowScores(NamedTuple):
    """Scores of a row.

    Attributes:
        row: The row.
        scores: Scope -> the scores in `REPORTED_SCORES`. The scopes are the subsets, and "mean" if the row
            has all subsets.
        kind_scores: Subset -> category or difficulty -> AUAF of all AQs and the UQs of this kind. Kinds with
            too few UQs are omitted.
        num_items: Subset -> number of scored items.
        num_missing: Subset -> number of scored items for which the first seed has no prediction.
    """

    row: LeaderboardRow
    scores: dict[str, dict[str, ScoreEstimate]]
    kind_scores: dict[str, dict[str, ScoreEstimate]]
    num_items: dict[str, int]
    num_missing: dict[str, int]


def score_rows(
    benchmark: Benchmark, rows: Sequence[LeaderboardRow], options: ScoringOptions
) -> list[RowScores]:
    """Score each row on the subsets for which it has predictions.

    The images of all subsets are resampled together, in the same way for all rows, including rows with only
    some subsets.

    Args:
        benchmark: The scored items, without other items.
        rows: Rows with predictions for at least one subset.
        options: The number of replicates, the seed, and the treatment of missing predictions are used.
    """
    count, numbers = number_clusters([items.clusters.tolist() for items in benchmark.subsets.values()])
    images = dict(zip(benchmark.subsets, numbers, strict=True))
    seeds = [(row, seed) for row in rows for seed in row.seeds]
    measured = iter(
        [
            _score_seed(benchmark, seed, images, count, options)
            for _, seed in track(seeds, "leaderboard", unit="seed")
        ]
    )
    return [_combine_seeds(row, [next(measured) for _ in row.seeds]) for row in rows]


def make_kind_masks(items: Items) -> dict[str, np.ndarray]:
    """Return category or difficulty -> mask [n] of its UQs and all AQs, for each one with enough UQs."""
    answerable = items.answerable
    masks = {
        kind: answerable | (items[name] == kind)
        for name in ("category", "difficulty")
        for kind in sorted({*items[name][~answerable]} - {""})
    }
    enough = answerable.sum() >= MIN_ITEMS
    return {
        kind: which for kind, which in masks.items() if enough and (which & ~answerable).sum() >= MIN_ITEMS
    }


def join_row_predictions(
    items: Items, predictions: Predictions, options: ScoringOptions
) -> JoinedPredictions:
    """Join the scored items of a subset with the predictions of a row.

    If the predictions have no confidences, abstentions are detected in the answers.
    """
    return join_predictions(
        items, predictions, options._replace(split="all", detect_abstention=predictions.confidence is None)
    )


class _SeedScores(NamedTuple):
    """Scores of one seed.

    The value and the replicates are by (subset, category or difficulty or "", score). The number of items and
    the number of items without an answer are by subset.
    """

    scores: dict[tuple[str, str, str], tuple[float, np.ndarray]]
    subset_counts: dict[str, tuple[int, int]]


def _score_seed(
    benchmark: Benchmark,
    seed: Mapping[str, Predictions],
    images: Mapping[str, np.ndarray],
    num_clusters: int,
    options: ScoringOptions,
) -> _SeedScores:
    """Score one seed on each subset, and on each category and difficulty of UQs of the subset."""
    subsets = [name for name in benchmark.subsets if name in seed]
    joined = {name: join_row_predictions(benchmark.subsets[name], seed[name], options) for name in subsets}
    kinds = {name: make_kind_masks(at.items) for name, at in joined.items()}
    statistics = {
        name: make_realistic_statistic(
            rank_items(*at.metric_inputs), images[name], REPORTED_SCORES, kinds[name]
        )
        for name, at in joined.items()
    }
    batches = bootstrap_batches(
        lambda counts: {name: statistic(counts) for name, statistic in statistics.items()},
        num_clusters,
        options.bootstrap,
        options.seed,
        num_rows=max(map(len, images.values())),
    )
    found: dict[tuple[str, str, str], tuple[float, np.ndarray]] = {}
    for name, at in joined.items():
        values = realistic_scores(*at.metric_inputs)
        drawn = {
            score: np.concatenate([batch[name][score] for batch in batches]) for score in batches[0][name]
        }
        found |= {(name, "", score): (values[score], drawn[score]) for score in REPORTED_SCORES}
        for kind, which in kinds[name].items():
            value = auaf(*(column[which] for column in at.metric_inputs))
            found[name, kind, "auaf"] = value, drawn[f"auaf/{kind}"]
    if len(subsets) == len(benchmark.subsets):
        for score in REPORTED_SCORES:
            values, repeated = zip(*(found[name, "", score] for name in subsets), strict=True)
            found[MEAN, "", score] = float(np.mean(values)), np.mean(repeated, axis=0)
    return _SeedScores(found, {name: (len(at.items), int(at.missing.sum())) for name, at in joined.items()})


def _combine_seeds(row: LeaderboardRow, seeds: Sequence[_SeedScores]) -> RowScores:
    """Combine the scores of a row's seeds."""
    counts = seeds[0].subset_counts
    items, missing = ({name: count[place] for name, count in counts.items()} for place in (0, 1))
    scores = RowScores(row, {}, {}, items, missing)
    for subset, kind, score in seeds[0].scores:
        values, repeated = zip(*(seed.scores[subset, kind, score] for seed in seeds), strict=True)
        measured = ScoreEstimate(np.array(values), np.mean(repeated, axis=0))
        if kind:
            scores.kind_scores.setdefault(subset, {})[kind] = measured
        else:
            scores.scores.setdefault(subset, {})[score] = measured
    return scores
