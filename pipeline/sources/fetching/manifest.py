"""`fetched.json` in the source folder: what was fetched from where, with the sums seen first. Later runs compare, so
that a changed archive, a damaged file and a file of the user's own are told apart.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from pipeline.core.files import read_json, write_json
from pipeline.core.records import Record
from pipeline.sources.fetching.zip_members import Sums, sums

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


class _Content(Record):
    remotes: dict[str, SeenRemote] = msgspec.field(default_factory=dict)
    files: dict[str, SeenFile] = msgspec.field(default_factory=dict)


class Manifest:
    def __init__(self, source: Path) -> None:
        self.source, self.path = source, source / NAME
        content = read_json(self.path, _Content) if self.path.exists() else _Content()
        self.remotes, self.files = dict(content.remotes), dict(content.files)

    def save(self) -> None:
        content = _Content(remotes=self.remotes, files=self.files)
        if not self.path.exists() or msgspec.to_builtins(
            read_json(self.path, _Content)
        ) != msgspec.to_builtins(content):
            write_json(self.path, content)

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

    def add(self, path: str, found: Sums, origin: str) -> None:
        self.files[path] = SeenFile(size=found.size, sha256=found.sha256, origin=origin)

    def intact(self, path: str) -> bool:
        """Whether a file is there with the sum seen first."""
        seen, file = self.files.get(path), self.source / path
        if seen is None or not file.is_file() or file.stat().st_size != seen.size:
            return False
        return sums(file).sha256 == seen.sha256
