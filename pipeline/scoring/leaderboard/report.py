"""The leaderboard as Markdown, as an HTML page, as CSV, and as metrics for DVC."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import CONTROLS, counted
from pipeline.core.rendering import escape_markdown, markdown_table, render
from pipeline.scoring.compared_items import ComparedItems
from pipeline.scoring.leaderboard.leaderboard import Board
from pipeline.scoring.leaderboard.pairwise_comparison import Measured
from pipeline.scoring.leaderboard.row_scores import MEAN, SCORES, RowScores
from pipeline.scoring.leaderboard.selective_table import SelectionTable
from pipeline.scoring.model_comparison import Difference, sentence
from pipeline.scoring.text_report import heading, percent, span

HERE = Path(__file__).parent
COLUMNS = (
    *("row", "kind", "seeds", "confidence", "subset", "category", "score", "value", "low", "high"),
    *("lowest_seed", "highest_seed", "rank", "lowest_rank", "letters"),
    *("difference", "difference_low", "difference_high", "items", "missing"),
)
DECIMALS = 6
Cells = list[str]


def board_markdown(
    board: Board,
    folder: Path | None = None,
    selection: SelectionTable | None = None,
    whole: bool = True,
) -> str:
    """The leaderboard in Markdown.

    Args:
        folder: Where predictions files go that become rows; None for a table of results that somebody named.
        selection: The table of selective answering, if there is one.
        whole: Whether all scores of each subset and each kind of question are shown, or the ranking score of each subset.
    """
    return render(
        HERE / "leaderboard.md.jinja",
        {"table": markdown_table},
        board=board,
        basis=board.basis,
        by=heading(board.by),
        folder=folder,
        ours=sum(one.row.ours for one in board.rows),
        places=[
            (place, score_table(board, place)) for place in (board.places if whole else board.places[:1])
        ],
        by_subset=[] if whole or len(board.places) == 1 else subset_table(board),
        kinds={subset: kind_table(board, subset) for subset in board.basis.counts},
        notes=[escape_markdown(note) for note in notes(board)],
        selection=selection,
        selected=[[escape_markdown(name), *cells] for name, *cells in selection.table] if selection else [],
    )


def score_table(board: Board, place: str) -> list[Cells]:
    """The rows that have a score at a place, in its order, with their ranks and letters; the head first."""
    rows = board.rows_at(place)
    comparison = board.comparisons[place]
    against = any(board.change(one.row, place) for one in rows)
    several = len(comparison.names) > 1
    head = ["rank", *["letters"] * several, "row", *map(heading, SCORES)]
    difference = head.index(heading(board.by)) + 1
    if against:
        head.insert(difference, f"{heading(board.by)} minus {escape_markdown(board.against)}")
    lines = []
    for one in rows:
        cells = [cell(one.places[place][score]) for score in SCORES]
        if chosen := one.row.chosen_by_it if place == MEAN else {place} & {*one.row.chosen_by_it}:
            cells[0] += f" *{', '.join(chosen) + ' ' if place == MEAN else ''}chosen by it*"
        letters = [comparison.letters.get(one.row.name, "")] * several
        line = [rank_of(board, one, place), *letters, named(one), *cells]
        if against:
            change = board.change(one.row, place)
            line.insert(
                difference, with_span(points(change.difference, "+"), change.interval) if change else "-"
            )
        lines.append(line)
    return [head, *lines]


def subset_table(board: Board) -> list[Cells]:
    """The ranking score of each row in each subset, in the order of the mean; the head first."""
    subsets = [*board.basis.counts]
    lines = [
        [
            named(one),
            *(cell(one.places[subset][board.by]) if subset in one.places else "-" for subset in subsets),
        ]
        for one in board.rows
    ]
    return [["row", *map(escape_markdown, subsets)], *lines]


def kind_table(board: Board, subset: str) -> list[Cells]:
    """AUAF against each kind of UQ of a subset, of all rows that stand there; nothing where no kind has enough."""
    rows, kinds = board.rows_at(subset), board.basis.counts[subset].kinds
    head = ["row", *(f"{escape_markdown(kind)} ({count:,})" for kind, count in kinds.items())]
    lines = [[named(one), *(cell(one.kinds[subset][kind]) for kind in kinds)] for one in rows]
    return [head, *lines] if kinds else []


def notes(board: Board) -> Iterator[str]:
    """What is to be known of these rows: the difference of two models in words, and items that were not asked or answered."""
    first = board.places[0]
    comparison = board.comparisons[first]
    if len(comparison.names) == 2:
        one, other = comparison.names
        changes = {first: {board.by: comparison.differences[one, other]}}
        yield f"{sentence(Difference(one, other, changes), first, board.by)}."
    compared = sum(counts.aqs + counts.uqs for counts in board.basis.counts.values())
    whole = {one.row.name: max(one.row.available, sum(one.items.values())) for one in board.rows}
    asked = ComparedItems(compared, max(whole.values(), default=compared), whole).sentence
    if asked:
        yield f"{asked[0].upper()}{asked[1:]}."
    for one in board.rows:
        if missing := sum(one.missing.values()):
            yield (
                f"{one.row.name}: {missing:,} of {counted(sum(one.items.values()), 'item')} without an answer, counted as answered wrong."
            )


def rank_of(board: Board, one: RowScores, place: str) -> str:
    """The ranks that a model may have, "-" for a reference."""
    rank = board.rank(one.row, place)
    return "-" if rank is None else f"{rank[0]}" if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def named(one: RowScores) -> str:
    """A row's name; references are set apart."""
    return (
        f"*{escape_markdown(one.row.name)} (reference)*"
        if one.row.kind == "reference"
        else escape_markdown(one.row.name)
    )


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


