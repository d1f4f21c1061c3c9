"""Byte ranges of a file, wherever it is. Those of a web server are kept on disk until they are dropped: so a killed
fetch goes on where it stopped, and a cache that is kept serves without a network.

Each class has `name`, `address`, `facts`, `get(start, stop)` and `drop(start, stop)`.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pipeline.core.errors import UserError
from pipeline.core.files import read_json, replacing, write_json
from pipeline.sources.fetching.web_files import Facts, Web, WebFile

T = TypeVar("T")
R = TypeVar("R")
PIECE = 8 * 1024 * 1024  # bytes read in one request, at most


class OnDisk:
    """A file in a folder of ours."""

    def __init__(self, path: Path) -> None:
        self.name, self.address, self.path = path.name, path.as_posix(), path
        try:
            self.facts = Facts(size=path.stat().st_size)
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None

    def get(self, start: int, stop: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)

    def drop(self, start: int, stop: int) -> None:
        """Nothing: the file is the user's."""


class Kept:
    """A file of a web server with its pieces in `folder`, each named `<start>-<stop>`.

    Args:
        file: None without a network: only what is in the folder can be had.
        keep: leave the pieces in the folder when they are dropped.
    """

    def __init__(self, name: str, file: WebFile | None, folder: Path, keep: bool = False) -> None:
        self.name, self.file, self.folder, self.keep = name, file, folder, keep
        self.address = file.url if file else folder.as_posix()
        facts = folder / "facts.json"
        if file is None:
            if not facts.exists():
                raise UserError(
                    f"{name}: not in the cache {folder.parent}, and --offline forbids to ask the server"
                )
            self.facts = read_json(facts, Facts)
            return
        self.facts = file.facts
        if folder.exists() and not (facts.exists() and read_json(facts, Facts).agrees(file.facts)):
            shutil.rmtree(folder)  # pieces of another version
        write_json(facts, file.facts)

    def get(self, start: int, stop: int) -> bytes:
        path = self.folder / f"{start}-{stop}"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if len(data) == stop - start:
            return data
        if self.file is None:
            raise UserError(f"{self.name}, bytes {start} to {stop}: not in the cache {self.folder.parent}")
        data = self.file.read(start, stop)
        temporary = path.with_name(f".{path.name}.{threading.get_ident()}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return data

    def drop(self, start: int, stop: int) -> None:
        if not self.keep:
            (self.folder / f"{start}-{stop}").unlink(missing_ok=True)

    def forget(self, start: int, stop: int) -> None:
        """Remove a piece that turned out to be damaged."""
        if self.file is not None:
            (self.folder / f"{start}-{stop}").unlink(missing_ok=True)


Parts = OnDisk | Kept


def pieces(start: int, stop: int) -> list[tuple[int, int]]:
    """[start, stop) cut into ranges of at most `PIECE` bytes."""
    return [(at, min(at + PIECE, stop)) for at in range(start, stop, PIECE)]


def whole(parts: Parts, path: Path, jobs: int) -> None:
    """Put a file together from all of its pieces, read in parallel."""
    ranges = pieces(0, parts.facts.size)
    web = parts.file.web if isinstance(parts, Kept) and parts.file else None
    with bar(f"fetch: {parts.name}", parts.facts.size) as tell:
        for start, stop in parallel(lambda piece: (parts.get(*piece), piece)[1], ranges, jobs, web):
            tell(stop - start)
    with replacing(path) as file:
        for piece in ranges:
            file.write(parts.get(*piece))
    for piece in ranges:
        parts.drop(*piece)


def parallel(work: Callable[[T], R], items: Iterable[T], jobs: int, web: Web | None) -> Iterator[R]:
    """Results of `work` as they come. An error or Ctrl-C stops the other threads before it goes on."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            if web:
                web.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def bar(label: str, total: int, unit: str = "B") -> Iterator[Callable[[int], Any]]:
    """A progress bar on stderr, in bytes if nothing else is said (a line now and then when that is no terminal)."""
    from tqdm import tqdm

    quiet = not sys.stderr.isatty()
    with tqdm(
        desc=label,
        total=total,
        unit=unit,
        unit_scale=unit == "B",
        mininterval=10 if quiet else 0.2,
        dynamic_ncols=not quiet,
    ) as shown:
        yield shown.update
