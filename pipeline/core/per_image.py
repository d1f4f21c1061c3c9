"""Work that goes picture by picture, as perturb and screen do: many at a time, results sorted by subset, then picture."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

from pipeline.core.json_files import lines, replacing_parts
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import SUBSETS, Picture, Record, Subset

S = TypeVar("S")
R = TypeVar("R", bound=Record)
Key = tuple[Subset, str, str]  # what a result counts as: its subset, what is counted, under which name
Counts = Counter[Key]
Written = tuple[dict[tuple[type, Subset], bytes], Counts]  # lines by the type of their records; counts


def pictures_in_order(folders: Folders) -> list[str]:
    """The ids of all pictures, in the order of candidate ids."""
    ids = (picture.picture_id for picture in folders.rows(Picture))
    return sorted(ids, key=lambda picture_id: f"{picture_id}+")


def write_by_picture(
    folder: Path,
    pictures: Sequence[str],
    files: Mapping[str, type[R]],
    set_up: Callable[[], S],
    work: Callable[[S, str], Iterable[R]],
    keys: Callable[[R], list[Key]],
) -> Counts:
    """Write a stage's files, working on as many pictures side by side as is worth it; return all counts.

    Args:
        folder: the stage's. pictures: ids in order (`pictures_in_order`).
        files: name -> the type of the records that go there.
        set_up: makes what `work` needs beside a picture's id, once for each process (`ordered_map`).
        work: gives the records that come of a picture, sorted by candidate id.
        keys: what a record counts as; the first one tells its subset.
    """
    counts: Counts = Counter()
    with ExitStack() as stack:
        parts = {
            kind: stack.enter_context(replacing_parts(folder / name, SUBSETS)) for name, kind in files.items()
        }
        write = partial(_write_picture, work, keys)
        results = ordered_map(write, pictures, set_up, processes(len(pictures)))
        for written, counted in track(results, folder.name, len(pictures), "picture"):
            for (kind, subset), data in written.items():
                parts[kind][subset].write(data)
            counts.update(counted)
    return counts


def _write_picture(
    work: Callable[[S, str], Iterable[R]], keys: Callable[[R], list[Key]], own: S, picture_id: str
) -> Written:
    records: dict[tuple[type, Subset], list[R]] = defaultdict(list)
    counts: Counts = Counter()
    for record in work(own, picture_id):
        counted = keys(record)
        records[type(record), counted[0][0]].append(record)
        counts.update(counted)
    return {key: lines(group) for key, group in records.items()}, counts


def counted(counts: Mapping[Key, int], subset: Subset, *whats: str) -> dict[str, dict[str, int]]:
    """The counts of one subset, by what is counted, then by name."""
    return {what: {key[2]: counts[key] for key in counts if key[:2] == (subset, what)} for what in whats}
