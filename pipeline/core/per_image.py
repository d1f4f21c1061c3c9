"""Work that goes image by image, as perturb and screen do: many at a time, results sorted by subset, then image."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

from pipeline.core.json_files import atomic_write_sections, encode_jsonl
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import SUBSETS, ImageRecord, Record, Subset

S = TypeVar("S")
R = TypeVar("R", bound=Record)
CountKey = tuple[Subset, str, str]  # what a result counts as: its subset, what is counted, under which name
Counts = Counter[CountKey]
ImageOutput = tuple[dict[tuple[type, Subset], bytes], Counts]  # lines by the type of their records; counts


def list_image_ids(folders: DatasetFolders) -> list[str]:
    """The ids of all images, in the order of candidate ids."""
    ids = (image.image_id for image in folders.read_records(ImageRecord))
    return sorted(ids, key=lambda image_id: f"{image_id}+")


def write_per_image(
    folder: Path,
    image_ids: Sequence[str],
    record_types: Mapping[str, type[R]],
    make_state: Callable[[], S],
    process_image: Callable[[S, str], Iterable[R]],
    count_keys: Callable[[R], list[CountKey]],
) -> Counts:
    """Write a stage's files, working on as many images side by side as is worth it; return all counts.

    Args:
        folder: the stage's. images: ids in order (`images_in_order`).
        files: name -> the type of the records that go there.
        set_up: makes what `work` needs beside an image's id, once for each process (`ordered_map`).
        work: gives the records that come of an image, sorted by candidate id.
        keys: what a record counts as; the first one tells its subset.
    """
    counts: Counts = Counter()
    with ExitStack() as stack:
        parts = {
            kind: stack.enter_context(atomic_write_sections(folder / name, SUBSETS))
            for name, kind in record_types.items()
        }
        write = partial(_process_image, process_image, count_keys)
        results = ordered_map(write, image_ids, make_state, choose_num_workers(len(image_ids)))
        for written, counted in track(results, folder.name, len(image_ids), "image"):
            for (kind, subset), data in written.items():
                parts[kind][subset].write(data)
            counts.update(counted)
    return counts


def _process_image(
    work: Callable[[S, str], Iterable[R]], keys: Callable[[R], list[CountKey]], own: S, image_id: str
) -> ImageOutput:
    records: dict[tuple[type, Subset], list[R]] = defaultdict(list)
    counts: Counts = Counter()
    for record in work(own, image_id):
        counted = keys(record)
        records[type(record), counted[0][0]].append(record)
        counts.update(counted)
    return {key: encode_jsonl(group) for key, group in records.items()}, counts


def select_counts(
    counts: Mapping[CountKey, int], subset: Subset, *quantities: str
) -> dict[str, dict[str, int]]:
    """The counts of one subset, by what is counted, then by name."""
    return {what: {key[2]: counts[key] for key in counts if key[:2] == (subset, what)} for what in quantities}
