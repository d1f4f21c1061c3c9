"""`rgqa report --compare A B`: item by item what two rows of the leaderboard said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import content_key, write_text
from pipeline.core.pages import page_of, render
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Picture
from pipeline.leaderboard.board import basis
from pipeline.leaderboard.board_rows import BoardRow, benchmark_of, every_row
from pipeline.leaderboard.paired_scores import answered
from pipeline.reporting.gallery import MOST, SMALL, data_uri
from pipeline.scorers.answered import Answered, Options
from pipeline.scorers.items import BenchmarkItem

HERE = Path(__file__).parent


class SaidOfItem(NamedTuple):
    """What a row said of an item. `surer_than`: the share of the subset's other items that have a lower confidence.
    `good`: a UQ rejected, or an AQ accepted and answered right."""

    answer: str
    confidence: float
    surer_than: float
    accepted: bool
    right: bool
    good: bool


class ItemPair(NamedTuple):
    """An item with what each of the two rows said of it."""

    item: BenchmarkItem
    said: tuple[SaidOfItem, SaidOfItem]


Outcome = tuple[bool, bool]  # good of the first row, of the second
Cell = dict[tuple[str, Outcome], list[ItemPair]]  # ("UQ" or "AQ", outcome) -> items
OUTCOMES: tuple[Outcome, ...] = ((True, False), (False, True), (True, True), (False, False))


def compare(names: tuple[str, str], out: Path | None = None, cards: int = 12) -> Path:
    """Write the page that sets two rows of the data set in use beside each other, and return its path, data/<data
    set>/compare.html if none is given.

    Args:
        cards: items of each subset that are shown, 0 to 25.

    Raises:
        UserError: there is no release, no such row, no subset that both have, or there are too many cards.
    """
    if not 0 <= cards <= MOST:
        raise UserError(f"--gallery is {cards}, wanted 0 to {MOST} items of each subset")
    folders = Folders()
    out = page_of(folders, out, "compare.html")
    release = folders.release(params.version())
    benchmark = benchmark_of(release)
    rows = chosen(names, every_row(folders, release, benchmark))
    shared = [name for name in benchmark.subsets if all(name in row.seeds[0] for row in rows)]
    if not shared:
        raise UserError(f"{names[0]} and {names[1]} have predictions for no subset that is the same")
    subsets = {
        name: outcomes([answered(benchmark.subsets[name], row.seeds[0][name], Options()) for row in rows])
        for name in shared
    }
    files = folders.file(Picture)
    paths = {row.picture_id: row.path for row in folders.rows(Picture)} if files.is_file() else {}
    shown = {name: [_card(*one, paths) for one in drawn(cells, cards)] for name, cells in subsets.items()}
    html = render(
        HERE / "row_pair.html.jinja",
        {"percent": lambda share: f"{100 * share:.0f} %"},
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        rows=rows,
        basis=basis(release, benchmark, 0),
        subsets=subsets,
        outcomes=OUTCOMES,
        shown=shown,
    )
    write_text(out, html)
    done("compare", f"{len(html.encode()) / 1e6:.1f} MB, {' beside '.join(names)}", out)
    return out


def chosen(names: tuple[str, str], rows: Sequence[BoardRow]) -> tuple[BoardRow, BoardRow]:
    """The two rows.

    Raises:
        UserError: one is not there, or both are the same.
    """
    by_name = {row.name: row for row in rows}
    if missing := [name for name in names if name not in by_name]:
        raise UserError(f"--compare: no row {', '.join(missing)}; there are {', '.join(sorted(by_name))}")
    if names[0] == names[1]:
        raise UserError(f"--compare: wanted two rows, got {names[0]} twice")
    return by_name[names[0]], by_name[names[1]]


def outcomes(both: Sequence[Answered]) -> Cell:
    """The items of a subset by kind and by which row did well on them. A row accepts the half of the items that it is surest
    of, and what ties with them: confidences of two models have no common scale."""
    cells: Cell = {(kind, outcome): [] for kind in ("UQ", "AQ") for outcome in OUTCOMES}
    for item, *said in zip(both[0].items, *map(_said, both), strict=True):
        pair = ItemPair(item, (said[0], said[1]))
        cells["AQ" if item.answers else "UQ", (said[0].good, said[1].good)].append(pair)
    return cells


def drawn(cells: Cell, count: int) -> list[tuple[str, ItemPair]]:
    """At most `count` items, by lot, in turn from each cell in which the rows differ: (kind, item)."""
    lots = [
        [
            (kind, pair)
            for pair in sorted(cells[kind, outcome], key=lambda pair: content_key("compare", pair.item.id))
        ]
        for kind in ("UQ", "AQ")
        for outcome in OUTCOMES[:2]
    ]
    share, more = divmod(count, len(lots))
    return [one for place, lot in enumerate(lots) for one in lot[: share + (place < more)]]


def _said(at: Answered) -> list[SaidOfItem]:
    confidence = at.confidence
    accepted = confidence >= np.sort(confidence)[len(confidence) // 2]
    lower = np.searchsorted(np.sort(confidence), confidence) / max(len(confidence) - 1, 1)
    right = at.correct > 0.5
    good = np.where(at.answerable, accepted & right, ~accepted)
    columns = (confidence, lower, accepted, right, good)
    return [SaidOfItem(*row) for row in zip(at.said, *(column.tolist() for column in columns), strict=True)]


def _card(kind: str, pair: ItemPair, paths: dict[str, str]) -> dict[str, Any]:
    path = paths.get(pair.item.picture)
    return {
        "kind": kind,
        "item": pair.item,
        "said": pair.said,
        "image": data_uri(path, SMALL) if path else "",
    }
