"""Read byte ranges of remote and local files.

Ranges that a web server sent are cached on disk until they are released. Therefore a killed download can be
resumed, and a cache that is kept can be used without a network.
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
    """A file on this machine, which is read in place and never deleted."""

    def __init__(self, path: Path) -> None:
        self.path, self.url, self.size = path, path.as_posix(), path.stat().st_size

    def open_range(self, start: int, stop: int) -> BinaryIO:
        """Return the open file, positioned at byte `start`."""
        file = open_for_reading(self.path)
        file.seek(start)
        return file

    def count_missing_bytes(self, start: int, stop: int) -> int:
        return 0

    def release_range(self, start: int, stop: int) -> None: ...

    def delete_range(self, start: int, stop: int) -> None: ...


class RemoteFile:
    """A file on a web server, with a cache of byte ranges on this machine.

    Each range is a file `<start>-<stop>` in the cache. If the cache contains the whole file, all ranges are
    read from the whole file.

    Args:
        client: The HTTP client.
        name: Name of the folder in the cache.
        url: URL of the file.
        headers: Headers that are sent with all requests; None for no extra headers.

    Attributes:
        version: What the server says about the file. Without a network, what the server said when the cache
            was made.

    Raises:
        UserError: The file is not on the server. Without a network: the file is not in the cache.
    """

    def __init__(
        self, client: HttpClient, name: str, url: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.client, self.url, self.headers = client, url, headers or {}
        self.folder = client.cache_dir / name
        version_file = self.folder / "facts.json"
        if not client.offline:
            self.version = client.retry(url, self._probe_version)
            # Delete ranges of another version of the file.
            if not (version_file.exists() and read_json(version_file, FileVersion).matches(self.version)):
                shutil.rmtree(self.folder, ignore_errors=True)
            write_json(version_file, self.version)
        elif version_file.exists():
            self.version = read_json(version_file, FileVersion)
        else:
            raise UserError(
                f"{name}: not in the cache {client.cache_dir}; leave out --offline to download it"
            )
        self.size = self.version.size

    def open_range(self, start: int, stop: int) -> BinaryIO:
        """Return an open file, positioned at byte `start`.

        The bytes [start, stop) are downloaded if needed.
        """
        if self._is_cached(0, self.size):
            return LocalFile(self._path(0, self.size)).open_range(start, stop)
        return self.download_range(start, stop).open("rb")

    def download_range(self, start: int, stop: int) -> Path:
        """Return a file that contains only the bytes [start, stop). They are downloaded if needed.

        A partial download of an earlier process is resumed. A server that does not support byte ranges can
        only send the whole file, and each attempt starts again from the beginning.

        Raises:
            ServerUnreachableError: The server does not answer.
            UserError: The network must not be used (`offline`), the file changed on the server, or the server
                does not support byte ranges.
        """
        path, size, ranges = self._path(start, stop), stop - start, self.version.supports_ranges
        if self._is_cached(start, stop):
            return path
        if self.client.offline:
            raise UserError(
                f"{self.folder.name}, bytes {path.name}: not in the cache {self.folder.parent}; leave out --offline to download them"
            )
        # The file is not flushed to disk (fsync), because checksums detect damage by a crash.
        partial = path.with_name(f"{path.name}.part")
        with partial.open("ab", buffering=0) as file:

            def attempt() -> None:
                if not ranges or file.tell() > size:
                    file.seek(0)
                    file.truncate()
                if file.tell() < size:
                    for chunk in self._stream_range(start + file.tell(), stop):
                        file.write(chunk[: size - file.tell()])
                if file.tell() < size:
                    raise RetryableError(f"truncated after {file.tell():,} of {size:,} bytes")

            self.client.retry(self.url, attempt, file.tell if ranges else lambda: 0)
        return partial.replace(path)

    def download_all(self) -> Path:
        """Return the complete file. It is downloaded if needed.

        Raises:
            UserError: The disk has not enough space.
        """
        missing = self.count_missing_bytes(0, self.size)
        check_disk_space({self.folder: missing})
        with self.client.show_progress(f"fetch: {self.folder.name}", missing):
            return self.download_range(0, self.size)

    def count_missing_bytes(self, start: int, stop: int) -> int:
        """Return how many of the bytes [start, stop) must be downloaded."""
        return 0 if self._is_cached(start, stop) or self._is_cached(0, self.size) else stop - start

    def release_range(self, start: int, stop: int) -> None:
        """Delete a range that is no longer needed, unless the cache is kept."""
        if not self.client.keep_cache:
            self.delete_range(start, stop)

    def delete_range(self, start: int, stop: int) -> None:
        """Delete a damaged range."""
        if not self.client.offline:
            self._path(start, stop).unlink(missing_ok=True)

    def _path(self, start: int, stop: int) -> Path:
        return self.folder / f"{start}-{stop}"

    def _is_cached(self, start: int, stop: int) -> bool:
        path = self._path(start, stop)
        return path.exists() and path.stat().st_size == stop - start

    def _probe_version(self) -> FileVersion:
        """Request the first byte, and return what the server says about the file."""
        with self.client.open_stream(self.url, {**self.headers, "Range": "bytes=0-0"}) as (_, version, _):
            return version

    def _stream_range(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes [start, stop) as they arrive. The server may send fewer or more bytes."""
        url = self.url
        range_header = {"Range": f"bytes={start}-{stop - 1}"} if self.version.supports_ranges else {}
        with self.client.open_stream(url, {**self.headers, **range_header}) as (first, version, chunks):
            if not self.version.matches(version):
                raise UserError(
                    f"{url}: the file changed on the server while it was read ({self.size:,} bytes, now "
                    f"{version.size:,}); run the same command again"
                )
            if not version.supports_ranges and (start, stop) != (0, version.size):
                raise UserError(f"{url}: the server only sends the whole file")
            if first != start:
                raise UserError(f"{url}: requested bytes from {start}, got bytes from {first}")
            yield from chunks


def check_disk_space(needed_bytes: dict[Path, int]) -> None:
    """Check that the disks have enough space. The bytes for folders on the same disk are added up.

    Args:
        needed_bytes: Folder -> number of bytes that will be written there.

    Raises:
        UserError: Lists for each disk how much space is missing.
    """
    disks: dict[int, tuple[Path, int]] = {}
    for folder, size in needed_bytes.items():
        existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        disk = existing.stat().st_dev
        disks[disk] = existing, disks.get(disk, (existing, 0))[1] + size
    short = [
        f"{existing}: {decimal(size)} needed, {decimal(free)} free; free {decimal(size - free)} more"
        for existing, size in disks.values()
        if size > (free := shutil.disk_usage(existing).free)
    ]
    if short:
        raise UserError(["not enough disk space; nothing was downloaded", *short])
