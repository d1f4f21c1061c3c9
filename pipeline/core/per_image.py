"""Process images in parallel, and write the resulting records sorted by subset and image.

Stages `perturb` and `screen` use this module.
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
# Under which key a record is counted: subset, quantity (for example "dropped") and name (for example the
# reason).
CountKey = tuple[Subset, str, str]
Counts = Counter[CountKey]
# Results for one image: encoded lines by (type of the records, subset), and the counts of the records.
ImageOutput = tuple[dict[tuple[type, Subset], bytes], Counts]


def list_image_ids(folders: DatasetFolders) -> list[str]:
    """Return the ids of all images, in the order in which candidate ids with these image ids are sorted."""
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
    """Process images in parallel, and write the files of a stage.

    Args:
        folder: Folder of the stage.
        image_ids: Ids of the images, in the order of `list_image_ids`.
        record_types: File name -> type of the records in the file.
        make_state: Makes the state that `process_image` needs, once per process (`ordered_map`).
        process_image: Called with the state and an image id. Returns the records of the image, sorted by
            candidate id.
        count_keys: Returns the keys under which a record is counted. The first key contains the subset of the
            record.

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
    """Return the counts of one subset: quantity -> name -> number of records."""
    return {
        quantity: {key[2]: counts[key] for key in counts if key[:2] == (subset, quantity)}
        for quantity in quantities
    }