def board_csv(board: Board) -> str:
    """A line for each row of the leaderboard, subset ("mean" for that over all) and score, and for AUAF each category and each
    difficulty of UQs (column `category`, else empty). Shares from 0 to 1, empty where undefined. `low` and `high` are the
    interval, `rank` and `lowest_rank` the best and the worst rank, `difference` is that to the row compared with."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in _records(board):
        writer.writerow(["" if isinstance(value, float) and math.isnan(value) else value for value in record])
    return file.getvalue()


def _records(board: Board) -> Iterator[list[object]]:
    nothing = (math.nan, math.nan, math.nan)
    for one in board.rows:
        row = one.row
        about = [unformula(row.name), row.kind, len(row.seeds), unformula(row.confidence)]
        totals = sum(one.items.values()), sum(one.missing.values())
        for place, scores in one.places.items():
            counts = totals if place == MEAN else (one.items[place], one.missing[place])
            for score, measured in scores.items():
                compared, ranks = nothing, ("", "", "")
                if score == board.by:
                    rank, letters = board.rank(row, place), board.comparisons[place].letters
                    ranks = (*(rank or ("", "")), letters.get(row.name, ""))
                    if change := board.change(row, place):
                        compared = (change.difference, *(change.interval or nothing[:2]))
                yield [
                    *(*about, place, "", score, *_numbers(measured), *ranks),
                    *(_rounded(value) for value in compared),
                    *counts,
                ]
        for subset, kinds in one.kinds.items():
            for kind, measured in kinds.items():
                yield [*about, subset, kind, "auaf", *_numbers(measured), "", "", "", *nothing, "", ""]


def _numbers(measured: Measured) -> list[float]:
    values = measured.value, *measured.interval, float(measured.seeds.min()), float(measured.seeds.max())
    return [*map(_rounded, values)]


def _rounded(value: float) -> float:
    return round(value, DECIMALS)


def unformula(text: str) -> str:
    """A text that a spreadsheet takes for no formula."""
    text = CONTROLS.sub("", text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def board_metrics(board: Board) -> dict[str, dict[str, float | int | None]]:
    """Of each row that has all subsets its best and lowest rank, mean scores, AUAF's interval and AUAF by subset."""
    metrics: dict[str, dict[str, float | int | None]] = {}
    for one in board.rows:
        if MEAN in one.places:
            low, high = one.places[MEAN][board.by].interval
            shares = {score: measured.value for score, measured in one.places[MEAN].items()}
            shares |= {f"{board.by}_low": low, f"{board.by}_high": high}
            shares |= {
                f"{board.by}_{place}": scores[board.by].value
                for place, scores in one.places.items()
                if place != MEAN
            }
            rounded = {name: None if math.isnan(value) else _rounded(value) for name, value in shares.items()}
            best, worst = board.rank(one.row, MEAN) or (None, None)
            metrics[one.row.name] = {"rank": best, "lowest_rank": worst, **rounded}
    return metrics


def board_html(board: Board) -> str:
    """A page of its own: nothing in it is fetched, all texts are escaped."""
    first = board.places[0]
    rows, letters = board.rows_at(first), board.comparisons[first].letters
    ends = [
        end
        for one in rows
        for end in (one.places[first][board.by].value, *one.places[first][board.by].interval)
        if math.isfinite(end)
    ] or [0.0, 1.0]
    low, high = math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10
    scale = _Scale(low, high if high > low else low + 0.1)
    filters: Mapping[str, Any] = {
        "heading": heading,
        "x": scale.x,
        "points": points,
        "span": lambda bounds: span(bounds, 1).strip(),
        "cell": cell,
    }
    return render(
        HERE / "leaderboard.html.jinja",
        filters,
        board=board,
        basis=board.basis,
        first=first,
        rows=rows,
        ranks={one.row.name: rank_of(board, one, first) for one in rows},
        letters={one.row.name: letters.get(one.row.name, "") for one in rows} if len(letters) > 1 else {},
        scores=SCORES,
        notes=[*notes(board)],
        scale=scale,
        isfinite=math.isfinite,
    )


class _Scale(NamedTuple):
    """Of the small drawings of intervals."""

    low: float
    high: float
    width: int = 160

    def x(self, value: float) -> str:
        """Where a share lies, in pixels of the drawing."""
        return f"{4 + (self.width - 8) * (value - self.low) / (self.high - self.low):.1f}"
