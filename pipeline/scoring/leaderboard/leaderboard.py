"""The leaderboard: every row's scores in their order, who differs from whom, and what all of it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.params import Params, Seed
from pipeline.core.records import Record
from pipeline.scoring.items import Benchmark, Items
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.pairwise_comparison import PairwiseComparison, compare_models
from pipeline.scoring.leaderboard.row_scores import MEAN, RowScores, make_kind_masks, score_rows
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.model_comparison import ScoreDifference, lower_is_better

# The score that rows are ranked by, unless another is asked for.
DEFAULT_RANKING_SCORE = "auaf"


class LeaderboardParams(Params):
    """Parameters of stage `leaderboard`.

    Attributes:
        baseline: Row whose score is subtracted from every other model's score. Nothing is subtracted if
            there is no such row.
        num_replicates: Number of bootstrap replicates, in which images are resampled.
        seed: Seed of the bootstrap.
    """

    baseline: str = "msp"
    num_replicates: Annotated[int, msgspec.Meta(ge=100, le=100_000)] = 1000
    seed: Seed = 0


class SubsetCounts(NamedTuple):
    """What is scored in a subset; `kinds` are the UQs of each category and difficulty, those that are many enough for a score."""

    num_aqs: int
    num_uqs: int
    num_images: int
    num_uqs_by_kind: dict[str, int]


class EvaluationInfo(NamedTuple):
    """What the leaderboard rests on: the release, how its verdicts came about, how much of it is scored, and the replicates.

    Attributes:
        counts: By subset.
        images: Of all subsets together.
    """

    title: str
    data_source: str
    is_simulated: bool
    is_rehearsal: bool
    split: str
    subset_counts: dict[str, SubsetCounts]
    num_images: int
    num_replicates: int


class Leaderboard(NamedTuple):
    """The leaderboard.

    Attributes:
        rows: Models, best mean first, then those that lack a subset, then references, also by their mean.
        comparisons: By place ("mean", or a subset), the models that have a score there, compared with each other.
        against: The row that others are compared with, "" for none.
        by: The score that rows are ordered, ranked and compared by.
    """

    info: EvaluationInfo
    rows: list[RowScores]
    comparisons: dict[str, PairwiseComparison]
    baseline: str
    ranking_score: str = DEFAULT_RANKING_SCORE

    @property
    def scopes(self) -> list[str]:
        """The places that have a table: the mean of several subsets, and each subset."""
        subsets = [*self.info.subset_counts]
        return [MEAN, *subsets] if len(subsets) > 1 else subsets

    @property
    def model_names(self) -> list[str]:
        """The names of the rows that are compared."""
        return [one.row.name for one in self.rows if one.row.kind == "model"]

    def rows_in_scope(self, scope: str) -> list[RowScores]:
        """The rows that have a score at a place: models best first, then references best first."""
        there = [one for one in self.rows if scope in one.scores]
        return sorted(there, key=lambda one: _sort_key(one, scope, self.ranking_score))

    def get_rank_interval(self, row: LeaderboardRow, scope: str) -> tuple[int, int] | None:
        """The best and the worst rank that a row may have at a place; None for a reference, and without a score."""
        return self.comparisons[scope].rank_intervals.get(row.name)

    def difference_to_baseline(self, row: LeaderboardRow, scope: str) -> ScoreDifference | None:
        """The score of a model minus that of the one that others are compared with; None for itself and for references."""
        return self.comparisons[scope].get_difference(row.name, self.baseline) if self.baseline else None


class _ReleaseSection(Record, forbid_unknown_fields=False):
    data_source: str = ""


class _ReleaseParams(Record, forbid_unknown_fields=False):
    """What a release's params.json says of it."""

    release: _ReleaseSection = _ReleaseSection()


class _Verdict(Record, forbid_unknown_fields=False):
    simulated: bool = False
    rehearsal: bool = False


class _Provenance(Record, forbid_unknown_fields=False):
    """What a release's provenance.jsonl says of the verdict on an item."""

    item: _Verdict = _Verdict()


def build_leaderboard(
    release: Path,
    benchmark: Benchmark,
    rows: Sequence[LeaderboardRow],
    params: LeaderboardParams,
    ranking_score: str = DEFAULT_RANKING_SCORE,
) -> Leaderboard:
    """Score rows on a release, compare the models among them, and order all.

    Args:
        release: The release's folder.
        benchmark: The items that are scored.
        rows: Models and references; missing predictions count as wrong.
        p: The replicates, and the row to compare with.
        by: The score that rows are ordered, ranked and compared by.
    """
    options = ScoringOptions(bootstrap=params.num_replicates, seed=params.seed, missing="wrong")
    scored = sorted(score_rows(benchmark, rows, options), key=lambda one: _sort_key(one, MEAN, ranking_score))
    models = [one for one in scored if one.row.kind == "model"]
    comparisons = {
        place: compare_models(
            {one.row.name: one.scores[place][ranking_score] for one in models if place in one.scores},
            lower_is_better(ranking_score),
        )
        for place in (MEAN, *benchmark.subsets)
    }
    against = params.baseline if params.baseline in {one.row.name for one in models} else ""
    return Leaderboard(
        describe_evaluation(release, benchmark, params.num_replicates),
        scored,
        comparisons,
        against,
        ranking_score,
    )


def describe_evaluation(release: Path, benchmark: Benchmark, num_replicates: int) -> EvaluationInfo:
    """What is scored of a release, and what is known of it."""
    params, provenance = release / "params.json", release / "provenance.jsonl"
    record = read_json(params, _ReleaseParams) if params.exists() else _ReleaseParams()
    verdicts = [row.item for row in read_jsonl(provenance, _Provenance)] if provenance.exists() else []
    scored = benchmark.subsets
    splits = {split for items in scored.values() for split in items["split"]}
    return EvaluationInfo(
        title=benchmark.full_name,
        data_source=record.release.data_source,
        is_simulated=any(one.simulated for one in verdicts),
        is_rehearsal=any(one.rehearsal for one in verdicts),
        split=" and ".join(sorted(splits - {""})),
        subset_counts={name: count_items(items) for name, items in scored.items()},
        num_images=len({image for items in scored.values() for image in items.clusters.tolist()}),
        num_replicates=num_replicates,
    )


def count_items(items: Items) -> SubsetCounts:
    """What there is of each sort."""
    answerable = items.answerable
    kinds = {kind: int((which & ~answerable).sum()) for kind, which in make_kind_masks(items).items()}
    return SubsetCounts(
        int(answerable.sum()), int((~answerable).sum()), len({*items.clusters.tolist()}), kinds
    )


def _sort_key(one: RowScores, scope: str, ranking_score: str) -> tuple[bool, bool, float, str]:
    """Models before references, best first, undefined last."""
    places: Mapping[str, object] = one.scores
    reached = one.scores[scope][ranking_score].value if scope in places else math.nan
    sign = 1 if lower_is_better(ranking_score) else -1
    return (
        one.row.kind == "reference",
        math.isnan(reached),
        sign * float(np.nan_to_num(reached)),
        one.row.name,
    )
