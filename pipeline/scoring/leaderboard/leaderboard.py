"""Build the leaderboard: scores of every row, ranks, comparisons between models, and what was evaluated."""

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
from pipeline.scoring.leaderboard.label_noise import LabelNoise, add_label_noise
from pipeline.scoring.leaderboard.pairwise_comparison import PairwiseComparison, compare_models
from pipeline.scoring.leaderboard.row_scores import MEAN, RowScores, make_kind_masks, score_rows
from pipeline.scoring.leaderboard.rows import LeaderboardRow, mark_panel_models, read_panel_models
from pipeline.scoring.model_comparison import ScoreDifference, lower_is_better

# Default score by which rows are ranked.
DEFAULT_RANKING_SCORE = "auaf"


class LeaderboardParams(Params):
    """Parameters of stage `leaderboard`.

    Attributes:
        baseline: Name of the row whose score is subtracted from the scores of the other models. If there is
            no row with this name, differences are not shown.
        num_replicates: Number of bootstrap replicates, in which images are resampled.
        seed: Seed of the bootstrap.
    """

    baseline: str = "msp"
    num_replicates: Annotated[int, msgspec.Meta(ge=100, le=100_000)] = 1000
    seed: Seed = 0


class SubsetCounts(NamedTuple):
    """Numbers of scored items of a subset.

    Attributes:
        num_aqs, num_uqs, num_images: Numbers of AQs, UQs and images.
        num_uqs_by_kind: Category or difficulty -> its number of UQs, if there are enough UQs for a score.
    """

    num_aqs: int
    num_uqs: int
    num_images: int
    num_uqs_by_kind: dict[str, int]


class EvaluationInfo(NamedTuple):
    """What was evaluated: the release, the origin of its verdicts, the scored items, and the number of
    bootstrap replicates.

    Attributes:
        title: Name and version of the release.
        data_source: Where the images and questions of the release come from.
        is_simulated: Whether any verdict is simulated.
        is_rehearsal: Whether any verdict is simulated from incomplete graphs.
        split: The scored split, "" if the release has none.
        subset_counts: Subset -> numbers of items.
        num_images: Number of different images in all subsets.
        num_replicates: Number of bootstrap replicates.
        panel_models: Models that judged candidates of the release before people did.
    """

    title: str
    data_source: str
    is_simulated: bool
    is_rehearsal: bool
    split: str
    subset_counts: dict[str, SubsetCounts]
    num_images: int
    num_replicates: int
    panel_models: tuple[str, ...] = ()


class Leaderboard(NamedTuple):
    """The leaderboard.

    Attributes:
        info: What was evaluated.
        rows: First the models with all subsets, sorted by the mean over subsets (best first), then models
            without some subset, then references, sorted in the same way.
        comparisons: Scope ("mean" or a subset) -> comparison of the models that have a score in the scope.
        baseline: Row whose score is subtracted from the others, "" for none.
        ranking_score: Name of the score by which rows are sorted, ranked and compared.
        label_noise: What is known of the errors of the labels, if all intervals and comparisons include them; None otherwise.
        given_label_comparisons: The comparisons without the errors of the labels; empty if `label_noise` is None.
    """

    info: EvaluationInfo
    rows: list[RowScores]
    comparisons: dict[str, PairwiseComparison]
    baseline: str
    ranking_score: str = DEFAULT_RANKING_SCORE
    label_noise: LabelNoise | None = None
    given_label_comparisons: Mapping[str, PairwiseComparison] = {}

    @property
    def scopes(self) -> list[str]:
        """Return the scopes that have a table: "mean" (if there are several subsets) and each subset."""
        subsets = [*self.info.subset_counts]
        return [MEAN, *subsets] if len(subsets) > 1 else subsets

    @property
    def model_names(self) -> list[str]:
        """Return the names of the rows that are compared."""
        return [one.row.name for one in self.rows if one.row.kind == "model"]

    def rows_in_scope(self, scope: str) -> list[RowScores]:
        """Return the rows with a score in a scope: models, best first, then references, best first."""
        rows = [one for one in self.rows if scope in one.scores]
        return sorted(rows, key=lambda one: _sort_key(one, scope, self.ranking_score))

    def get_rank_interval(self, row: LeaderboardRow, scope: str) -> tuple[int, int] | None:
        """Return the best and the worst rank of a row in a scope; None for a reference or a row without a
        score.
        """
        return self.comparisons[scope].rank_intervals.get(row.name)

    def difference_to_baseline(self, row: LeaderboardRow, scope: str) -> ScoreDifference | None:
        """Return the score of a model minus that of the baseline; None for the baseline itself and for
        references.
        """
        return self.comparisons[scope].get_difference(row.name, self.baseline) if self.baseline else None


