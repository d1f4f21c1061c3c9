"""Download from the official archives of GQA: questions, scene graphs, answer choices, and single images of a
split.

`STATED_SIZES` are the sizes on the download pages. They are only shown to the user; downloads use the sizes
that the server states. https://cs.stanford.edu/people/dorarad/gqa/download.html and evaluate.html
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
# Maximum size of a member by archive. Larger members cannot be from GQA, and are not unpacked.
MAX_MEMBER_BYTES = {
    QUESTIONS_ARCHIVE: 16_000 * MB,
    SCENE_GRAPHS_ARCHIVE: 2_000 * MB,
    IMAGES_ARCHIVE: 50 * MB,
    CHOICES_ARCHIVE: 16_000 * MB,
}
FILES_PER_MANIFEST_SAVE = 1000


def is_url(address: str) -> bool:
    return address.startswith(("https://", "http://"))


class OfficialArchives:
    """The archives at a URL or in a folder.

    Args:
        client: The HTTP client.
        address: URL or folder of the archives.
        full_archives: Download complete archives instead of the needed members, for servers that ignore byte
            ranges.

    Raises:
        UserError: The address is neither a URL nor a folder.
    """

    def __init__(self, client: HttpClient, address: str, full_archives: bool = False) -> None:
        if not is_url(address) and not Path(address).is_dir():
            raise UserError(
                f"{address!r}: use `official`, `hub`, a URL (https://...) or an existing folder, with the archives "
                f"{', '.join(STATED_SIZES)} or the Parquet folders of the Hub"
            )
        self.client, self.address = client, address.rstrip("/") if is_url(address) else address
        self.full_archives = full_archives
        self._archives: dict[str, RemoteZip] = {}

    def get_archive(self, name: str) -> RemoteZip:
        """Return an archive. Its directory is read when the archive is opened for the first time.

        Raises:
            UserError: The archive does not exist, or the file is not a ZIP archive.
        """
        if name not in self._archives:
            self._archives[name] = RemoteZip(
                self._open_file(f"{self.address}/{name}", name), name, MAX_MEMBER_BYTES[name]
            )
        return self._archives[name]

    def get_seen_remotes(self) -> dict[str, RemoteFingerprint]:
        """Return the archives that were opened so far, by name."""
        return {
            name: RemoteFingerprint(
                address=archive.file.url, size=archive.file.size, checksum=archive.directory_sha256
            )
            for name, archive in self._archives.items()
        }

    def list_questions(self, split: str, question_set: str) -> list[WantedFile]:
        name = f"{split}_{question_set}_questions"
        # The set of all questions of split train consists of several files in a folder.
        if members := self._match_members(QUESTIONS_ARCHIVE, rf"{name}_\d+\.json"):
            return self._list_members(QUESTIONS_ARCHIVE, f"questions1.2/{name}", members)
        return self._list_members(QUESTIONS_ARCHIVE, "questions1.2", [f"{name}.json"])

    def list_scene_graphs(self, split: str) -> list[WantedFile]:
        return self._list_members(SCENE_GRAPHS_ARCHIVE, "sceneGraphs", [f"{split}_sceneGraphs.json"])

    def list_choices(self, split: str) -> list[WantedFile]:
        """List the files with the answer choices, which the scores validity and plausibility need."""
        members = self._match_members(CHOICES_ARCHIVE, rf"{split}_choices.*\.json")
        if not members:
            raise UserError(f"{CHOICES_ARCHIVE}: no answer choices of {split}; leave out --answer-choices")
        return self._list_members(CHOICES_ARCHIVE, "eval", members)

    def list_images(self, ids: Iterable[str]) -> list[WantedFile]:
        return self._list_members(IMAGES_ARCHIVE, "images", [f"{image_id}.jpg" for image_id in ids])

    def fetch(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Download files in parallel.

        Damaged files are added to `problems`, and the other files are still downloaded.
        """

        def extract(file: WantedFile) -> None:
            try:
                path = manifest.source / file.path
                self.get_archive(file.origin).extract(path.name, path)
                manifest.add_file(file.path, file.origin)
            except DamagedMemberError as error:
                problems.lines += error.problems

        with self.client.show_progress("fetch: archives", sum(file.download_bytes for file in wanted)):
            for number, _ in enumerate(self.client.map_parallel(extract, wanted), 1):
                if number % FILES_PER_MANIFEST_SAVE == 0:
                    manifest.save()

    def _open_file(self, url: str, name: str) -> LocalFile | RemoteFile:
        if not is_url(self.address):
            if not Path(url).is_file():
                raise UserError(
                    f"{url}: no such file; put it there, or give the place of the archives with --archives-from"
                )
            return LocalFile(Path(url))
        remote = RemoteFile(self.client, name, url)
        if self.full_archives:
            remote.download_all()
        elif not remote.version.supports_ranges and remote.count_missing_bytes(0, remote.size):
            raise UserError(
                f"{url}: the server ignores byte ranges, so single members cannot be read; download the whole archive "
                f"({decimal(remote.size)}) with --full-archives, or use another server with --archives-from"
            )
        return remote

    def _match_members(self, archive: str, pattern: str) -> list[str]:
        return sorted(name for name in self.get_archive(archive).members if re.fullmatch(pattern, name))

    def _list_members(self, origin: str, folder: str, names: list[str]) -> list[WantedFile]:
        """Return members of an archive as files to create in a folder.

        Args:
            origin: Name of the archive.
            folder: Folder below the source folder.
            names: Base names of the members.

        Raises:
            UserError: Lists members that are missing or must not be unpacked.
        """
        archive = self.get_archive(origin)
        files: list[WantedFile] = []
        problems: list[str] = []
        for name in names:
            with collect_errors(problems):
                info = archive.get_member(name)
                download_bytes = archive.count_missing_bytes(info)
                files.append(WantedFile(f"{folder}/{name}", origin, download_bytes, info.file_size, info.CRC))
        if problems:
            raise UserError(problems)
        return files
