"""The door to the official archives: questions, scene graphs, choices, and single pictures of a split."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from pipeline.core.errors import Problems, UserError
from pipeline.sources.fetching.addresses import CHOICES, GRAPHS, PICTURES, QUESTIONS, is_web
from pipeline.sources.fetching.byte_ranges import LocalFile, RemoteFile, Store
from pipeline.sources.fetching.disk_space import spoken
from pipeline.sources.fetching.manifest import Manifest, SeenRemote
from pipeline.sources.fetching.wanted_files import WantedFile
from pipeline.sources.fetching.web_files import RangesIgnored
from pipeline.sources.fetching.zip_members import Archive, Damaged, crc32

SAVE_EVERY = 1000  # files between two writings of the manifest


class Official:
    """`address` is a web address or a folder."""

    def __init__(self, store: Store, address: str) -> None:
        self.store, self.address = store, address
        self._archives: dict[str, Archive] = {}

    def archive(self, name: str) -> Archive:
        """An archive of this name with its directory read.

        Raises:
            UserError: it is not there, or no archive.
        """
        if name not in self._archives:
            self._archives[name] = Archive(self._opened(name), name)
        return self._archives[name]

    def remotes(self) -> dict[str, SeenRemote]:
        return {
            name: SeenRemote(address=archive.file.address, size=archive.file.size, sum=archive.sum)
            for name, archive in self._archives.items()
        }

    def questions(self, split: str, which: str) -> list[WantedFile]:
        name = f"{split}_{which}_questions"
        parts = self._matching(QUESTIONS, rf"{name}_\d+\.json")
        if parts:  # all questions of train are a folder of files
            return [self._wanted(QUESTIONS, f"questions1.2/{name}/{part}") for part in parts]
        return [self._wanted(QUESTIONS, f"questions1.2/{name}.json")]

    def graphs(self, split: str) -> list[WantedFile]:
        return [self._wanted(GRAPHS, f"sceneGraphs/{split}_sceneGraphs.json")]

    def choices(self, split: str) -> list[WantedFile]:
        """The answers that are valid and plausible, for the scores of those names."""
        members = self._matching(CHOICES, rf"{split}_choices.*\.json")
        if not members:
            raise UserError(f"{CHOICES}: there are no choices of {split}; leave out --choices")
        return [self._wanted(CHOICES, f"eval/{member}") for member in members]

    def pictures(self, split: str, which: str, ids: list[str]) -> list[WantedFile]:
        """The pictures of these ids, whatever the split.

        Raises:
            UserError: names every one that the archive lacks.
        """
        self.archive(PICTURES)
        wanted, missing = [], []
        for picture_id in ids:
            try:
                wanted.append(self._wanted(PICTURES, f"images/{picture_id}.jpg"))
            except UserError as error:
                missing += error.problems
        if missing:
            raise UserError(missing)
        return wanted

    def holds(self, wanted: WantedFile, path: Path) -> bool:
        info = self.archive(wanted.origin).find(path.name)
        return path.stat().st_size == info.file_size and crc32(path) == info.CRC

    def waiting(self, wanted: list[WantedFile]) -> int:
        received = sorted(file.receive for file in wanted)
        return sum(received if self.store.keep else received[-self.store.jobs :])

    def fetch(self, wanted: list[WantedFile], source: Path, manifest: Manifest, problems: Problems) -> None:
        """Fetch the files in parallel; a damaged one does not keep the others."""

        def extract(file: WantedFile) -> tuple[WantedFile, list[str]]:
            try:
                self.archive(file.origin).extract(_base(file.path), source / file.path)
            except Damaged as error:
                return file, error.problems
            return file, []

        with self.store.web.progress("fetch: from the archives", sum(file.receive for file in wanted)):
            for number, (file, faults) in enumerate(self.store.parallel(extract, wanted), 1):
                problems.lines += faults
                if not faults:
                    manifest.note(file.path, file.origin)
                if number % SAVE_EVERY == 0:
                    manifest.save()

    def _opened(self, name: str) -> LocalFile | RemoteFile:
        store, url = self.store, f"{self.address}/{name}"
        if not is_web(self.address):
            if not Path(url).is_file():
                raise UserError(
                    f"{url}: no such file; put it there, or name the archives' place with --archives"
                )
            return LocalFile(Path(url))
        if store.all_of_it or (store.offline and (store.cache / "whole" / name).exists()):
            return LocalFile(store.open(f"whole/{name}", url).whole())
        remote = store.open(name, url)
        if remote.web_file and not remote.web_file.ranges:
            raise RangesIgnored(
                f"{url}: the server ignores byte ranges, so single members cannot be read; all of it is "
                f"{spoken(remote.size)}: fetch it with --whole, or name another server with --archives"
            )
        return remote

    def _matching(self, archive: str, pattern: str) -> list[str]:
        return sorted(name for name in self.archive(archive).members if re.fullmatch(pattern, name))

    def _wanted(self, origin: str, path: str) -> WantedFile:
        archive, name = self.archive(origin), _base(path)
        return WantedFile(path, origin, archive.missing(name), archive.find(name).file_size, self)


def _base(path: str) -> str:
    return PurePosixPath(path).name
