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
from pipeline.scoring.joined_predictions import Options
from pipeline.scoring.leaderboard.pairwise_comparison import Comparison, compare
from pipeline.scoring.leaderboard.row_scores import MEAN, RowScores, kinds_of, measure
from pipeline.scoring.leaderboard.rows import BoardRow
from pipeline.scoring.model_comparison import Change, lower_is_better

# The score that rows are ranked by, unless another is asked for.
BY = "auaf"


class LeaderboardParams(Params):
    """Parameters of the leaderboard.

    Attributes:
        against: The row whose score is subtracted from every other model's; if there is no such row, nothing is.
        repetitions: Replicates of the bootstrap.
        seed: Of the bootstrap.
    """

    against: str = "msp"
    repetitions: Annotated[int, msgspec.Meta(ge=100, le=100_000)] = 1000
    seed: Seed = 0


class PlaceCounts(NamedTuple):
    """What is scored in a subset; `kinds` are the UQs of each category and difficulty, those that are many enough for a score."""

    aqs: int
    uqs: int
    pictures: int
    kinds: dict[str, int]


class Basis(NamedTuple):
    """What the leaderboard rests on: the release, how its verdicts came about, how much of it is scored, and the replicates.

    Attributes:
        counts: By subset.
        pictures: Of all subsets together.
    """

    title: str
    origin: str
    simulated: bool
    rehearsal: bool
    part: str
    counts: dict[str, PlaceCounts]
    pictures: int
    repetitions: int


class Board(NamedTuple):
    """The leaderboard.

    Attributes:
        rows: Models, best mean first, then those that lack a subset, then references, also by their mean.
        comparisons: By place ("mean", or a subset), the models that have a score there, compared with each other.
        against: The row that others are compared with, "" for none.
        by: The score that rows are ordered, ranked and compared by.
    """

    basis: Basis
    rows: list[RowScores]
    comparisons: dict[str, Comparison]
    against: str
    by: str = BY

    @property
    def places(self) -> list[str]:
        """The places that have a table: the mean of several subsets, and each subset."""
        subsets = [*self.basis.counts]
        return [MEAN, *subsets] if len(subsets) > 1 else subsets

    @property
    def models(self) -> list[str]:
        """The names of the rows that are compared."""
        return [one.row.name for one in self.rows if one.row.kind == "model"]

    def rows_at(self, place: str) -> list[RowScores]:
        """The rows that have a score at a place: models best first, then references best first."""
        there = [one for one in self.rows if place in one.places]
        return sorted(there, key=lambda one: _order(one, place, self.by))

    def rank(self, row: BoardRow, place: str) -> tuple[int, int] | None:
        """The best and the worst rank that a row may have at a place; None for a reference, and without a score."""
        return self.comparisons[place].ranks.get(row.name)

    def change(self, row: BoardRow, place: str) -> Change | None:
        """The score of a model minus that of the one that others are compared with; None for itself and for references."""
        return self.comparisons[place].difference(row.name, self.against) if self.against else None


class _ReleaseTexts(Record, forbid_unknown_fields=False):
    origin: str = ""


class _ReleaseRecord(Record, forbid_unknown_fields=False):
    """What a release's params.json says of it."""

    release: _ReleaseTexts = _ReleaseTexts()


class _Verdict(Record, forbid_unknown_fields=False):
    simulated: bool = False
    rehearsal: bool = False


class _Provenance(Record, forbid_unknown_fields=False):
    """What a release's provenance.jsonl says of the verdict on an item."""

    item: _Verdict = _Verdict()


def board(
    release: Path, benchmark: Benchmark, rows: Sequence[BoardRow], p: LeaderboardParams, by: str = BY
) -> Board:
    """Score rows on a release, compare the models among them, and order all.

    Args:
        release: The release's folder.
        benchmark: The items that are scored.
        rows: Models and references; missing predictions count as wrong.
        p: The replicates, and the row to compare with.
        by: The score that rows are ordered, ranked and compared by.
    """
    options = Options(bootstrap=p.repetitions, seed=p.seed, missing="wrong")
    scored = sorted(measure(benchmark, rows, options), key=lambda one: _order(one, MEAN, by))
    models = [one for one in scored if one.row.kind == "model"]
    comparisons = {
        place: compare(
            {one.row.name: one.places[place][by] for one in models if place in one.places},
            lower_is_better(by),
        )
        for place in (MEAN, *benchmark.subsets)
    }
    against = p.against if p.against in {one.row.name for one in models} else ""
    return Board(basis(release, benchmark, p.repetitions), scored, comparisons, against, by)


def basis(release: Path, benchmark: Benchmark, repetitions: int) -> Basis:
    """What is scored of a release, and what is known of it."""
    params, provenance = release / "params.json", release / "provenance.jsonl"
    record = read_json(params, _ReleaseRecord) if params.exists() else _ReleaseRecord()
    verdicts = [row.item for row in read_jsonl(provenance, _Provenance)] if provenance.exists() else []
    scored = benchmark.subsets
    parts = {part for items in scored.values() for part in items["part"]}
    return Basis(
        title=benchmark.full_name,
        origin=record.release.origin,
        simulated=any(one.simulated for one in verdicts),
        rehearsal=any(one.rehearsal for one in verdicts),
        part=" and ".join(sorted(parts - {""})),
        counts={name: counted(items) for name, items in scored.items()},
        pictures=len({picture for items in scored.values() for picture in items.clusters.tolist()}),
        repetitions=repetitions,
    )


def counted(items: Items) -> PlaceCounts:
    """What there is of each sort."""
    answerable = items.answerable
    kinds = {kind: int((which & ~answerable).sum()) for kind, which in kinds_of(items).items()}
    return PlaceCounts(
        int(answerable.sum()), int((~answerable).sum()), len({*items.clusters.tolist()}), kinds
    )


def _order(one: RowScores, place: str, by: str) -> tuple[bool, bool, float, str]:
    """Models before references, best first, undefined last."""
    places: Mapping[str, object] = one.places
    reached = one.places[place][by].value if place in places else math.nan
    sign = 1 if lower_is_better(by) else -1
    return (
        one.row.kind == "reference",
        math.isnan(reached),
        sign * float(np.nan_to_num(reached)),
        one.row.name,
    )
