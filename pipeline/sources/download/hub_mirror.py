"""Download from the copy of GQA on the Hugging Face Hub, and convert its Parquet files to the layout of GQA.

    <split>_<balanced|all>_instructions/*.parquet   id and the fields of a question
    <split>_<balanced|all>_images/*.parquet         id, image (bytes, path)

A local folder that contains these folders can be used instead of the Hub. The library `huggingface_hub` lists
the files and authenticates (HF_ENDPOINT, HF_TOKEN). The files themselves are downloaded in the same way as
the official archives, because the library deletes partial downloads of killed processes and does not check
SHA-256. The data set moved from lmms-lab to lmms-lab-encoder. Mirrors of the Hub may have either name.
https://huggingface.co/datasets/lmms-lab-encoder/GQA
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

# Names of the data set, tried in turn.
HUB_DATASETS = ("lmms-lab-encoder/GQA", "lmms-lab/GQA")
# Estimated size of a JSON file, in bytes per byte of the Parquet file. It was 6 for 2,421 questions, and is
# higher for larger files, which compress better.
JSON_BYTES_PER_PARQUET_BYTE = 12


class HubMirror:
    """The Parquet folders on the Hub or on this machine.

    Args:
        client: The HTTP client.
        folder: A local folder that contains the folders of the Hub; None to use the Hub.

    Attributes:
        dataset: Name of the data set on the Hub. After the first request, this is the name that exists.
    """

    def __init__(self, client: HttpClient, folder: Path | None = None) -> None:
        self.client, self.folder = client, folder
        self.cache = client.cache_dir / "hub"
        self.dataset = HUB_DATASETS[0]
        # Folder -> path -> Parquet file.
        self._files_by_folder: dict[str, dict[str, RemoteFingerprint]] = {}

    @property
    def address(self) -> str:
        return self.folder.as_posix() if self.folder else f"{constants.ENDPOINT}/datasets/{self.dataset}"

    def get_seen_remotes(self) -> dict[str, RemoteFingerprint]:
        """Return the Parquet files that were listed so far, by path."""
        return {path: file for files in self._files_by_folder.values() for path, file in files.items()}

    def list_questions(self, split: str, question_set: str) -> list[WantedFile]:
        origin = f"{split}_{question_set}_instructions"
        path = f"questions1.2/{split}_{question_set}_questions.json"
        size, download_bytes = self._sum_sizes(origin)
        return [WantedFile(path, origin, download_bytes, JSON_BYTES_PER_PARQUET_BYTE * size)]

    def list_images(self, split: str, question_set: str, ids: list[str]) -> list[WantedFile]:
        """Return one file per image. The bytes of the Parquet files are divided evenly among the images."""
        origin = f"{split}_{question_set}_images"
        size, download_bytes = (total // max(1, len(ids)) for total in self._sum_sizes(origin))
        return [WantedFile(f"images/{name}.jpg", origin, download_bytes, size) for name in ids]

    def fetch(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Create the wanted files and record them in the manifest.

        Problems of images are added to `problems`.
        """
        for file in wanted:
            if not is_image_path(file.path):
                self._fetch_questions(file, manifest)
        if images := [file for file in wanted if is_image_path(file.path)]:
            self._fetch_images(images, manifest, problems)

    def _fetch_questions(self, wanted: WantedFile, manifest: Manifest) -> None:
        parquet_files = [self._download_parquet(path) for path in self._list_files(wanted.origin)]
        with atomic_write(manifest.source / wanted.path) as file:
            write_members(file, read_questions(parquet_files))
            file.flush()
            # The file is recorded before it is renamed. If the process is killed in between, no unrecorded
            # file is left.
            manifest.add_file(wanted.path, wanted.origin, Path(file.name))
            manifest.save()

    def _fetch_images(self, wanted: list[WantedFile], manifest: Manifest, problems: Problems) -> None:
        """Extract the wanted images from the Parquet files, one file after the other."""
        remaining = {PurePosixPath(file.path).stem: file for file in wanted}
        for path in self._list_files(wanted[0].origin):
            if not remaining:
                break
            images = iter_rows(self._download_parquet(path), {"id", "image"})
            for row in track(images, f"fetch: images of {path}", unit="image"):
                if image := remaining.pop(row["id"], None):
                    _write_image(image, row["image"], manifest, problems)
            manifest.save()
        for image_id, file in sorted(remaining.items()):
            problems.add(f"image {image_id}", f"not in {file.origin} of the Hub")

    def _sum_sizes(self, folder: str) -> tuple[int, int]:
        """Return the size of the Parquet files in a folder, and how many of these bytes must be downloaded."""
        files = self._list_files(folder)
        size = sum(file.size for file in files.values())
        cached = [file for path, file in files.items() if (self.cache / path / f"0-{file.size}").exists()]
        return size, 0 if self.folder else size - sum(file.size for file in cached)

    def _list_files(self, folder: str) -> dict[str, RemoteFingerprint]:
        """Return the Parquet files of a folder by path. Each folder is listed only once.

        Raises:
            UserError: There is no Parquet file in the folder, or its listing is not in the cache.
        """
        if folder not in self._files_by_folder:
            listing = self.cache / folder / "listing.json"
            if self.folder:
                files = {
                    f"{folder}/{path.name}": RemoteFingerprint(
                        address=path.as_posix(), size=path.stat().st_size, checksum=sha256_file(path)
                    )
                    for path in sorted((self.folder / folder).glob("*.parquet"))
                }
            elif not self.client.offline:
                files = self._request_files(folder)
                write_json(listing, files)
            elif listing.exists():
                files = read_json(listing, dict[str, RemoteFingerprint])
            else:
                raise UserError(
                    f"{folder}: not in the cache {self.cache}; leave out --offline to download it"
                )
            if not files:
                raise UserError(f"{self.address}: no Parquet file in {folder}")
            self._files_by_folder[folder] = files
        return self._files_by_folder[folder]

    def _request_files(self, folder: str) -> dict[str, RemoteFingerprint]:
        """Return the Parquet files of a folder on the Hub.

        Raises:
            ServerUnreachableError: The Hub does not answer.
            UserError: The Hub refuses, or its answer is unexpected.
        """
        try:
            entries = self._request_entries(folder)
        # The library raises many kinds of errors, and unexpected answers cause further kinds.
        except Exception as error:
            is_refused = isinstance(error, HfHubHTTPError) and error.response.status_code < 500
            is_permanent = is_refused or isinstance(error, ValueError | KeyError | TypeError)
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise (UserError if is_permanent else ServerUnreachableError)(
                f"{self.address}, {folder}: the Hub does not list the files ({reason}); check that it is up, and check HF_ENDPOINT and HF_TOKEN"
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
        """Return the entries of a folder.

        The names of the data set are tried in turn, and the first existing one is used.
        """
        for number, self.dataset in enumerate(HUB_DATASETS, 1):
            try:
                return list(HfApi().list_repo_tree(self.dataset, folder, repo_type="dataset"))
            except RepositoryNotFoundError:
                if number == len(HUB_DATASETS):
                    raise
        raise AssertionError("no name to try")

    def _download_parquet(self, path: str) -> Path:
        """Return a Parquet file on this machine. It is downloaded if needed, and its SHA-256 is checked."""
        if self.folder:
            return self.folder / path
        # Of the headers of the library, only the header with the token is needed.
        headers = {name: value for name, value in build_hf_headers().items() if name == "authorization"}
        url = hf_hub_url(self.dataset, path, repo_type="dataset")
        remote = RemoteFile(self.client, f"hub/{path}", url, headers)
        file, stated = remote.download_all(), self.get_seen_remotes()[path]
        if remote.size != stated.size or (stated.checksum and sha256_file(file) != stated.checksum):
            remote.delete_range(0, remote.size)
            raise UserError(
                f"{remote.url}: damaged, or changed meanwhile (its SHA-256 differs from the stated one); run the same command again"
            )
        return file


def is_image_path(path: str) -> bool:
    return path.startswith("images/")


def with_png_suffix(path: str) -> str:
    """Return the path of an image that the Hub has as PNG instead of JPEG.

    Example:
        >>> with_png_suffix("images/n1.jpg")
        'images/n1.png'
    """
    return path.removesuffix(".jpg") + ".png"


def _write_image(
    wanted: WantedFile, image: dict[str, Any] | None, manifest: Manifest, problems: Problems
) -> None:
    """Write an image of the Hub.

    An existing image with other content is replaced only if it was downloaded before, and is now damaged or
    outdated.
    """
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
            path, "already exists and differs from the Hub; move it away and run the same command again"
        )
        return
    with atomic_write(target) as file:
        file.write(data)
    manifest.add_file(path, wanted.origin)
