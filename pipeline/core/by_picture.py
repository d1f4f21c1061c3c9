"""Candidates worked on picture by picture, as perturb and screen do, and written sorted by their ids: by subset, then
by picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar

import msgspec

from pipeline.core.files import lines, read_jsonl, replacing_parts
from pipeline.core.parallel import Workers, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import SUBSETS, Picture, Subset

S = TypeVar("S")
R = TypeVar("R", bound=msgspec.Struct)
Counts = Counter[tuple[str, str, str]]  # (subset, what is counted, name)


class Made(msgspec.Struct, frozen=True):
    """What becomes of a picture: its lines of each file to be written, per subset; and counts of it."""

    files: tuple[dict[Subset, bytes], ...]
    counts: Counts


def by_subset(rows: Iterable[R], subset_of: Callable[[R], Subset]) -> dict[Subset, bytes]:
    """Rows as lines, those of each subset together."""
    found: dict[Subset, list[R]] = {}
    for row in rows:
        found.setdefault(subset_of(row), []).append(row)
    return {subset: lines(some) for subset, some in found.items()}


def pictures_in_order(folders: Folders) -> list[str]:
    """The ids of all pictures, in the order of candidate ids."""
    ids = (picture.picture_id for picture in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture))
    return sorted(ids, key=lambda picture_id: f"{picture_id}+")


def write_by_picture(
    stage: str,
    folders: Folders,
    pictures: Sequence[str],
    names: Sequence[str],
    set_up: Callable[[], S],
    work: Callable[[S, str], Made],
) -> Counts:
    """Write a stage's files, working on as many pictures side by side as is worth it; return all counts.

    Args:
        pictures: ids in order (`pictures_in_order`). names: of the files, as `Made.files` has them.
        set_up, work: as `Workers` takes them.
    """
    counts: Counts = Counter()
    with Workers(set_up, processes(len(pictures))) as workers, ExitStack() as stack:
        files = [stack.enter_context(replacing_parts(folders.stage(stage) / name, SUBSETS)) for name in names]
        for made in track(workers.map(work, pictures), stage, len(pictures), "picture"):
            for file, found in zip(files, made.files, strict=True):
                for subset, some in found.items():
                    file[subset].write(some)
            counts.update(made.counts)
    return counts


def counted(
    counts: Mapping[tuple[str, str, str], int], subset: Subset, *whats: str
) -> dict[str, dict[str, int]]:
    """The counts of one subset, by what is counted, then by name, sorted."""
    return {
        what: {key[2]: counts[key] for key in sorted(counts) if key[:2] == (subset, what)} for what in whats
    }
