"""`rgqa attribute`: one page of what a model looked at, and grids for scorers."""

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
from pipeline.inference.attribution.panels import METHOD_TITLES, BoxMark, Panel
from pipeline.inference.attribution.row_attribution import RowAttribution, open_row
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Benchmark, BenchmarkItem


class AttributionOptions(NamedTuple):
    """What `rgqa attribute` was told. `items`: ids; none for all, then no page is written. `method`: of the grids; the model's first that
    is drawn as a veil if "". `of`: a release or a file of questions, the release of the data set in use if None."""

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
    """Write what was asked for.

    Raises:
        UserError: an item, row or method that there is not; words that are not as they should be.
    """
    folders = DatasetFolders()
    if not options.items and (options.out or not options.maps):
        raise UserError("name an item to look at; or --maps FILE without items, for the grids of all")
    if options.ocr_words and options.ocr:
        raise UserError("--ocr-words brings the words, --ocr reads them: give one of the two")
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
    sight = open_row(folders, options.model, options.seed, _parse_model_args(options.model_args))
    if not options.items:
        _write_all_maps(benchmark, sight, folders, options)
        return
    shown = compute_attributions(pairs, sight, folders, words)
    if options.maps:
        grids = {
            one.item.id: _select_map(next(iter(one.attributions.values())).panels, options.method)
            for pair in shown
            for one in pair.items
        }
        write_gqa_attention(options.maps, grids)
        report_written("attribute", f"{format_count(len(grids), 'grid')}", options.maps)
    if options.out or not options.maps:
        lead = "Pairs of an unanswerable question and the answerable one beside it."
        command = f"rgqa attribute {' '.join(options.items)} --model {options.model}"
        write_page(options.out or Path("attribution.html"), shown, sight, lead, command)


def _write_all_maps(
    benchmark: Benchmark, sight: RowAttribution, folders: DatasetFolders, options: AttributionOptions
) -> None:
    """The grids of all items, each question of an image once."""
    by_image: dict[str, dict[str, BenchmarkItem]] = defaultdict(dict)
    for items in benchmark.subsets.values():
        for item in items:
            by_image[item.image].setdefault(item.id, item)
    images = read_images([item for group in by_image.values() for item in group.values()], folders)
    model, grids = next(iter(sight.models.values())), {}
    assert options.maps is not None
    for image, group in track(sorted(by_image.items()), "attribute", unit="image"):
        texts = [get_question_text(item) for item in group.values()]
        seen = model.attribute(Path(images[image].path), texts, image)
        grids |= {
            name: _select_map(one.panels, options.method) for name, one in zip(group, seen, strict=True)
        }
    write_gqa_attention(options.maps, grids)
    report_written("attribute", f"{format_count(len(grids), 'grid')}", options.maps)


def _select_map(panels: Sequence[Panel], method: str) -> AttributionMap:
    found = [panel for panel in panels if panel.method == method or (not method and panel.show_heatmap)]
    if not found:
        there = ", ".join(panel.method for panel in panels)
        raise UserError(f"--method {method!r}: this model has {there} ({', '.join(METHOD_TITLES)} are known)")
    return found[0].attribution_map


def _load_image_words(options: AttributionOptions, image: ImageRecord) -> tuple[BoxMark, ...]:
    path = Path(image.path)
    if options.ocr_words:
        found = read_image_words(options.ocr_words, image.image_id)
    else:
        found = recognize_words(path) if options.ocr else []
    return make_word_marks(found, (image.width, image.height), str(options.ocr_words or path))


def _parse_model_args(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of each.

    Raises:
        UserError: those that are not like this.
    """
    parts = [pair.partition("=") for pair in pairs]
    if wrong := [name for name, sign, _ in parts if not (name and sign)]:
        raise UserError([f"--model-arg {name}: wanted NAME=VALUE" for name in wrong])
    return {name: value for name, _, value in parts}
