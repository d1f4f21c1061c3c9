"""Process images in parallel, and write the resulting records sorted by subset and image.

Stages `perturb` and `screen` work this way.
"""

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
# Subset, quantity and name under which a record is counted.
CountKey = tuple[Subset, str, str]
Counts = Counter[CountKey]
# Encoded lines of an image by type and subset of their records, and counts.
ImageOutput = tuple[dict[tuple[type, Subset], bytes], Counts]


def list_image_ids(folders: DatasetFolders) -> list[str]:
    """Return the ids of all images, in the order of the candidate ids that contain them."""
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
    """Process images in parallel and write a stage's files.

    Args:
        folder: Folder of the stage.
        image_ids: Ids of the images, in order (`list_image_ids`).
        record_types: File name -> type of the records in it.
        make_state: Makes what `process_image` needs, once per process (`ordered_map`).
        process_image: Returns the records of an image, sorted by candidate id.
        count_keys: Returns what a record is counted as. The first key has its subset.

    Returns:
        Number of records by key.
    """
    counts: Counts = Counter()
    with ExitStack() as stack:
        sections = {
            kind: stack.enter_context(atomic_write_sections(folder / name, SUBSETS))
            for name, kind in record_types.items()
        }
        write = partial(_process_image, process_image, count_keys)
        results = ordered_map(write, image_ids, make_state, choose_num_workers(len(image_ids)))
        for written, counted in track(results, folder.name, len(image_ids), "image"):
            for (kind, subset), data in written.items():
                sections[kind][subset].write(data)
            counts.update(counted)
    return counts


def _process_image(
    process_image: Callable[[S, str], Iterable[R]],
    count_keys: Callable[[R], list[CountKey]],
    state: S,
    image_id: str,
) -> ImageOutput:
    records: dict[tuple[type, Subset], list[R]] = defaultdict(list)
    counts: Counts = Counter()
    for record in process_image(state, image_id):
        counted = count_keys(record)
        records[type(record), counted[0][0]].append(record)
        counts.update(counted)
    return {key: encode_jsonl(group) for key, group in records.items()}, counts


def select_counts(
    counts: Mapping[CountKey, int], subset: Subset, *quantities: str
) -> dict[str, dict[str, int]]:
    """Return the counts of one subset by quantity and name."""
    return {
        quantity: {key[2]: counts[key] for key in counts if key[:2] == (subset, quantity)}
        for quantity in quantities
    }
