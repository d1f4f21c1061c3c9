"""What a model looked at, drawn over the pictures: pairs of an unanswerable and an answerable question side by side."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from pipeline.core import params
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems, counted
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture
from pipeline.core.rendering import data_uri, page_of, render
from pipeline.inference.attribution.attribution_maps import Grid, highest
from pipeline.inference.attribution.item_pairs import ItemAndPartner, drawn_pairs, text_of
from pipeline.inference.attribution.panels import Marked, Sighting
from pipeline.inference.attribution.row_attribution import RowSight, row_sight
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import BenchmarkItem

HERE = Path(__file__).parent
SIZE = (400, 40_000)  # of a picture: pixels of the longer side, most bytes
DARK = 0.82  # how much of the light is taken where a model did not look
PAIRS = 12  # of the page that `rgqa report --look` writes: 24 items


class LookedItem(NamedTuple):
    """An item with what a row's models saw of it. `said`: the row's answer and confidence, None where no file has them."""

    item: BenchmarkItem
    text: str
    picture: Picture
    sightings: Mapping[str, Sighting]
    said: tuple[str, float] | None
    words: tuple[Marked, ...]


class LookedPair(NamedTuple):
    """A pair, the UQ first; an item without a partner stands alone."""

    subset: str
    items: tuple[LookedItem, ...]


def look_report(name: str, seed: int = 0, out: Path | None = None) -> Path:
    """Write the page of 24 items for a row of the data set in use, data/<data set>/look.html if none is given.

    Raises:
        UserError: there is no release, no such row, or nothing that it looked at.
    """
    folders = Folders()
    benchmark = read_benchmark(folders.release(params.version()))
    sight = row_sight(folders, name, seed)
    pairs = looked(drawn_pairs(benchmark, PAIRS), sight, folders)
    count = sum(len(pair.items) for pair in pairs)
    lead = (
        f"{counted(count, 'item')}, sampled at random: the pairs of part test of each subset whose ids have the lowest hashes. They are "
        "the same for all models."
    )
    out = page_of(folders, out, "look.html")
    return write_page(out, pairs, sight, lead, f"rgqa report --look {name}")


def looked(
    pairs: Sequence[ItemAndPartner],
    sight: RowSight,
    folders: Folders,
    words: Mapping[str, tuple[Marked, ...]] | None = None,
) -> list[LookedPair]:
    """Let a row look at pairs.

    Args:
        words: that stand in pictures, by picture id.

    Raises:
        UserError: pictures that are not known or missing: all of them.
    """
    pictures = pictures_of([item for pair in pairs for item in pair.items], folders)
    found = []
    for pair in track(pairs, "look", unit="pair") if len(pairs) > 1 else pairs:
        items = tuple(
            LookedItem(
                item,
                text_of(item),
                pictures[item.picture],
                {net: model.look(Path(pictures[item.picture].path), [text_of(item)], item.picture)[0] for net, model in sight.models.items()},
                sight.said.get(item.id),
                (words or {}).get(item.picture, ()),
            )
            for item in pair.items
        )  # fmt: skip
        found.append(LookedPair(pair.subset, items))
    return found


def pictures_of(items: Sequence[BenchmarkItem], folders: Folders) -> dict[str, Picture]:
    """The pictures of items, by id.

    Raises:
        UserError: those that ingest does not know, or whose files are missing: all of them.
    """
    known = {row.picture_id: row for row in folders.rows(Picture)}
    problems = Problems("pictures that nothing can look at")
    for item_id, picture in sorted({(item.picture, item.id) for item in items}):
        where = known.get(item_id)
        if where is None:
            problems.add(
                f"item {picture}", f"{folders.file(Picture)} has no picture {item_id or '(none named)'}"
            )
        elif not Path(where.path).is_file():
            problems.add(f"item {picture}", f"{where.path} is missing; restore it")
    problems.raise_if_any()
    return {item.picture: known[item.picture] for item in items}


def write_page(out: Path, pairs: Sequence[LookedPair], sight: RowSight, lead: str, command: str) -> Path:
    """Write the page and say so."""
    shown = {item.picture.picture_id: item.picture for pair in pairs for item in pair.items}
    html = render(
        HERE / "looked.html.jinja",
        {"percent": lambda share: f"{100 * share:.0f} %", "short": lambda value: f"{value:.3g}"},
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        pairs=pairs,
        sight=sight,
        lead=lead,
        command=command,
        images={name: data_uri(picture.path, SIZE) for name, picture in shown.items()},
        pictures=shown,
        shade=shade,
        rings=rings,
    )
    write_text(out, html)
    done(
        "look",
        f"{len(html.encode()) / 1e6:.1f} MB, {sight.name}, {counted(sum(len(p.items) for p in pairs), 'item')}",
        out,
    )
    return out


def shade(grid: Grid) -> str:
    """A grid as a veil over the picture: clear at its highest weight, dark where it is 0. A PNG, as an address that holds it."""
    from PIL import Image

    top = grid.max()
    light = grid / top if top > 0 and np.ptp(grid) > 0 else np.ones(grid.shape)
    pixels = np.zeros((*grid.shape, 2), np.uint8)
    pixels[..., 1] = np.round(255 * DARK * (1 - light))
    file = io.BytesIO()
    Image.fromarray(pixels, "LA").save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def rings(grid: Grid) -> list[tuple[float, float]]:
    """Where the highest weight is, as shares of the picture; nowhere where all cells count alike."""
    return [] if np.ptp(grid) == 0 else [(float(x), float(y)) for x, y in highest(grid)[:4]]
