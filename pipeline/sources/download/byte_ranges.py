"""Byte ranges of files that lie elsewhere. Those of a web server are kept on disk until they are dropped: so a killed
fetch goes on where it stopped, and a cache that is kept serves without a network.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from rich.filesize import decimal

from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.sources.download.http_client import FileVersion, HttpClient, RetryableError


class LocalFile:
    """A file in a folder of the user's: read in place, nothing to receive, nothing to remove."""

    def __init__(self, path: Path) -> None:
        self.path, self.url, self.size = path, path.as_posix(), path.stat().st_size

    def open_range(self, start: int, stop: int) -> BinaryIO:
        """The file at byte `start`."""
        file = open_for_reading(self.path)
        file.seek(start)
        return file

    def count_missing_bytes(self, start: int, stop: int) -> int:
        return 0

    def release_range(self, start: int, stop: int) -> None: ...

    def delete_range(self, start: int, stop: int) -> None: ...


class RemoteFile:
    """A file of a web server. Each range that was read lies in a file of `folder`, named `<start>-<stop>`; once the range
    that is all of it is there, every other one is read from that.

    Attributes:
        version: what the server says of the file; without a network, what it said when the cache was made.

    Raises:
        UserError: there is no such file on the server, or without a network in the cache.
    """

    def __init__(
        self, web: HttpClient, name: str, url: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.web, self.url, self.headers = web, url, headers or {}
        self.folder = web.cache_dir / name
        known = self.folder / "facts.json"
        if not web.offline:
            self.version = web.retry(url, self._probe_version)
            if not (known.exists() and read_json(known, FileVersion).matches(self.version)):
                shutil.rmtree(self.folder, ignore_errors=True)  # ranges of another version
            write_json(known, self.version)
        elif known.exists():
            self.version = read_json(known, FileVersion)
        else:
            raise UserError(
                f"{name}: not in the cache {web.cache_dir}, and --offline forbids to ask the server"
            )
        self.size = self.version.size

    def open_range(self, start: int, stop: int) -> BinaryIO:
        """Bytes [start, stop), received if they are not there: a file that stands at its byte `start`."""
        if self._is_cached(0, self.size):
            return LocalFile(self._path(0, self.size)).open_range(start, stop)
        return self.download_range(start, stop).open("rb")

    def download_range(self, start: int, stop: int) -> Path:
        """The file with bytes [start, stop) alone, received if it is not there; what an earlier process received of them
        is continued. A server without ranges can give the whole file alone; each try starts anew there.

        Raises:
            Unreachable, UserError (without a network; the file changed meanwhile; single ranges cannot be had).
        """
        path, size, ranges = self._path(start, stop), stop - start, self.version.supports_ranges
        if self._is_cached(start, stop):
            return path
        if self.web.offline:
            raise UserError(f"{self.folder.name}, bytes {path.name}: not in the cache {self.folder.parent}")
        partial = path.with_name(f"{path.name}.part")  # not fsynced: what a crash damages is known by its sum
        with partial.open("ab", buffering=0) as file:

            def once() -> None:
                if not ranges or file.tell() > size:
                    file.seek(0)
                    file.truncate()
                if file.tell() < size:
                    for chunk in self._stream_range(start + file.tell(), stop):
                        file.write(chunk[: size - file.tell()])
                if file.tell() < size:
                    raise RetryableError(f"cut off after {file.tell():,} of {size:,} bytes")

            self.web.retry(self.url, once, file.tell if ranges else lambda: 0)
        return partial.replace(path)

    def download_all(self) -> Path:
        """The file with all bytes.

        Raises:
            UserError: the disk has no room for it.
        """
        missing = self.count_missing_bytes(0, self.size)
        check_disk_space({self.folder: missing})
        with self.web.show_progress(f"fetch: {self.folder.name}", missing):
            return self.download_range(0, self.size)

    def count_missing_bytes(self, start: int, stop: int) -> int:
        """How many of bytes [start, stop) are still to be received."""
        return 0 if self._is_cached(start, stop) or self._is_cached(0, self.size) else stop - start

    def release_range(self, start: int, stop: int) -> None:
        """Remove a range that is no longer needed, unless it is to be kept."""
        if not self.web.keep_cache:
            self.delete_range(start, stop)

    def delete_range(self, start: int, stop: int) -> None:
        """Remove a range that turned out to be damaged."""
        if not self.web.offline:
            self._path(start, stop).unlink(missing_ok=True)

    def _path(self, start: int, stop: int) -> Path:
        return self.folder / f"{start}-{stop}"

    def _is_cached(self, start: int, stop: int) -> bool:
        path = self._path(start, stop)
        return path.exists() and path.stat().st_size == stop - start

    def _probe_version(self) -> FileVersion:
        """What the server says of the file when it is asked for the first byte."""
        with self.web.open_stream(self.url, {**self.headers, "Range": "bytes=0-0"}) as (_, version, _):
            return version

    def _stream_range(self, start: int, stop: int) -> Iterator[bytes]:
        """Bytes [start, stop) as they come; possibly fewer or more."""
        url = self.url
        wanted = {"Range": f"bytes={start}-{stop - 1}"} if self.version.supports_ranges else {}
        with self.web.open_stream(url, {**self.headers, **wanted}) as (first, version, chunks):
            if not self.version.matches(version):
                raise UserError(
                    f"{url}: the file changed on the server while it was read ({self.size:,} bytes, now "
                    f"{version.size:,}); run the same command again"
                )
            if not version.supports_ranges and (start, stop) != (0, version.size):
                raise UserError(f"{url}: the server sends the whole file only")
            if first != start:
                raise UserError(f"{url}: asked for bytes from {start}, got them from {first}")
            yield from chunks


def check_disk_space(needed_bytes: dict[Path, int]) -> None:
    """Check that folders have room for so many bytes more; folders of one disk are added up.

    Raises:
        UserError: it is not enough; says how much is missing.
    """
    disks: dict[int, tuple[Path, int]] = {}
    for folder, size in needed_bytes.items():
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        disk = there.stat().st_dev
        disks[disk] = there, disks.get(disk, (there, 0))[1] + size
    short = [
        f"{there}: {decimal(size)} needed, {decimal(free)} free; make room for {decimal(size - free)} more"
        for there, size in disks.values()
        if size > (free := shutil.disk_usage(there).free)
    ]
    if short:
        raise UserError(["not enough room on the disk; nothing was fetched", *short])
