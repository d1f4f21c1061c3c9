"""The door to the official archives: questions, scene graphs, choices, and single pictures of a split.

Sizes are those that the download pages state; what counts is what the server says when asked.
https://cs.stanford.edu/people/dorarad/gqa/download.html and evaluate.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from rich.filesize import decimal

from pipeline.core.errors import Problems, UserError, collected_into
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile
from pipeline.sources.download.http_client import Web
from pipeline.sources.download.manifest import Manifest, SeenRemote, WantedFile
from pipeline.sources.download.remote_zip import Archive, Damaged

OFFICIAL = "https://downloads.cs.stanford.edu/nlp/data/gqa"
QUESTIONS, GRAPHS, PICTURES, CHOICES = "questions1.2.zip", "sceneGraphs.zip", "images.zip", "eval.zip"
STATED = {QUESTIONS: "1.4 GB", GRAPHS: "42.7 MB", PICTURES: "20.3 GB", CHOICES: "784 MB"}
MB = 1_000_000
# A member that claims to be larger is not what GQA has: it is not unpacked.
LARGEST = {QUESTIONS: 16_000 * MB, GRAPHS: 2_000 * MB, PICTURES: 50 * MB, CHOICES: 16_000 * MB}
SAVE_EVERY = 1000  # files between two writings of the manifest


def is_web(address: str) -> bool:
    return address.startswith(("https://", "http://"))


class Official:
    """`address` is a web address or a folder; `all_of_it`: archives are fetched whole, from servers that ignore byte ranges.

    Raises:
        UserError: it is neither.
    """

    def __init__(self, web: Web, address: str, all_of_it: bool = False) -> None:
        if not is_web(address) and not Path(address).is_dir():
            raise UserError(
                f"{address!r}: neither `official`, `hub`, a web address (https://...) nor a folder that is there; "
                f"a folder or server holds the archives {', '.join(STATED)}, or folders of Parquet files as on the hub"
            )
        self.web, self.address = web, address.rstrip("/") if is_web(address) else address
        self.all_of_it = all_of_it
        self._archives: dict[str, Archive] = {}

    def archive(self, name: str) -> Archive:
        """An archive of this name with its directory read.

        Raises:
            UserError: it is not there, or no archive.
        """
        if name not in self._archives:
            self._archives[name] = Archive(self._opened(f"{self.address}/{name}", name), name, LARGEST[name])
        return self._archives[name]

    def remotes(self) -> dict[str, SeenRemote]:
        """The archives that were asked about so far, by name."""
        return {
            name: SeenRemote(address=archive.file.address, size=archive.file.size, sum=archive.sum)
            for name, archive in self._archives.items()
        }

    def questions(self, split: str, which: str) -> list[WantedFile]:
        name = f"{split}_{which}_questions"
        if parts := self._matching(QUESTIONS, rf"{name}_\d+\.json"):
            return self._wanted(
                QUESTIONS, f"questions1.2/{name}", parts
            )  # all of train are a folder of files
        return self._wanted(QUESTIONS, "questions1.2", [f"{name}.json"])

    def graphs(self, split: str) -> list[WantedFile]:
        return self._wanted(GRAPHS, "sceneGraphs", [f"{split}_sceneGraphs.json"])

    def choices(self, split: str) -> list[WantedFile]:
        """The answers that are valid and plausible, for the scores of those names."""
        members = self._matching(CHOICES, rf"{split}_choices.*\.json")
        if not members:
            raise UserError(f"{CHOICES}: there are no choices of {split}; leave out --choices")
        return self._wanted(CHOICES, "eval", members)

    def pictures(self, ids: Iterable[str]) -> list[WantedFile]:
        return self._wanted(PICTURES, "images", [f"{picture_id}.jpg" for picture_id in ids])

    def fetch(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Fetch the files in parallel; a damaged one does not keep the others."""

        def extract(file: WantedFile) -> None:
            try:
                path = manifest.source / file.path
                self.archive(file.origin).extract(path.name, path)
                manifest.note(file.path, file.origin)
            except Damaged as error:
                problems.lines += error.problems

        with self.web.progress("fetch: from the archives", sum(file.receive for file in wanted)):
            for number, _ in enumerate(self.web.parallel(extract, wanted), 1):
                if number % SAVE_EVERY == 0:
                    manifest.save()

    def _opened(self, url: str, name: str) -> LocalFile | RemoteFile:
        if not is_web(self.address):
            if not Path(url).is_file():
                raise UserError(
                    f"{url}: no such file; put it there, or name the archives' place with --archives"
                )
            return LocalFile(Path(url))
        remote = RemoteFile(self.web, name, url)
        if self.all_of_it:
            remote.whole()
        elif not remote.version.ranges and remote.missing(0, remote.size):
            raise UserError(
                f"{url}: the server ignores byte ranges, so single members cannot be read; all of it is "
                f"{decimal(remote.size)}: fetch it with --whole, or name another server with --archives"
            )
        return remote

    def _matching(self, archive: str, pattern: str) -> list[str]:
        return sorted(name for name in self.archive(archive).members if re.fullmatch(pattern, name))

    def _wanted(self, origin: str, folder: str, names: list[str]) -> list[WantedFile]:
        """The members of these names as files in a folder; an error names all that are not there or not to be unpacked."""
        archive = self.archive(origin)
        files: list[WantedFile] = []
        faults: list[str] = []
        for name in names:
            with collected_into(faults):
                info = archive.find(name)
                receive = archive.missing(info)
                files.append(WantedFile(f"{folder}/{name}", origin, receive, info.file_size, info.CRC))
        if faults:
            raise UserError(faults)
        return files
