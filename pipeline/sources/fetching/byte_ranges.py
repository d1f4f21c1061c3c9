"""Byte ranges of files that lie elsewhere. Those of a web server are kept on disk until they are dropped: so a killed
fetch goes on where it stopped, and a cache that is kept serves without a network.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from pipeline.core.errors import UserError
from pipeline.core.files import opened, read_json, write_json
from pipeline.sources.fetching.disk_space import room
from pipeline.sources.fetching.web_files import FileVersion, Web, WebFile

T = TypeVar("T")
R = TypeVar("R")


class LocalFile:
    """A file in a folder of the user's: read in place, nothing to receive, nothing to remove."""

    def __init__(self, path: Path) -> None:
        self.path, self.address, self.size = path, path.as_posix(), path.stat().st_size

    def open(self, start: int, stop: int) -> BinaryIO:
        """The file at byte `start`."""
        file = opened(self.path)
        file.seek(start)
        return file

    def missing(self, start: int, stop: int) -> int:
        return 0

    def drop(self, start: int, stop: int) -> None: ...

    def forget(self, start: int, stop: int) -> None: ...


class RemoteFile:
    """A file of a web server. Each range that was read lies in a file of `folder`, named `<start>-<stop>`.

    Args:
        web_file: None without a network: only what is in the folder can be had.
        keep: leave the ranges in the folder when they are dropped.
    """

    def __init__(self, web_file: WebFile | None, folder: Path, keep: bool) -> None:
        self.web_file, self.folder, self.keep = web_file, folder, keep
        self.address = web_file.url if web_file else folder.as_posix()
        known = folder / "facts.json"
        if web_file is None:
            if not known.exists():
                raise UserError(
                    f"{folder.name}: not in the cache {folder.parent}, and --offline forbids to ask the server"
                )
            self.size = read_json(known, FileVersion).size
            return
        self.size = web_file.version.size
        if folder.exists() and not (
            known.exists() and read_json(known, FileVersion).agrees(web_file.version)
        ):
            shutil.rmtree(folder)  # ranges of another version
        write_json(known, web_file.version)

    def open(self, start: int, stop: int) -> BinaryIO:
        """Bytes [start, stop), as a file that begins there."""
        return self.file(start, stop).open("rb")

    def file(self, start: int, stop: int) -> Path:
        """The file with bytes [start, stop); received if it is not there."""
        path = self.folder / f"{start}-{stop}"
        if self.missing(start, stop):
            if self.web_file is None:
                raise UserError(
                    f"{self.folder.name}, bytes {path.name}: not in the cache {self.folder.parent}"
                )
            self.web_file.save(start, stop, path)
        return path

    def whole(self) -> Path:
        """All of the file in one.

        Raises:
            UserError: the disk has no room for it.
        """
        missing = self.missing(0, self.size)
        room({self.folder: missing})
        if self.web_file is None:
            return self.file(0, self.size)
        with self.web_file.web.progress(f"fetch: {self.folder.name}", missing):
            return self.file(0, self.size)

    def missing(self, start: int, stop: int) -> int:
        """How many of bytes [start, stop) are still to be received."""
        path = self.folder / f"{start}-{stop}"
        return 0 if path.exists() and path.stat().st_size == stop - start else stop - start

    def drop(self, start: int, stop: int) -> None:
        """Remove a range that is no longer needed, unless it is to be kept."""
        if not self.keep:
            self.forget(start, stop)

    def forget(self, start: int, stop: int) -> None:
        """Remove a range that turned out to be damaged."""
        if self.web_file:
            (self.folder / f"{start}-{stop}").unlink(missing_ok=True)


class Store(NamedTuple):
    """What was received from web servers.

    Attributes:
        cache: the folder that it lies in.
        keep: leave all of it there for later runs (without a network: `offline`).
        all_of_it: fetch archives whole, from servers that ignore byte ranges.
        jobs: requests at the same time.
    """

    cache: Path
    web: Web
    keep: bool
    offline: bool
    all_of_it: bool
    jobs: int

    def open(self, name: str, url: str, headers: Mapping[str, str] | None = None) -> RemoteFile:
        """The file at an address; `name` is that of its folder in the cache."""
        web_file = None if self.offline else WebFile(self.web, url, headers)
        return RemoteFile(web_file, self.cache / name, self.keep)

    def clear(self) -> None:
        """Remove what is only needed until all is done, unless it is to be kept."""
        if not self.keep:
            shutil.rmtree(self.cache, ignore_errors=True)

    def parallel(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Results of `work` as they come. An error or Ctrl-C stops the other threads before it goes on."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                self.web.stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
