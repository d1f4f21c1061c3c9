"""`rgqa look`: one page of what a model looked at, and grids for scorers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.benchmark.report.attribution_page import looked, pictures_of, write_page
from pipeline.core import params
from pipeline.core.errors import UserError, counted
from pipeline.core.output_paths import Output
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture
from pipeline.inference.attribution.attribution_maps import Grid, write_grids
from pipeline.inference.attribution.image_text import marks_of, read_words, recognised
from pipeline.inference.attribution.item_pairs import pair_of, text_of
from pipeline.inference.attribution.panels import METHODS, Marked, Panel
from pipeline.inference.attribution.row_attribution import RowSight, row_sight
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Benchmark, BenchmarkItem


class LookOptions(NamedTuple):
    """What `rgqa look` was told. `items`: ids; none for all, then no page is written. `method`: of the grids; the model's first that
    is drawn as a veil if "". `of`: a release or a file of questions, the release of the data set in use if None."""

    items: Sequence[str]
    model: str
    seed: int = 0
    out: Path | None = None
    grids: Path | None = None
    method: str = ""
    of: Path | None = None
    words: Path | None = None
    ocr: bool = False
    model_args: Sequence[str] = ()


def look(options: LookOptions) -> None:
    """Write what was asked for.

    Raises:
        UserError: an item, row or method that there is not; words that are not as they should be.
    """
    folders = Folders()
    if not options.items and (options.out or not options.grids):
        raise UserError("name an item to look at; or --grids FILE without items, for the grids of all")
    if options.words and options.ocr:
        raise UserError("--words brings the words, --ocr reads them: give one of the two")
    page = options.out or (Path("look.html") if options.items and not options.grids else None)
    folders.check_outputs(
        Output("--out", page) if page else None,
        Output("--grids", options.grids) if options.grids else None,
        inputs=[options.words, options.of],
    )
    benchmark = read_benchmark(options.of or folders.release(params.version()))
    pairs = [pair_of(benchmark, item) for item in dict.fromkeys(options.items)]
    items = [item for pair in pairs for item in pair.items]
    pictures = pictures_of(items, folders)
    words = {name: _words(options, record) for name, record in pictures.items()}
    sight = row_sight(folders, options.model, options.seed, _settings(options.model_args))
    if not options.items:
        _all_grids(benchmark, sight, folders, options)
        return
    shown = looked(pairs, sight, folders, words)
    if options.grids:
        grids = {
            one.item.id: _grid(next(iter(one.sightings.values())).panels, options.method)
            for pair in shown
            for one in pair.items
        }
        write_grids(options.grids, grids)
        done("look", f"{counted(len(grids), 'grid')}", options.grids)
    if options.out or not options.grids:
        lead = "Pairs of an unanswerable question and the answerable one beside it."
        command = f"rgqa look {' '.join(options.items)} --model {options.model}"
        write_page(options.out or Path("look.html"), shown, sight, lead, command)


def _all_grids(benchmark: Benchmark, sight: RowSight, folders: Folders, options: LookOptions) -> None:
    """The grids of all items, each question of a picture once."""
    by_picture: dict[str, dict[str, BenchmarkItem]] = defaultdict(dict)
    for items in benchmark.subsets.values():
        for item in items:
            by_picture[item.picture].setdefault(item.id, item)
    pictures = pictures_of([item for group in by_picture.values() for item in group.values()], folders)
    model, grids = next(iter(sight.models.values())), {}
    assert options.grids is not None
    for picture, group in track(sorted(by_picture.items()), "look", unit="picture"):
        texts = [text_of(item) for item in group.values()]
        seen = model.look(Path(pictures[picture].path), texts, picture)
        grids |= {name: _grid(one.panels, options.method) for name, one in zip(group, seen, strict=True)}
    write_grids(options.grids, grids)
    done("look", f"{counted(len(grids), 'grid')}", options.grids)


def _grid(panels: Sequence[Panel], method: str) -> Grid:
    found = [panel for panel in panels if panel.method == method or (not method and panel.heat)]
    if not found:
        there = ", ".join(panel.method for panel in panels)
        raise UserError(f"--method {method!r}: this model has {there} ({', '.join(METHODS)} are known)")
    return found[0].grid


def _words(options: LookOptions, picture: Picture) -> tuple[Marked, ...]:
    path = Path(picture.path)
    if options.words:
        found = read_words(options.words, picture.picture_id)
    else:
        found = recognised(path) if options.ocr else []
    return marks_of(found, (picture.width, picture.height), str(options.words or path))


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of each.

    Raises:
        UserError: those that are not like this.
    """
    parts = [pair.partition("=") for pair in pairs]
    if wrong := [name for name, sign, _ in parts if not (name and sign)]:
        raise UserError([f"--model-arg {name}: wanted NAME=VALUE" for name in wrong])
    return {name: value for name, _, value in parts}
