"""The command `rgqa attribute`: write a page that shows where a model looks in images, and attribution maps
for scoring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.benchmark.report.attribution_page import compute_attributions, read_images, write_page
from pipeline.core import params
from pipeline.core.errors import UserError, format_count
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import ImageRecord
from pipeline.inference.attribution.attribution_maps import AttributionMap, write_gqa_attention
from pipeline.inference.attribution.image_text import make_word_marks, read_image_words, recognize_words
from pipeline.inference.attribution.item_pairs import find_pair, get_question_text
from pipeline.inference.attribution.panels import METHOD_TITLES, BoxMark, Panel, is_known_method
from pipeline.inference.attribution.row_attribution import RowAttribution, open_row
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Benchmark, BenchmarkItem


class AttributionOptions(NamedTuple):
    """Options of the command line.

    Attributes:
        items: Ids of items. If empty, the maps of all items are written, and no page.
        model: Name of a row of the leaderboard, or hf-vqa/FOLDER.
        seed: The row's model that was trained with this seed is used.
        out: The HTML page to write; None for the default.
        maps: The file of attribution maps to write; None to write no maps.
        method: Method of the maps; "" for the first method of the model that is shown as a heat map.
        release: A release or a file of questions; None for the release of the data set in use.
        ocr_words: JSON file with the words in the images; None without such a file.
        ocr: Whether to recognize the words in the images.
        model_args: Arguments NAME=VALUE of an hf-vqa/ model.
    """

    items: Sequence[str]
    model: str
    seed: int = 0
    out: Path | None = None
    maps: Path | None = None
    method: str = ""
    release: Path | None = None
    ocr_words: Path | None = None
    ocr: bool = False
    model_args: Sequence[str] = ()


def write_attributions(options: AttributionOptions) -> None:
    """Write the page and the attribution maps.

    Args:
        options: Options of the command line.

    Raises:
        UserError: An item, row or method is unknown, or the file of words is invalid.
    """
    folders = DatasetFolders()
    if options.method and not is_known_method(options.method):
        # Otherwise the message would come after the model has been loaded and asked.
        raise UserError(
            f"--method {options.method!r}: no such method. The methods are {', '.join(METHOD_TITLES)} and, with a number, glance-1 or word-1; "
            "each model has some of them"
        )
    if not options.items and (options.out or not options.maps):
        raise UserError("no item is given; name an item, or use --maps FILE for all items")
    if options.ocr_words and options.ocr:
        raise UserError("--ocr-words and --ocr exclude each other; give one of them")
    page = options.out or (Path("attribution.html") if options.items and not options.maps else None)
    folders.check_outputs(
        Output("--out", page) if page else None,
        Output("--maps", options.maps) if options.maps else None,
        inputs=[options.ocr_words, options.release],
    )
    benchmark = read_benchmark(options.release or folders.release_dir(params.read_release_version()))
    pairs = [find_pair(benchmark, item) for item in dict.fromkeys(options.items)]
    items = [item for pair in pairs for item in pair.present_items]
    images = read_images(items, folders)
    words = {name: _load_image_words(options, record) for name, record in images.items()}
    attribution = open_row(folders, options.model, options.seed, _parse_model_args(options.model_args))
    if not options.items:
        _write_all_maps(benchmark, attribution, folders, options)
        return
    shown = compute_attributions(pairs, attribution, folders, words)
    if options.maps:
        maps = {
            one.item.id: _select_map(next(iter(one.attributions.values())).panels, options.method)
            for pair in shown
            for one in pair.items
        }
        write_gqa_attention(options.maps, maps)
        report_written("attribute", format_count(len(maps), "map"), options.maps)
    if options.out or not options.maps:
        lead = "Pairs of an unanswerable and an answerable question."
        command = f"rgqa attribute {' '.join(options.items)} --model {options.model}"
        write_page(options.out or Path("attribution.html"), shown, attribution, lead, command)


def _write_all_maps(
    benchmark: Benchmark, attribution: RowAttribution, folders: DatasetFolders, options: AttributionOptions
) -> None:
    """Write the maps of all items. An item that several subsets share is computed only once."""
    by_image: dict[str, dict[str, BenchmarkItem]] = defaultdict(dict)
    for items in benchmark.subsets.values():
        for item in items:
            by_image[item.image].setdefault(item.id, item)
    images = read_images([item for group in by_image.values() for item in group.values()], folders)
    model, maps = next(iter(attribution.models.values())), {}
    assert options.maps is not None
    for image, group in track(sorted(by_image.items()), "attribute", unit="image"):
        texts = [get_question_text(item) for item in group.values()]
        attributions = model.attribute(Path(images[image].path), texts, image)
        maps |= {
            name: _select_map(one.panels, options.method)
            for name, one in zip(group, attributions, strict=True)
        }
    write_gqa_attention(options.maps, maps)
    report_written("attribute", format_count(len(maps), "map"), options.maps)


def _select_map(panels: Sequence[Panel], method: str) -> AttributionMap:
    found = [panel for panel in panels if panel.method == method or (not method and panel.show_heatmap)]
    if not found:
        available = ", ".join(panel.method for panel in panels)
        raise UserError(
            f"--method {method!r}: this model has {available}; all methods are {', '.join(METHOD_TITLES)}"
        )
    return found[0].attribution_map


def _load_image_words(options: AttributionOptions, image: ImageRecord) -> tuple[BoxMark, ...]:
    path = Path(image.path)
    if options.ocr_words:
        found = read_image_words(options.ocr_words, image.image_id)
    else:
        found = recognize_words(path) if options.ocr else []
    return make_word_marks(found, (image.width, image.height), str(options.ocr_words or path))


def _parse_model_args(pairs: Sequence[str]) -> dict[str, str]:
    """Parse arguments NAME=VALUE.

    Raises:
        UserError: Lists the arguments that do not have this form.
    """
    parts = [pair.partition("=") for pair in pairs]
    if wrong := [name for name, sign, _ in parts if not (name and sign)]:
        raise UserError([f"--model-arg {name}: expected NAME=VALUE" for name in wrong])
    return {name: value for name, _, value in parts}
