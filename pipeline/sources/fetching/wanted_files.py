"""A file to be made in the source folder, and what every door to GQA can do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.core.errors import Problems
from pipeline.sources.fetching.manifest import Manifest, SeenRemote


class WantedFile(NamedTuple):
    """A file to be made in the source folder.

    Attributes:
        path: below the source folder.
        origin: the archive, or the folder of the hub, that it is from.
        receive: bytes that come over the network.
        size: bytes that it takes on the disk; for questions of the hub an estimate.
        door: who fetches it.
    """

    path: str
    origin: str
    receive: int
    size: int
    door: Door


class Door(Protocol):
    """Where files come from."""

    def remotes(self) -> dict[str, SeenRemote]:
        """The archives or Parquet files asked about so far, by name."""
        ...

    def questions(self, split: str, which: str) -> list[WantedFile]: ...

    def pictures(self, split: str, which: str, ids: list[str]) -> list[WantedFile]: ...

    def holds(self, wanted: WantedFile, path: Path) -> bool | None:
        """Whether a file on the disk is what would be fetched; None when only fetching it can tell."""
        ...

    def waiting(self, wanted: list[WantedFile]) -> int:
        """Bytes that lie in the cache at a time, received but not yet unpacked."""
        ...

    def fetch(self, wanted: list[WantedFile], source: Path, manifest: Manifest, problems: Problems) -> None:
        """Make the files and note them in the manifest; what is wrong with one goes to `problems`."""
        ...
