"""The board for people, for notebooks, and as metrics: leaderboard.md, leaderboard.csv, leaderboard.json."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.pages import render
from pipeline.leaderboard.board import Board
from pipeline.leaderboard.paired_scores import MEAN, SCORES, Measured, RowScores
from pipeline.leaderboard.ranks import BY
from pipeline.leaderboard.selection_table import SelectionTable
from pipeline.scorers.text_table import heading, percent, span

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).parent
COLUMNS = [
    *("row", "kind", "seeds", "confidence", "subset", "category", "score", "value", "low", "high"),
    *("lowest_seed", "highest_seed", "rank", "difference", "difference_low", "difference_high"),
]
DECIMALS = 6


def board_markdown(board: Board, folder: Path, selection: SelectionTable | None = None) -> str:
    """leaderboard.md. `folder` is where predictions files go."""
    return render(
        HERE / "leaderboard.md.jinja",
        {"plain": plain, "table": table},
        board=board,
        basis=board.basis,
        folder=folder,
        ours=sum(one.row.ours for one in board.rows),
        mean=score_table(board, MEAN),
        subsets={subset: score_table(board, subset) for subset in board.basis.counts},
        kinds={subset: kind_table(board, subset) for subset in board.basis.counts},
        selection=selection,
        selected=[[plain(name), *cells] for name, *cells in selection.table] if selection else [],
    )


def score_table(board: Board, place: str) -> list[list[str]]:
    """The rows that have a score in a subset, or in all, with their ranks; the head first."""
    rows = [one for one in board.rows if place in one.places]
    against = board.against and any(board.change(one, place) for one in rows)
    head = ["rank", "row", *map(heading, SCORES)]
    if against:
        head.insert(3, f"AUAF minus {plain(board.against)}")
    lines = []
    for one in rows:
        line = [rank_of(board, one, place), named(one), *(cell(one.places[place][score]) for score in SCORES)]
        if chosen := one.row.chosen_by_it if place == MEAN else {place} & {*one.row.chosen_by_it}:
            line[2] += f" *{', '.join(chosen) + ' ' if place == MEAN else ''}chosen by it*"
        if against:
            change = board.change(one, place)
            line.insert(3, with_span(points(change.difference, "+"), change.interval) if change else "-")
        lines.append(line)
    return [head, *lines]


def kind_table(board: Board, subset: str) -> list[list[str]]:
    """AUAF against each kind of UQ of a subset, of all rows that stand there; nothing where no kind has enough."""
    rows, kinds = [one for one in board.rows if subset in one.places], board.basis.counts[subset].kinds
    head = ["row", *(f"{plain(kind)} ({count:,})" for kind, count in kinds.items())]
    lines = [[named(one), *(cell(one.kinds[subset][kind]) for kind in kinds)] for one in rows]
    return [head, *lines] if kinds else []


def rank_of(board: Board, one: RowScores, place: str) -> str:
    """A model's rank, "-" for a reference."""
    return str(board.ranks[place].get(one.row.name, "-"))


def named(one: RowScores) -> str:
    """A row's name; references are set apart."""
    return f"*{plain(one.row.name)} (reference)*" if one.row.kind == "reference" else plain(one.row.name)


def cell(score: Measured) -> str:
    """A score in percent, its interval, and the range of several seeds."""
    seeds = score.seeds
    spread = f" ({points(seeds.min())} to {points(seeds.max())})" if len(seeds) > 1 else ""
    return with_span(points(score.value), score.interval) + spread


def with_span(text: str, bounds: tuple[float, float] | None) -> str:
    """A number and its interval."""
    return text + span(bounds, 1).replace("  ", " ")


def points(share: float, sign: str = "") -> str:
    """In percent, with one decimal, as intervals have it."""
    return f"{100 * share:{sign}z.1f}" if math.isfinite(share) else percent(share)


def plain(text: str) -> str:
    """Any text as it is, in Markdown on one line: no mark in it is read as one."""
    one_line = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text)
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(one_line, quote=False))


def table(rows: Sequence[Sequence[str]], lefts: int) -> str:
    """A table in Markdown, its head first; the first columns to the left, the others to the right."""
    head, *lines = rows
    marks = ["---" if place < lefts else "--:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *lines])


def board_frame(board: Board) -> pd.DataFrame:
    """A row for each row of the board, subset ("mean" for that over all) and score, and for AUAF each category and each
    difficulty of UQs (column `category`, else empty). Shares from 0 to 1; `low` and `high` are the interval, `difference` is that to the row compared with."""
    import pandas as pd

    frame = pd.DataFrame([*_records(board)], columns=pd.Index(COLUMNS))
    return frame.astype({"rank": "Int64"}).round(DECIMALS)


def _records(board: Board) -> Iterator[tuple[object, ...]]:
    nothing = (math.nan, math.nan, math.nan)
    for one in board.rows:
        what = one.row.name, one.row.kind, len(one.row.seeds), one.row.confidence
        for place, scores in one.places.items():
            for score, measured in scores.items():
                change = board.change(one, place) if score == BY else None
                compared = (change.difference, *(change.interval or nothing[:2])) if change else nothing
                rank = board.ranks[place].get(one.row.name) if score == BY else None
                yield (*what, place, "", score, *_numbers(measured), rank, *compared)
        for subset, kinds in one.kinds.items():
            for kind, measured in kinds.items():
                yield (*what, subset, kind, BY, *_numbers(measured), None, *nothing)


def _numbers(measured: Measured) -> tuple[float, ...]:
    return measured.value, *measured.interval, float(measured.seeds.min()), float(measured.seeds.max())


def board_metrics(board: Board) -> dict[str, dict[str, float | int | None]]:
    """Of each row that has all subsets its rank, mean scores, AUAF's interval and AUAF by subset."""
    metrics: dict[str, dict[str, float | int | None]] = {}
    for one in board.rows:
        if MEAN in one.places:
            low, high = one.places[MEAN][BY].interval
            shares = {score: measured.value for score, measured in one.places[MEAN].items()}
            shares |= {"auaf_low": low, "auaf_high": high}
            shares |= {
                f"auaf_{place}": scores[BY].value for place, scores in one.places.items() if place != MEAN
            }
            rounded = {
                name: None if math.isnan(value) else round(value, DECIMALS) for name, value in shares.items()
            }
            metrics[one.row.name] = {"rank": board.ranks[MEAN].get(one.row.name), **rounded}
    return metrics
