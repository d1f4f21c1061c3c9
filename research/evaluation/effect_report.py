"""The papers' directions on the rows that are there: what each comes to here, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.rendering import escape_markdown, markdown_table, render
from pipeline.scoring.leaderboard.pairwise_comparison import Measured
from pipeline.scoring.leaderboard.report import points, with_span
from pipeline.scoring.leaderboard.row_scores import RowScores
from research.evaluation.expected_effects import DIRECTIONS, GAIN, SCORES, Direction, Verdict, judge
from research.evaluation.published_scores import Cell

HERE = Path(__file__).parent
DECIMALS = 6
Extra = Mapping[Cell, Measured]  # scores beside those of the board, on the same draws of pictures


class Judged(NamedTuple):
    """A direction on our rows. `found`: the difference, None where something that it needs is not there. `why`: what keeps it
    from being shown here."""

    direction: Direction
    found: Measured | None
    verdict: Verdict
    why: str = ""


def judged(
    rows: Sequence[RowScores], extra: Extra | None = None, directions: Iterable[Direction] = DIRECTIONS
) -> list[Judged]:
    """Every direction, in the order of the table.

    Args:
        rows: the board's. extra: further scores of rows, as those of selective answering.
    """
    cells = {
        (one.row.name, place, score): measured
        for one in rows
        for place, scores in one.places.items()
        for score, measured in scores.items()
    } | dict(extra or {})
    ours = {one.row.name for one in rows if one.row.ours}
    return [_judged(direction, cells, ours) for direction in directions]


def _judged(direction: Direction, cells: Mapping[Cell, Measured], ours: set[str]) -> Judged:
    lacking = [cell for cell in direction.cells if cell not in cells]
    if lacking:
        there = {row for row, _, _ in cells}
        rows = [row for row in direction.rows if row not in there]
        row, place, score = lacking[0]
        missing = f"row {' and '.join(rows)}" if rows else f"{SCORES[score]} ({place}) of row {row}"
        return Judged(direction, None, "cannot show here", f"there is no {missing}")
    found = difference(direction, cells)
    if direction.cannot and ours.issuperset(direction.rows):
        return Judged(direction, found, "cannot show here", direction.cannot)
    return Judged(direction, found, judge(direction.side, direction.within, *found.interval))


def difference(direction: Direction, cells: Mapping[Cell, Measured]) -> Measured:
    """The difference in the data and on every draw; `seeds` are those of its seeds in turn, or its mean alone where the
    rows have not the same number of seeds."""
    terms = [(by, cells[cell]) for cell, by in direction.cells.items()]
    drawn = np.sum([by * one.drawn for by, one in terms], axis=0) + direction.shift
    alike = len({len(one.seeds) for _, one in terms}) == 1
    seeds = [by * (one.seeds if alike else np.array([one.value])) for by, one in terms]
    return Measured(np.sum(seeds, axis=0) + direction.shift, drawn)


def directions_markdown(found: Sequence[Judged], title: str) -> str:
    """directions.md."""
    groups: dict[str, list[Judged]] = {}
    for one in found:
        groups.setdefault(one.direction.group, []).append(one)
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in _VERDICTS}
    notes = dict.fromkeys(one.direction.note for one in found if one.direction.note)
    numbers = {note: number for number, note in enumerate(notes, 1)}
    head = ["direction", "source", "paper", "here", "seeds", "verdict"]
    return render(
        HERE / "directions.md.jinja",
        {"table": markdown_table},
        title=title,
        counts=counts,
        gain=f"{100 * GAIN:g}",
        groups={name: [head, *(_line(one, numbers) for one in group)] for name, group in groups.items()},
        notes=numbers,
    )


_VERDICTS: tuple[Verdict, ...] = ("shown", "not shown", "opposite shown", "cannot show here")


def _line(one: Judged, notes: Mapping[str, int]) -> list[str]:
    direction, found = one.direction, one.found
    margin = f" (margin {100 * direction.within:.2f})" if direction.within else ""
    note = f" [{notes[direction.note]}]" if direction.note else ""
    papers = ", ".join(f"{net} {100 * value:+.2f}" for net, value in direction.papers.items())
    here = with_span(points(found.value, "+"), found.interval) if found else "-"
    several = found is not None and len(found.seeds) > 1
    seeds = (
        f"{points(found.seeds.min(), '+')} to {points(found.seeds.max(), '+')}" if found and several else "-"
    )
    why = f", because {escape_markdown(one.why)}" if one.why else ""
    verdict = f"**{one.verdict}**{why}" if one.verdict == "shown" else one.verdict + why
    return [
        escape_markdown(direction.claim) + margin + note,
        escape_markdown(direction.source),
        papers or "-",
        here,
        seeds,
        verdict,
    ]


def directions_rows(found: Sequence[Judged]) -> list[dict[str, object]]:
    """directions.json: an object for each direction; differences are shares, null where there is none."""
    return [
        {
            "direction": one.direction.claim,
            "source": one.direction.source,
            "side": one.direction.side,
            "margin": round(one.direction.within, DECIMALS),
            "paper": {net: round(value, DECIMALS) for net, value in one.direction.papers.items()},
            **_numbers(one.found),
            "verdict": one.verdict,
            "because": one.why,
        }
        for one in found
    ]


def _numbers(found: Measured | None) -> dict[str, float | None]:
    names = ("difference", "low", "high", "lowest_seed", "highest_seed")
    if found is None:
        return dict.fromkeys(names)
    values = (found.value, *found.interval, float(found.seeds.min()), float(found.seeds.max()))
    return {
        name: None if math.isnan(value) else round(value, DECIMALS)
        for name, value in zip(names, values, strict=True)
    }
