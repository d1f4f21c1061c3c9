"""The door to the official archives: questions, scene graphs, choices, and single pictures of a split."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import Problems, UserError
from pipeline.sources.fetching.addresses import CHOICES, GRAPHS, PICTURES, QUESTIONS
from pipeline.sources.fetching.byte_ranges import Kept, bar, parallel
from pipeline.sources.fetching.manifest import SeenRemote
from pipeline.sources.fetching.opening import Store
from pipeline.sources.fetching.zip_members import Archive, Damaged, Sums


class Item(NamedTuple):
    """A file to be made in the source folder.

    Attributes:
        path: below the source folder.
        origin: the archive, or the folder of the hub, that it is from.
        receive: bytes that come over the network.
        size: bytes that it takes on the disk; for questions of the hub an estimate.
        key: what the door knows it by.
    """

    path: str
    origin: str
    receive: int
    size: int
    key: Any = None


class Official:
    def __init__(self, store: Store, address: str) -> None:
        self.store, self.address = store, address
        self._archives: dict[str, Archive] = {}

    def archive(self, name: str) -> Archive:
        if name not in self._archives:
            self._archives[name] = Archive(self.store.open(self.address, name))
        return self._archives[name]

    def remotes(self) -> dict[str, SeenRemote]:
        """The archives opened so far."""
        return {
            name: SeenRemote(address=archive.parts.address, size=archive.parts.facts.size, sum=archive.sum)
            for name, archive in self._archives.items()
        }

    def questions(self, split: str, which: str) -> list[Item]:
        name = f"{split}_{which}_questions"
        archive = self.archive(QUESTIONS)
        several = sorted(found for found in archive.members if re.fullmatch(rf"{name}_\d+\.json", found))
        if several:  # all questions of train are a folder of files
            return [self._item(QUESTIONS, found, f"questions1.2/{name}/{found}") for found in several]
        return [self._item(QUESTIONS, f"{name}.json", f"questions1.2/{name}.json")]

    def graphs(self, split: str) -> list[Item]:
        name = f"{split}_sceneGraphs.json"
        return [self._item(GRAPHS, name, f"sceneGraphs/{name}")]

    def choices(self, split: str) -> list[Item]:
        """The answers that are valid and plausible, for the scores of those names."""
        name = re.compile(rf"{split}_choices.*\.json")
        found = sorted(member for member in self.archive(CHOICES).members if name.fullmatch(member))
        if not found:
            raise UserError(f"{CHOICES}: there are no choices of {split}; leave out --choices")
        return [self._item(CHOICES, member, f"eval/{member}") for member in found]

    def pictures(self, ids: list[str], problems: Problems) -> list[Item]:
        self.archive(PICTURES)
        items = []
        for picture_id in ids:
            try:
                items.append(self._item(PICTURES, f"{picture_id}.jpg", f"images/{picture_id}.jpg"))
            except UserError as error:
                problems.lines.extend(error.problems)
        return items

    def holds(self, item: Item, found: Sums) -> bool:
        """Whether a file with these sums is what the archive has."""
        return self.archive(item.origin).holds(item.key, found)

    def get(self, item: Item, source: Path) -> Sums:
        """Fetch one large file: its pieces in parallel, then unpacked."""
        archive = self.archive(item.origin)
        parts = archive.parts
        if isinstance(parts, Kept):
            with bar(f"fetch: {item.path}", item.receive) as tell:
                wanted = archive.pieces(item.key)
                for start, stop in parallel(
                    lambda piece: (parts.get(*piece), piece)[1], wanted, self.store.jobs, self.store.web
                ):
                    tell(stop - start)
        return archive.extract(item.key, source / item.path)

    def waiting(self, items: list[Item]) -> int:
        """Bytes that lie in the cache at a time, received but not yet unpacked: of one large file, or of a picture
        for each request."""
        received = sorted(item.receive for item in items)
        together = self.store.jobs if items and items[0].origin == PICTURES else 1
        return sum(received) if self.store.keep else sum(received[-together:])

    def get_pictures(
        self, items: list[Item], source: Path, save: Callable[[], None]
    ) -> Iterator[tuple[Item, Sums | str]]:
        """Fetch pictures in parallel; a damaged one gives its message instead of sums."""
        archive = self.archive(PICTURES)

        def one(item: Item) -> tuple[Item, Sums | str]:
            for piece in archive.pieces(item.key):
                archive.parts.get(*piece)
            try:
                return item, archive.extract(item.key, source / item.path)
            except Damaged as error:
                return item, str(error)

        with bar("fetch: pictures", sum(item.receive for item in items)) as tell:
            for item, found in parallel(one, items, self.store.jobs, self.store.web):
                tell(item.receive)
                yield item, found
        save()

    def _item(self, origin: str, member: str, path: str) -> Item:
        archive = self.archive(origin)
        info = archive.find(member)
        ranges = archive.pieces(info)
        received = ranges[-1][1] - ranges[0][0] if isinstance(archive.parts, Kept) else 0
        return Item(path=path, origin=origin, receive=received, size=info.file_size, key=info)
