"""`fetched.json` in the source folder: what was fetched from where, with the sums seen first. Later runs compare, so
that a changed archive, a damaged file and a file of the user's own are told apart.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from pipeline.core.files import read_json, sha256_file, write_json
from pipeline.core.records import Record

NAME = "fetched.json"


class SeenRemote(Record):
    """An archive or a Parquet file as first seen: where, bytes, and a sum (an archive's over its directory, which
    holds the CRC-32 of every member)."""

    address: str
    size: int
    sum: str


class SeenFile(Record):
    """A file in the source folder: bytes, checksum, and which archive or folder of the hub it is from."""

    size: int
    sha256: str
    origin: str


class Fetched(Record):
    """The content of fetched.json: archives and Parquet files by name, files by their path in the source folder."""

    remotes: dict[str, SeenRemote] = msgspec.field(default_factory=dict)
    files: dict[str, SeenFile] = msgspec.field(default_factory=dict)


class Manifest:
    """fetched.json of a source folder, in memory until `save`."""

    def __init__(self, source: Path) -> None:
        self.source = source
        path = source / NAME
        fetched = read_json(path, Fetched) if path.exists() else Fetched()
        self.remotes, self.files = fetched.remotes, fetched.files

    def save(self) -> None:
        write_json(self.source / NAME, Fetched(remotes=self.remotes, files=self.files))

    def changed(self, name: str, now: SeenRemote) -> str:
        """How a remote file differs from when it was first seen; "" when it does not, or was never seen."""
        seen = self.remotes.get(name)
        if seen is None or (seen.size, seen.sum) == (now.size, now.sum):
            return ""
        sizes = (
            f"{seen.size:,} bytes then, {now.size:,} now"
            if seen.size != now.size
            else f"{now.size:,} bytes, as then"
        )
        return f"it is not what was first fetched from {seen.address} ({sizes}; sum {seen.sum[:12]} then, {now.sum[:12]} now)"

    def note(self, path: str, origin: str, file: Path | None = None) -> None:
        """Note a file of the source folder with its sum.

        Args:
            file: where its content lies now, if it has not taken its place yet.
        """
        file = file or self.source / path
        self.files[path] = SeenFile(size=file.stat().st_size, sha256=sha256_file(file), origin=origin)

    def intact(self, path: str) -> bool:
        """Whether a file is there with the sum noted."""
        seen, file = self.files.get(path), self.source / path
        return (
            seen is not None
            and file.is_file()
            and file.stat().st_size == seen.size
            and sha256_file(file) == seen.sha256
        )
