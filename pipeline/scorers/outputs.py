"""Is what is to be written in the way of what is read, or of each other?"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from .item_details import FILES
from .without_errata import FILE as ERRATA
from .without_errata import OWN

WRITTEN = ("scores.json", "scores.txt")  # in the folder of --out


def clashes(given: Mapping[str, Any]) -> Iterator[str]:
    """Options that name something to write which is no file (or folder), is read, too, or is written twice."""
    for name, is_wanted, wanted in (
        *((name, Path.is_file, "a file") for name in ("json", "table")),
        *((name, Path.is_dir, "a folder") for name in ("out", "plots")),
    ):
        if path := given.get(name):
            if path.exists() and not is_wanted(path):
                yield f"--{name} {path}: wanted {wanted}"
            for place in path.parents:
                if place.exists() and not place.is_dir():
                    yield f"--{name} {path}: {place} is no folder"
    outputs = [*_outputs(given)]
    read = {identity(path) for path in _inputs(given)}
    for name, path in outputs:
        if not read.isdisjoint(_way(path)):
            yield f"--{name} {path}: would take the place of a file that is read; name another one"
    for (name, path), (other, beside) in combinations(outputs, 2):
        if identity(path) in _way(beside) or identity(beside) in _way(path):
            yield f"--{name} {path}: would take the place of --{other}'s {beside}; name another one"


def _outputs(given: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    yield from ((name, given[name]) for name in ("json", "table") if given.get(name))
    if given.get("out"):
        yield from (("out", given["out"] / name) for name in WRITTEN)
    if given.get("plots"):
        yield "plots", given["plots"] / "*"


def _inputs(given: Mapping[str, Any]) -> Iterator[Path]:
    benchmark = given["benchmark"]
    yield from (benchmark, *given["predictions"], *given["dev"], *given["judge"])
    yield from (benchmark / name for name in FILES)
    yield from benchmark.glob("rgqa/*.json")
    errata = given.get("without_errata")
    yield from [benchmark / ERRATA if errata == OWN else Path(errata)] if errata else []
    for name in [given.get("synonyms"), *(text.partition("=")[2] for text in given["extra"])]:
        if name:
            yield from (Path(name), *Path(name).glob("data.noun*"))


def _way(path: Path) -> set[Hashable]:
    """A file and the folders that it lies in."""
    return {identity(place) for place in (path, *path.parents)}


def identity(path: Path) -> Hashable:
    """The same for all names of a file."""
    try:
        found = path.stat()
    except OSError:  # not there yet
        return os.path.realpath(path)
    return found.st_dev, found.st_ino
