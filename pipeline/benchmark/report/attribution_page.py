"""What a model looked at, drawn over the images: pairs of an unanswerable and an answerable question side by side."""

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
from pipeline.core.errors import Problems, format_count
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import ImageRecord
from pipeline.core.rendering import make_image_data_uri, render_template, resolve_page_path
from pipeline.inference.attribution.attribution_maps import AttributionMap, find_peaks
from pipeline.inference.attribution.item_pairs import UqAqPair, get_question_text, sample_pairs
from pipeline.inference.attribution.panels import Attribution, BoxMark
from pipeline.inference.attribution.row_attribution import RowAttribution, open_row
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import BenchmarkItem

TEMPLATE_DIR = Path(__file__).parent
IMAGE_SIZE = (400, 40_000)  # of an image: pixels of the longer side, most bytes
MAX_SHADE = 0.82  # how much of the light is taken where a model did not look
NUM_PAIRS = 12  # of the page that `rgqa report --attribution` writes: 24 items


class AttributionItem(NamedTuple):
    """An item with what a row's models saw of it. `said`: the row's answer and confidence, None where no file has them."""

    item: BenchmarkItem
    text: str
    image: ImageRecord
    attributions: Mapping[str, Attribution]
    prediction: tuple[str, float] | None
    scene_text: tuple[BoxMark, ...]


class AttributionPair(NamedTuple):
    """A pair, the UQ first; an item without a partner stands alone."""

    subset: str
    items: tuple[AttributionItem, ...]


def write_attribution_report(name: str, seed: int = 0, out: Path | None = None) -> Path:
    """Write the page of 24 items for a row of the data set in use, data/<data set>/look.html if none is given.

    Raises:
        UserError: there is no release, no such row, or nothing that it looked at.
    """
    folders = DatasetFolders()
    benchmark = read_benchmark(folders.release_dir(params.read_release_version()))
    sight = open_row(folders, name, seed)
    pairs = compute_attributions(sample_pairs(benchmark, NUM_PAIRS), sight, folders)
    count = sum(len(pair.items) for pair in pairs)
    lead = (
        f"{format_count(count, 'item')}, sampled at random: the pairs of part test of each subset whose ids have the lowest hashes. They are "
        "the same for all models."
    )
    out = resolve_page_path(folders, out, "look.html")
    return write_page(out, pairs, sight, lead, f"rgqa report --attribution {name}")


def compute_attributions(
    pairs: Sequence[UqAqPair],
    row_attribution: RowAttribution,
    folders: DatasetFolders,
    scene_text: Mapping[str, tuple[BoxMark, ...]] | None = None,
) -> list[AttributionPair]:
    """Let a row look at pairs.

    Args:
        words: that stand in images, by image id.

    Raises:
        UserError: images that are not known or missing: all of them.
    """
    images = read_images([item for pair in pairs for item in pair.present_items], folders)
    found = []
    for pair in track(pairs, "look", unit="pair") if len(pairs) > 1 else pairs:
        items = tuple(
            AttributionItem(
                item,
                get_question_text(item),
                images[item.image],
                {net: model.attribute(Path(images[item.image].path), [get_question_text(item)], item.image)[0] for net, model in row_attribution.models.items()},
                row_attribution.predictions.get(item.id),
                (scene_text or {}).get(item.image, ()),
            )
            for item in pair.present_items
        )  # fmt: skip
        found.append(AttributionPair(pair.subset, items))
    return found


def read_images(items: Sequence[BenchmarkItem], folders: DatasetFolders) -> dict[str, ImageRecord]:
    """The images of items, by id.

    Raises:
        UserError: those that ingest does not know, or whose files are missing: all of them.
    """
    known = {row.image_id: row for row in folders.read_records(ImageRecord)}
    problems = Problems("images that nothing can look at")
    for item_id, image in sorted({(item.image, item.id) for item in items}):
        where = known.get(item_id)
        if where is None:
            problems.add(
                f"item {image}",
                f"{folders.record_file(ImageRecord)} has no image {item_id or '(none named)'}",
            )
        elif not Path(where.path).is_file():
            problems.add(f"item {image}", f"{where.path} is missing; restore it")
    problems.raise_if_any()
    return {item.image: known[item.image] for item in items}


def write_page(
    out: Path,
    pairs: Sequence[AttributionPair],
    row_attribution: RowAttribution,
    introduction: str,
    command: str,
) -> Path:
    """Write the page and say so."""
    shown = {item.image.image_id: item.image for pair in pairs for item in pair.items}
    html = render_template(
        TEMPLATE_DIR / "looked.html.jinja",
        {"percent": lambda share: f"{100 * share:.0f} %", "short": lambda value: f"{value:.3g}"},
        css=Markup(
            (TEMPLATE_DIR / "page.css").read_text(encoding="utf-8")
        ),  # ours, and in it no text of the data
        pairs=pairs,
        sight=row_attribution,
        lead=introduction,
        command=command,
        images={name: make_image_data_uri(image.path, IMAGE_SIZE) for name, image in shown.items()},
        image_records=shown,
        shade=render_shade,
        rings=find_rings,
    )
    write_text(out, html)
    report_written(
        "look",
        f"{len(html.encode()) / 1e6:.1f} MB, {row_attribution.name}, {format_count(sum(len(p.items) for p in pairs), 'item')}",
        out,
    )
    return out


def render_shade(grid: AttributionMap) -> str:
    """A grid as a veil over the image: clear at its highest weight, dark where it is 0. A PNG, as an address that holds it."""
    from PIL import Image

    top = grid.max()
    light = grid / top if top > 0 and np.ptp(grid) > 0 else np.ones(grid.shape)
    pixels = np.zeros((*grid.shape, 2), np.uint8)
    pixels[..., 1] = np.round(255 * MAX_SHADE * (1 - light))
    file = io.BytesIO()
    Image.fromarray(pixels, "LA").save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def find_rings(grid: AttributionMap) -> list[tuple[float, float]]:
    """Where the highest weight is, as shares of the image; nowhere where all cells count alike."""
    return [] if np.ptp(grid) == 0 else [(float(x), float(y)) for x, y in find_peaks(grid)[:4]]
