"""Write a page that shows where a model looked, for pairs of an unanswerable and an answerable question."""

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
# Maximum length of the longer side in pixels, and maximum size in bytes.
IMAGE_SIZE = (400, 40_000)
# Opacity of the shade where the weight is 0.
MAX_SHADE = 0.82
# Number of pairs of the page that `rgqa report --attribution` writes.
NUM_PAIRS = 12


class AttributionItem(NamedTuple):
    """An item with the attributions of a row's models.

    Attributes:
        item: The item.
        text: The question of the item.
        image: The image of the item.
        attributions: Name of a model -> attribution.
        prediction: The answer and the confidence of the leaderboard row, or None if no file has them.
        scene_text: Boxes of text in the image.
    """

    item: BenchmarkItem
    text: str
    image: ImageRecord
    attributions: Mapping[str, Attribution]
    prediction: tuple[str, float] | None
    scene_text: tuple[BoxMark, ...]


class AttributionPair(NamedTuple):
    """A pair of an unanswerable and an answerable question, in this order, or a single item.

    Attributes:
        subset: The subset of the items.
        items: The items.
    """

    subset: str
    items: tuple[AttributionItem, ...]


def write_attribution_report(name: str, seed: int = 0, out: Path | None = None) -> Path:
    """Write the attribution page of a leaderboard row of the current data set.

    Args:
        name: The name of the row.
        seed: The training seed of the row's models that are used.
        out: The HTML file. None means data/<data set>/attribution.html.

    Returns:
        The path of the page.

    Raises:
        UserError: There is no release or no such row, or the row has no attributions.
    """
    folders = DatasetFolders()
    benchmark = read_benchmark(folders.release_dir(params.read_release_version()))
    row = open_row(folders, name, seed)
    pairs = compute_attributions(sample_pairs(benchmark, NUM_PAIRS), row, folders)
    count = sum(len(pair.items) for pair in pairs)
    introduction = (
        f"{format_count(count, 'item')}, sampled at random: the pairs in split test of each subset whose ids have the"
        " lowest hashes. They are the same for all models."
    )
    out = resolve_page_path(folders, out, "attribution.html")
    return write_page(out, pairs, row, introduction, f"rgqa report --attribution {name}")


def compute_attributions(
    pairs: Sequence[UqAqPair],
    row_attribution: RowAttribution,
    folders: DatasetFolders,
    scene_text: Mapping[str, tuple[BoxMark, ...]] | None = None,
) -> list[AttributionPair]:
    """Compute the attributions of a row's models for pairs.

    Args:
        pairs: The pairs.
        row_attribution: The models and predictions of the row.
        folders: The folders of the data set.
        scene_text: Image id -> boxes of text in the image, or None if no text was detected.

    Raises:
        UserError: Images are unknown or missing. The message lists all these images.
    """
    images = read_images([item for pair in pairs for item in pair.present_items], folders)
    found = []
    for pair in track(pairs, "attribute", unit="pair") if len(pairs) > 1 else pairs:
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
    """Return image id -> image, for the images of items.

    Raises:
        UserError: Stage `ingest` has not written an image, or the file of an image is missing. The message
            lists all these images.
    """
    known = {row.image_id: row for row in folders.read_records(ImageRecord)}
    problems = Problems("images cannot be read")
    for image_id, item_id in sorted({(item.image, item.id) for item in items}):
        record = known.get(image_id)
        if record is None:
            problems.add(
                f"item {item_id}",
                f"{folders.record_file(ImageRecord)} has no image {image_id or '(no id)'}",
            )
        elif not Path(record.path).is_file():
            problems.add(f"item {item_id}", f"{record.path} is missing; restore it")
    problems.raise_if_any()
    return {item.image: known[item.image] for item in items}


def write_page(
    out: Path,
    pairs: Sequence[AttributionPair],
    row_attribution: RowAttribution,
    introduction: str,
    command: str,
) -> Path:
    """Write the page and report it to the user.

    Args:
        out: The HTML file.
        pairs: The pairs to show.
        row_attribution: The leaderboard row that the page is about.
        introduction: The first paragraph of the page.
        command: The command that made the page, for its footer.
    """
    shown = {item.image.image_id: item.image for pair in pairs for item in pair.items}
    html = render_template(
        TEMPLATE_DIR / "attribution.html.jinja",
        {"percent": lambda proportion: f"{100 * proportion:.0f} %", "short": lambda value: f"{value:.3g}"},
        # The style sheet is part of the project and contains no text of the data.
        css=Markup((TEMPLATE_DIR / "page.css").read_text(encoding="utf-8")),
        pairs=pairs,
        row=row_attribution,
        introduction=introduction,
        command=command,
        images={name: make_image_data_uri(image.path, IMAGE_SIZE) for name, image in shown.items()},
        image_records=shown,
        shade=render_shade,
        peaks=find_map_peaks,
    )
    write_text(out, html)
    report_written(
        "attribute",
        f"{len(html.encode()) / 1e6:.1f} MB, {row_attribution.name}, {format_count(sum(len(p.items) for p in pairs), 'item')}",
        out,
    )
    return out


def render_shade(grid: AttributionMap) -> str:
    """Return a shade over the image as the data URI of a PNG.

    The shade is transparent at the highest weight and dark where the weight is 0.
    """
    from PIL import Image

    highest = grid.max()
    light = grid / highest if highest > 0 and np.ptp(grid) > 0 else np.ones(grid.shape)
    pixels = np.zeros((*grid.shape, 2), np.uint8)
    pixels[..., 1] = np.round(255 * MAX_SHADE * (1 - light))
    file = io.BytesIO()
    Image.fromarray(pixels, "LA").save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def find_map_peaks(grid: AttributionMap) -> list[tuple[float, float]]:
    """Return the positions of the highest weights as fractions of width and height.

    The result is [] if all cells have the same weight.
    """
    return [] if np.ptp(grid) == 0 else [(float(x), float(y)) for x, y in find_peaks(grid)[:4]]
