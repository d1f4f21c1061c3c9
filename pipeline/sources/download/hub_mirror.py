"""The door to the copy of GQA on the Hugging Face hub: Parquet files, turned into GQA's own layout.

    <split>_<balanced|all>_instructions/*.parquet   id and the fields of a question
    <split>_<balanced|all>_images/*.parquet         id, image (bytes, path)

The same folders in a folder of one's own serve as well. `huggingface_hub` lists the files and says who asks (HF_ENDPOINT,
HF_TOKEN). Their bytes come as those of the archives do: the library throws away what a killed process had received,
and does not check the SHA-256 that the hub states. The data set moved from lmms-lab to lmms-lab-encoder; mirrors may have
either. https://huggingface.co/datasets/lmms-lab-encoder/GQA
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile, RepoFolder
from huggingface_hub.utils import build_hf_headers

from pipeline.core.atomic_files import atomic_write, sha256_file
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.progress import track
from pipeline.sources.download.byte_ranges import RemoteFile
from pipeline.sources.download.http_client import HttpClient, ServerUnreachableError
from pipeline.sources.download.hub_parquet import iter_rows, read_questions
from pipeline.sources.download.manifest import Manifest, RemoteFingerprint, WantedFile
from pipeline.sources.download.official_archives import IMAGES_ARCHIVE, MAX_MEMBER_BYTES
from pipeline.sources.large_json import write_members

HUB_DATASETS = ("lmms-lab-encoder/GQA", "lmms-lab/GQA")  # tried in turn
# Bytes of GQA's JSON for a byte of Parquet, for the question whether the disk has room: 6 for 2,421 questions, more
# for larger files, which pack better.
JSON_BYTES_PER_PARQUET_BYTE = 12


class HubMirror:
    """`folder` is a folder with the hub's folders in it, or None for the hub itself."""

    def __init__(self, web: HttpClient, folder: Path | None = None) -> None:
        self.client, self.folder = web, folder
        self.cache = web.cache_dir / "hub"
        self.dataset = HUB_DATASETS[0]  # the one that the hub has, once it was asked
        self._files_by_folder: dict[str, dict[str, RemoteFingerprint]] = {}  # folder -> path -> Parquet file

    @property
    def address(self) -> str:
        return self.folder.as_posix() if self.folder else f"{constants.ENDPOINT}/datasets/{self.dataset}"

    def get_seen_remotes(self) -> dict[str, RemoteFingerprint]:
        """The Parquet files that were asked about so far, by their path in the data set."""
        return {path: file for files in self._files_by_folder.values() for path, file in files.items()}

    def list_questions(self, split: str, which: str) -> list[WantedFile]:
        path, origin = f"questions1.2/{split}_{which}_questions.json", f"{split}_{which}_instructions"
        size, receive = self._sum_sizes(origin)
        return [WantedFile(path, origin, receive, JSON_BYTES_PER_PARQUET_BYTE * size)]

    def list_images(self, split: str, which: str, ids: list[str]) -> list[WantedFile]:
        """One file an image; the bytes of the whole Parquet files are shared out evenly among them."""
        origin = f"{split}_{which}_images"
        size, receive = (total // max(1, len(ids)) for total in self._sum_sizes(origin))
        return [WantedFile(f"images/{name}.jpg", origin, receive, size) for name in ids]

    def fetch(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Make the files and note them; what is wrong with an image goes to `problems`."""
        for file in wanted:
            if not is_image_path(file.path):
                self._fetch_questions(file, manifest)
        if images := [file for file in wanted if is_image_path(file.path)]:
            self._fetch_images(images, manifest, problems)

    def _fetch_questions(self, wanted: WantedFile, manifest: Manifest) -> None:
        parts = [self._download_parquet(path) for path in self._list_files(wanted.origin)]
        with atomic_write(manifest.source / wanted.path) as file:
            write_members(file, read_questions(parts))
            file.flush()
            # Noted before it takes its place: a kill in between must leave no file that nobody knows.
            manifest.add_file(wanted.path, wanted.origin, Path(file.name))
            manifest.save()

    def _fetch_images(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Write the wanted images out of the Parquet files, one file after the other."""
        left = {PurePosixPath(file.path).stem: file for file in wanted}
        for path in self._list_files(wanted[0].origin):
            if not left:
                break
            images = iter_rows(self._download_parquet(path), {"id", "image"})
            for row in track(images, f"fetch: images of {path}", unit="image"):
                if image := left.pop(row["id"], None):
                    _write_image(image, row["image"], manifest, problems)
            manifest.save()
        for image_id, file in sorted(left.items()):
            problems.add(f"image {image_id}", f"not in {file.origin} of the hub")

    def _sum_sizes(self, folder: str) -> tuple[int, int]:
        """Bytes of a folder's Parquet files, and how many of these are still to be received."""
        files = self._list_files(folder)
        size = sum(file.size for file in files.values())
        here = [file for path, file in files.items() if (self.cache / path / f"0-{file.size}").exists()]
        return size, 0 if self.folder else size - sum(file.size for file in here)

    def _list_files(self, folder: str) -> dict[str, RemoteFingerprint]:
        """The Parquet files of a folder by their paths; listed once. There is one at least."""
        if folder not in self._files_by_folder:
            listing = self.cache / folder / "listing.json"
            if self.folder:
                parts = sorted((self.folder / folder).glob("*.parquet"))
                files = {
                    f"{folder}/{part.name}": RemoteFingerprint(
                        address=part.as_posix(), size=part.stat().st_size, checksum=sha256_file(part)
                    )
                    for part in parts
                }
            elif not self.client.offline:
                files = self._request_files(folder)
                write_json(listing, files)
            elif listing.exists():
                files = read_json(listing, dict[str, RemoteFingerprint])
            else:
                raise UserError(
                    f"{folder}: not in the cache {self.cache}, and --offline forbids to ask the hub"
                )
            if not files:
                raise UserError(f"{self.address}: no Parquet file in {folder}")
            self._files_by_folder[folder] = files
        return self._files_by_folder[folder]

    def _request_files(self, folder: str) -> dict[str, RemoteFingerprint]:
        """What the hub says of a folder's Parquet files; an error if it is out of reach, refuses, or answers else."""
        try:
            entries = self._request_entries(folder)
        # The library's client has its own kinds of errors, and so has an answer of another form.
        except Exception as error:
            refused = isinstance(error, HfHubHTTPError) and error.response.status_code < 500
            hopeless = refused or isinstance(error, ValueError | KeyError | TypeError)
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise (UserError if hopeless else ServerUnreachableError)(
                f"{self.address}, {folder}: the hub gives no list of its files ({reason}); is it up, and are HF_ENDPOINT and HF_TOKEN right?"
            ) from error
        files: dict[str, RemoteFingerprint] = {}
        for entry in entries:
            if isinstance(entry, RepoFile) and entry.path.endswith(".parquet"):
                if not re.fullmatch(rf"{re.escape(folder)}/[A-Za-z0-9_.-]+", entry.path):
                    raise UserError(f"{self.address}, {folder}: {entry.path!r} is not a file of this folder")
                address, sha256 = f"{self.address}/{entry.path}", entry.lfs.sha256 if entry.lfs else ""
                files[entry.path] = RemoteFingerprint(address=address, size=entry.size, checksum=sha256)
        return dict(sorted(files.items()))

    def _request_entries(self, folder: str) -> list[RepoFile | RepoFolder]:
        """What the hub has in a folder of the data set, under the first of its names that the hub knows."""
        for number, self.dataset in enumerate(HUB_DATASETS, 1):
            try:
                return list(HfApi().list_repo_tree(self.dataset, folder, repo_type="dataset"))
            except RepositoryNotFoundError:
                if number == len(HUB_DATASETS):
                    raise
        raise AssertionError("no name to try")

    def _download_parquet(self, path: str) -> Path:
        """A Parquet file on the disk, with the SHA-256 that was stated."""
        if self.folder:
            return self.folder / path
        # Of the library's headers, the one that says who asks.
        headers = {name: value for name, value in build_hf_headers().items() if name == "authorization"}
        url = hf_hub_url(self.dataset, path, repo_type="dataset")
        remote = RemoteFile(self.client, f"hub/{path}", url, headers)
        file, stated = remote.download_all(), self.get_seen_remotes()[path]
        if remote.size != stated.size or (stated.checksum and sha256_file(file) != stated.checksum):
            remote.delete_range(0, remote.size)
            raise UserError(
                f"{remote.url}: damaged, or changed meanwhile (its SHA-256 is not the one stated); run the same command again"
            )
        return file


def is_image_path(path: str) -> bool:
    return path.startswith("images/")


def with_png_suffix(path: str) -> str:
    """The name of an image that the hub has as PNG instead of JPEG.

    >>> as_png("images/n1.jpg")
    'images/n1.png'
    """
    return path.removesuffix(".jpg") + ".png"


def _write_image(
    wanted: WantedFile, image: dict[str, Any] | None, manifest: Manifest, problems: Problems
) -> None:
    """Write an image of the hub. An image of another content stays, unless it was fetched (and is damaged, or of an
    older version)."""
    data = (image or {}).get("bytes") or b""
    where = f"image {PurePosixPath(wanted.path).stem} of {wanted.origin}"
    names = {b"\xff\xd8": wanted.path, b"\x89PNG": with_png_suffix(wanted.path)}
    path = next((name for magic, name in names.items() if data.startswith(magic)), None)
    if path is None:
        problems.add(where, "neither JPEG nor PNG")
        return
    if len(data) > MAX_MEMBER_BYTES[IMAGES_ARCHIVE]:
        problems.add(where, f"{len(data):,} bytes, more than {MAX_MEMBER_BYTES[IMAGES_ARCHIVE]:,}")
        return
    for name in manifest.files.keys() & names.values():
        (manifest.source / name).unlink(missing_ok=True)
    target = manifest.source / path
    if target.exists() and target.read_bytes() != data:
        problems.add(
            path, "is there already and is not the hub's; move it away and run the same command again"
        )
        return
    with atomic_write(target) as file:
        file.write(data)
    manifest.add_file(path, wanted.origin)
