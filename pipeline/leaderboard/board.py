"""The board: every row's scores in their order, and what they rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from pipeline.core.files import read_json
from pipeline.core.params import Params, Seed
from pipeline.core.records import Record
from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.paired_scores import MEAN, RowScores, kinds_of, measure
from pipeline.leaderboard.ranks import BY, change, ranks
from pipeline.releasing.check_release import released
from pipeline.scorers.answered import Options
from pipeline.scorers.differences import Change
from pipeline.scorers.items import Benchmark, Items


class LeaderboardParams(Params):
    """Parameters of the leaderboard.

    Attributes:
        against: the row whose AUAF is taken off every other's; where there is no such row, nothing is.
        repetitions: draws of pictures. seed: theirs.
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
    """What the board rests on: the release, how its verdicts came about, how much of it is scored, and the draws.

    Attributes:
        counts: by subset. pictures: of all subsets together.
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
    """Attributes:
    rows: models by falling mean AUAF, then those that lack a subset, then references, also by AUAF.
    ranks: by place, of each model that has a score there. against: the row that others are compared with, "" for none.
    """

    basis: Basis
    rows: list[RowScores]
    ranks: dict[str, dict[str, int]]
    against: str

    def change(self, row: RowScores, place: str) -> Change | None:
        """AUAF minus that of the row that others are compared with; None for itself and where either has none."""
        other = next((one for one in self.rows if one.row.name == self.against), None)
        if other is None or other is row or not {place} <= row.places.keys() & other.places.keys():
            return None
        return change(row.places[place][BY], other.places[place][BY])


class _Told(Record, forbid_unknown_fields=False):
    title: str
    origin: str


class _ReleaseRecord(Record, forbid_unknown_fields=False):
    """What a release's params.json says of it."""

    version: str
    release: _Told


def board(release: Path, benchmark: Benchmark, rows: Sequence[BoardRow], p: LeaderboardParams) -> Board:
    """Score rows on a release, rank the models among them, and order all."""
    options = Options(bootstrap=p.repetitions, seed=p.seed)
    scored = sorted(measure(benchmark, rows, options), key=_order)
    names = [one.row.name for one in scored]
    return Board(
        basis(release, benchmark, p.repetitions),
        scored,
        {place: ranks(scored, place) for place in (MEAN, *benchmark.subsets)},
        p.against if p.against in names else "",
    )


def basis(release: Path, benchmark: Benchmark, repetitions: int) -> Basis:
    """What is scored of a release, and what is known of it."""
    record = read_json(release / "params.json", _ReleaseRecord)
    judged = [(item.simulated, item.rehearsal) for item in released(release)]
    scored = benchmark.subsets
    parts = {part for items in scored.values() for part in items["part"]}
    return Basis(
        title=f"{record.release.title} {record.version}",
        origin=record.release.origin,
        simulated=any(simulated for simulated, _ in judged),
        rehearsal=any(rehearsal for _, rehearsal in judged),
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


def _order(one: RowScores) -> tuple[bool, bool, float, str]:
    reached = one.places[MEAN][BY].value if MEAN in one.places else math.nan
    return one.row.kind == "reference", math.isnan(reached), -np.nan_to_num(reached), one.row.name
