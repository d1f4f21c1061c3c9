"""The door to the official archives: questions, scene graphs, choices, and single images of a split.

Sizes are those that the download pages state; what counts is what the server says when asked.
https://cs.stanford.edu/people/dorarad/gqa/download.html and evaluate.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from rich.filesize import decimal

from pipeline.core.errors import Problems, UserError, collect_errors
from pipeline.sources.download.byte_ranges import LocalFile, RemoteFile
from pipeline.sources.download.http_client import HttpClient
from pipeline.sources.download.manifest import Manifest, RemoteFingerprint, WantedFile
from pipeline.sources.download.remote_zip import DamagedMemberError, RemoteZip

OFFICIAL_URL = "https://downloads.cs.stanford.edu/nlp/data/gqa"
QUESTIONS_ARCHIVE, SCENE_GRAPHS_ARCHIVE, IMAGES_ARCHIVE, CHOICES_ARCHIVE = (
    "questions1.2.zip",
    "sceneGraphs.zip",
    "images.zip",
    "eval.zip",
)
STATED_SIZES = {
    QUESTIONS_ARCHIVE: "1.4 GB",
    SCENE_GRAPHS_ARCHIVE: "42.7 MB",
    IMAGES_ARCHIVE: "20.3 GB",
    CHOICES_ARCHIVE: "784 MB",
}
MB = 1_000_000
# A member that claims to be larger is not what GQA has: it is not unpacked.
MAX_MEMBER_BYTES = {
    QUESTIONS_ARCHIVE: 16_000 * MB,
    SCENE_GRAPHS_ARCHIVE: 2_000 * MB,
    IMAGES_ARCHIVE: 50 * MB,
    CHOICES_ARCHIVE: 16_000 * MB,
}
FILES_PER_MANIFEST_SAVE = 1000  # files between two writings of the manifest


def is_url(address: str) -> bool:
    return address.startswith(("https://", "http://"))


class OfficialArchives:
    """`address` is a web address or a folder; `all_of_it`: archives are fetched whole, from servers that ignore byte ranges.

    Raises:
        UserError: it is neither.
    """

    def __init__(self, web: HttpClient, address: str, all_of_it: bool = False) -> None:
        if not is_url(address) and not Path(address).is_dir():
            raise UserError(
                f"{address!r}: neither `official`, `hub`, a web address (https://...) nor a folder that is there; "
                f"a folder or server holds the archives {', '.join(STATED_SIZES)}, or folders of Parquet files as on the hub"
            )
        self.client, self.address = web, address.rstrip("/") if is_url(address) else address
        self.full_archives = all_of_it
        self._archives: dict[str, RemoteZip] = {}

    def get_archive(self, name: str) -> RemoteZip:
        """An archive of this name with its directory read.

        Raises:
            UserError: it is not there, or no archive.
        """
        if name not in self._archives:
            self._archives[name] = RemoteZip(
                self._open_file(f"{self.address}/{name}", name), name, MAX_MEMBER_BYTES[name]
            )
        return self._archives[name]

    def get_seen_remotes(self) -> dict[str, RemoteFingerprint]:
        """The archives that were asked about so far, by name."""
        return {
            name: RemoteFingerprint(
                address=archive.file.url, size=archive.file.size, checksum=archive.directory_sha256
            )
            for name, archive in self._archives.items()
        }

    def list_questions(self, split: str, which: str) -> list[WantedFile]:
        name = f"{split}_{which}_questions"
        if parts := self._match_members(QUESTIONS_ARCHIVE, rf"{name}_\d+\.json"):
            return self._list_members(
                QUESTIONS_ARCHIVE, f"questions1.2/{name}", parts
            )  # all of train are a folder of files
        return self._list_members(QUESTIONS_ARCHIVE, "questions1.2", [f"{name}.json"])

    def list_scene_graphs(self, split: str) -> list[WantedFile]:
        return self._list_members(SCENE_GRAPHS_ARCHIVE, "sceneGraphs", [f"{split}_sceneGraphs.json"])

    def list_choices(self, split: str) -> list[WantedFile]:
        """The answers that are valid and plausible, for the scores of those names."""
        members = self._match_members(CHOICES_ARCHIVE, rf"{split}_choices.*\.json")
        if not members:
            raise UserError(f"{CHOICES_ARCHIVE}: there are no choices of {split}; leave out --answer-choices")
        return self._list_members(CHOICES_ARCHIVE, "eval", members)

    def list_images(self, ids: Iterable[str]) -> list[WantedFile]:
        return self._list_members(IMAGES_ARCHIVE, "images", [f"{image_id}.jpg" for image_id in ids])

    def fetch(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Fetch the files in parallel; a damaged one does not keep the others."""

        def extract(file: WantedFile) -> None:
            try:
                path = manifest.source / file.path
                self.get_archive(file.origin).extract(path.name, path)
                manifest.add_file(file.path, file.origin)
            except DamagedMemberError as error:
                problems.lines += error.problems

        with self.client.show_progress(
            "fetch: from the archives", sum(file.download_bytes for file in wanted)
        ):
            for number, _ in enumerate(self.client.map_parallel(extract, wanted), 1):
                if number % FILES_PER_MANIFEST_SAVE == 0:
                    manifest.save()

    def _open_file(self, url: str, name: str) -> LocalFile | RemoteFile:
        if not is_url(self.address):
            if not Path(url).is_file():
                raise UserError(
                    f"{url}: no such file; put it there, or name the archives' place with --archives-from"
                )
            return LocalFile(Path(url))
        remote = RemoteFile(self.client, name, url)
        if self.full_archives:
            remote.download_all()
        elif not remote.version.supports_ranges and remote.count_missing_bytes(0, remote.size):
            raise UserError(
                f"{url}: the server ignores byte ranges, so single members cannot be read; all of it is "
                f"{decimal(remote.size)}: fetch it with --full-archives, or name another server with --archives-from"
            )
        return remote

    def _match_members(self, archive: str, pattern: str) -> list[str]:
        return sorted(name for name in self.get_archive(archive).members if re.fullmatch(pattern, name))

    def _list_members(self, origin: str, folder: str, names: list[str]) -> list[WantedFile]:
        """The members of these names as files in a folder; an error names all that are not there or not to be unpacked."""
        archive = self.get_archive(origin)
        files: list[WantedFile] = []
        faults: list[str] = []
        for name in names:
            with collect_errors(faults):
                info = archive.get_member(name)
                receive = archive.count_missing_bytes(info)
                files.append(WantedFile(f"{folder}/{name}", origin, receive, info.file_size, info.CRC))
        if faults:
            raise UserError(faults)
        return files