class _ReleaseSection(Record, forbid_unknown_fields=False):
    data_source: str = ""


class _ReleaseParams(Record, forbid_unknown_fields=False):
    """The part of a release's params.json that the leaderboard shows."""

    release: _ReleaseSection = _ReleaseSection()


class _Verdict(Record, forbid_unknown_fields=False):
    simulated: bool = False
    rehearsal: bool = False


class _Provenance(Record, forbid_unknown_fields=False):
    """The part of a release's provenance.jsonl that says how the verdict on an item was made."""

    item: _Verdict = _Verdict()


def build_leaderboard(
    release: Path,
    benchmark: Benchmark,
    rows: Sequence[LeaderboardRow],
    params: LeaderboardParams,
    ranking_score: str = DEFAULT_RANKING_SCORE,
    label_noise: LabelNoise | None = None,
) -> Leaderboard:
    """Score rows on a release, compare the models with each other, and sort all rows.

    Args:
        release: The release folder.
        benchmark: The items that are scored.
        rows: Models and references. Missing predictions count as wrong.
        params: Bootstrap parameters and the baseline.
        ranking_score: Name of the score by which rows are sorted, ranked and compared.
        label_noise: What is known of the errors of the labels, to include them in all intervals and comparisons.
    """
    options = ScoringOptions(bootstrap=params.num_replicates, seed=params.seed, missing="wrong")
    panel = read_panel_models(release)
    rows = mark_panel_models(rows, panel)
    scored = sorted(score_rows(benchmark, rows, options), key=lambda one: _sort_key(one, MEAN, ranking_score))
    scopes = (MEAN, *benchmark.subsets)
    comparisons, given = _compare_in_scopes(scored, scopes, ranking_score), dict[str, PairwiseComparison]()
    if label_noise:
        scored, given = add_label_noise(scored, benchmark, options, label_noise), comparisons
        comparisons = _compare_in_scopes(scored, scopes, ranking_score)
    models = {one.row.name for one in scored if one.row.kind == "model"}
    baseline = params.baseline if params.baseline in models else ""
    return Leaderboard(
        describe_evaluation(release, benchmark, params.num_replicates)._replace(panel_models=tuple(panel)),
        scored,
        comparisons,
        baseline,
        ranking_score,
        label_noise,
        given,
    )


def _compare_in_scopes(
    scored: Sequence[RowScores], scopes: Sequence[str], ranking_score: str
) -> dict[str, PairwiseComparison]:
    """Compare the models that have a score in each scope."""
    models = [one for one in scored if one.row.kind == "model"]
    return {
        scope: compare_models(
            {one.row.name: one.scores[scope][ranking_score] for one in models if scope in one.scores},
            lower_is_better(ranking_score),
        )
        for scope in scopes
    }


def describe_evaluation(release: Path, benchmark: Benchmark, num_replicates: int) -> EvaluationInfo:
    """Describe what is evaluated.

    Args:
        release: The release folder.
        benchmark: The items that are scored.
        num_replicates: Number of bootstrap replicates.
    """
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
    """Count the items of a subset."""
    answerable = items.answerable
    kinds = {kind: int((which & ~answerable).sum()) for kind, which in make_kind_masks(items).items()}
    return SubsetCounts(
        int(answerable.sum()), int((~answerable).sum()), len({*items.clusters.tolist()}), kinds
    )


def _sort_key(one: RowScores, scope: str, ranking_score: str) -> tuple[bool, bool, float, str]:
    """Sort models before references, best first, undefined scores last."""
    scopes: Mapping[str, object] = one.scores
    value = one.scores[scope][ranking_score].value if scope in scopes else math.nan
    sign = 1 if lower_is_better(ranking_score) else -1
    return (
        one.row.kind == "reference",
        math.isnan(value),
        sign * float(np.nan_to_num(value)),
        one.row.name,
    )
