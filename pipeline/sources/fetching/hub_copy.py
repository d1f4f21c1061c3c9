"""The door to the copy of GQA on the Hugging Face hub: Parquet files, turned into GQA's own layout.

    <split>_<balanced|all>_instructions/*.parquet   id and the fields of a question
    <split>_<balanced|all>_images/*.parquet         id, image (bytes, path)

The same folders in a folder of one's own serve as well. `huggingface_hub` lists the files and says who asks (HF_ENDPOINT,
HF_TOKEN). Their bytes come as those of the archives do: the library throws away what a killed process had received,
and does not check the SHA-256 that the hub states.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, replacing, sha256_file, write_json
from pipeline.core.progress import track
from pipeline.core.records import Record
from pipeline.sources.fetching.addresses import HUB_DATASET, LARGEST, PICTURES
from pipeline.sources.fetching.byte_ranges import Store
from pipeline.sources.fetching.hub_parquet import opened, write_questions
from pipeline.sources.fetching.manifest import Manifest, SeenRemote
from pipeline.sources.fetching.wanted_files import WantedFile
from pipeline.sources.fetching.web_files import Unreachable

# Bytes of GQA's JSON for a byte of Parquet, for the question whether the disk has room: 6 for 2,421 questions, more
# for larger files, which pack better.
GROWS = 12


class HubFile(Record):
    """A Parquet file: path in the data set, bytes, SHA-256 ("" where the hub states none)."""

    path: str
    size: int
    sha256: str


class Hub:
    """`folder` is a folder with the hub's folders in it, or None for the hub itself."""

    def __init__(self, store: Store, folder: Path | None = None) -> None:
        self.store, self.folder = store, folder
        self.cache = store.cache / "hub"
        self.address = folder.as_posix() if folder else f"{_endpoint()}/datasets/{HUB_DATASET}"
        self._listed: dict[str, list[HubFile]] = {}

    def remotes(self) -> dict[str, SeenRemote]:
        return {
            file.path: SeenRemote(address=f"{self.address}/{file.path}", size=file.size, sum=file.sha256)
            for files in self._listed.values()
            for file in files
        }

    def questions(self, split: str, which: str) -> list[WantedFile]:
        folder = f"{split}_{which}_instructions"
        size = sum(file.size for file in self._files(folder))
        path = f"questions1.2/{split}_{which}_questions.json"
        return [WantedFile(path, folder, 0 if self.folder else size, GROWS * size, self)]

    def pictures(self, split: str, which: str, ids: list[str]) -> list[WantedFile]:
        """One file a picture; the bytes of the whole Parquet files are shared out evenly among them."""
        folder = f"{split}_{which}_images"
        size = sum(file.size for file in self._files(folder)) // max(1, len(ids))
        receive = 0 if self.folder else size
        return [WantedFile(f"images/{name}.jpg", folder, receive, size, self) for name in ids]

    def holds(self, wanted: WantedFile, path: Path) -> bool | None:
        """Only the manifest knows the sums of what is made from Parquet; a picture is compared when it is fetched."""
        return None if _is_picture(wanted) else False

    def waiting(self, wanted: list[WantedFile]) -> int:
        if self.folder:
            return 0
        sizes = {file.origin: [part.size for part in self._files(file.origin)] for file in wanted}
        if self.store.keep:
            return sum(map(sum, sizes.values()))
        # Pictures are taken out of one file after the other; questions are converted when all their files are there.
        pictures = {file.origin for file in wanted if _is_picture(file)}
        return max(
            (max(of, default=0) if origin in pictures else sum(of) for origin, of in sizes.items()), default=0
        )

    def fetch(self, wanted: list[WantedFile], source: Path, manifest: Manifest, problems: Problems) -> None:
        for file in wanted:
            if not _is_picture(file):
                self._fetch_questions(file, source, manifest)
        pictures = [file for file in wanted if _is_picture(file)]
        if pictures:
            self._fetch_pictures(pictures, source, manifest, problems)

    def _fetch_questions(self, wanted: WantedFile, source: Path, manifest: Manifest) -> None:
        files = self._files(wanted.origin)
        paths = [self._received(file) for file in files]
        with replacing(source / wanted.path) as file:
            write_questions(paths, file)
            file.flush()
            # Noted before it takes its place: a kill in between must leave no file that nobody knows.
            manifest.note(wanted.path, wanted.origin, Path(file.name))
            manifest.save()
        self._drop(files)

    def _fetch_pictures(
        self, wanted: list[WantedFile], source: Path, manifest: Manifest, problems: Problems
    ) -> None:
        """Write the wanted pictures out of the Parquet files, one file after the other. What is written out is noted, so
        that it is not fetched again after a kill."""
        left = {PurePosixPath(file.path).stem: file for file in wanted}
        for file in sorted(self._files(wanted[0].origin), key=lambda file: self._used(file).exists()):
            if not left:
                break
            table = opened(self._received(file), {"id", "image"})
            batches = table.iter_batches(batch_size=64, columns=["id", "image"])
            for batch in track(batches, f"fetch: pictures of {file.path}", unit="batch"):
                for row in batch.to_pylist():
                    if picture := left.pop(row["id"], None):
                        _write_picture(picture, row["image"], source, manifest, problems)
            manifest.save()
            self._drop([file])
        problems.lines += [
            f"picture {picture_id}: not in {file.origin} of the hub"
            for picture_id, file in sorted(left.items())
        ]

    def _files(self, folder: str) -> list[HubFile]:
        """The Parquet files of a folder; listed once.

        Raises:
            UserError: there are none, or the hub does not tell.
        """
        if folder not in self._listed:
            listing = self.cache / folder / "listing.json"
            if self.folder:
                files = [
                    HubFile(path=f"{folder}/{path.name}", size=path.stat().st_size, sha256=sha256_file(path))
                    for path in sorted((self.folder / folder).glob("*.parquet"))
                ]
            elif not self.store.offline:
                files = _listed(folder)
                write_json(listing, files)
            elif listing.exists():
                files = read_json(listing, list[HubFile])
            else:
                raise UserError(
                    f"{folder}: not in the cache {self.cache}, and --offline forbids to ask the hub"
                )
            if not files:
                raise UserError(f"{self.address}: no Parquet file in {folder}")
            self._listed[folder] = files
        return self._listed[folder]

    def _received(self, file: HubFile) -> Path:
        """A Parquet file on the disk, with the SHA-256 that was stated."""
        if self.folder:
            return self.folder / file.path
        remote = self.store.open(f"hub/{file.path}", *_address(file.path))
        path = remote.whole()
        if remote.size != file.size or (file.sha256 and sha256_file(path) != file.sha256):
            remote.forget(0, remote.size)
            raise UserError(
                f"{remote.address}: damaged, or changed meanwhile (its SHA-256 is not the one stated); run the same command again"
            )
        return path

    def _drop(self, files: list[HubFile]) -> None:
        if not self.folder and not self.store.keep:
            for file in files:
                self._used(file).touch()
                shutil.rmtree(self.cache / file.path, ignore_errors=True)

    def _used(self, file: HubFile) -> Path:
        path = self.cache / file.path
        return path.with_name(f"{path.name}.used")


def as_png(path: str) -> str:
    """The name of a picture that the hub has as PNG instead of JPEG.

    >>> as_png("images/n1.jpg")
    'images/n1.png'
    """
    return path.removesuffix(".jpg") + ".png"


def _is_picture(wanted: WantedFile) -> bool:
    return wanted.path.startswith("images/")


def _endpoint() -> str:
    from huggingface_hub import constants

    return constants.ENDPOINT


def _listed(folder: str) -> list[HubFile]:
    """What the hub says of a folder's Parquet files.

    Raises:
        UserError: it is out of reach, refuses, or answers something else.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import RepoFile

    where = f"{_endpoint()}/datasets/{HUB_DATASET}, {folder}"
    try:
        entries = list(HfApi().list_repo_tree(HUB_DATASET, folder, repo_type="dataset"))
    except Exception as error:  # the library's client has its own kinds, and so has an answer of another form
        refused = isinstance(error, HfHubHTTPError) and error.response.status_code < 500
        kind = UserError if refused or isinstance(error, ValueError | KeyError | TypeError) else Unreachable
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise kind(
            f"{where}: the hub gives no list of its files ({reason}); is it up, and are HF_ENDPOINT and HF_TOKEN right?"
        ) from error
    files = [
        HubFile(path=entry.path, size=entry.size, sha256=entry.lfs.sha256 if entry.lfs else "")
        for entry in entries
        if isinstance(entry, RepoFile) and entry.path.endswith(".parquet")
    ]
    for file in files:
        if not re.fullmatch(rf"{re.escape(folder)}/[A-Za-z0-9_.-]+", file.path):
            raise UserError(f"{where}: {file.path!r} is not a file of this folder")
    return sorted(files, key=lambda file: file.path)


def _address(path: str) -> tuple[str, dict[str, str]]:
    """A file's address on the hub, and the header that says who asks."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers

    headers = {name: value for name, value in build_hf_headers().items() if name == "authorization"}
    return hf_hub_url(HUB_DATASET, path, repo_type="dataset"), headers


def _write_picture(
    wanted: WantedFile, image: dict[str, Any] | None, source: Path, manifest: Manifest, problems: Problems
) -> None:
    """Write a picture of the hub. A picture of another content stays, unless it was fetched (and is damaged, or of an
    older version)."""
    data = (image or {}).get("bytes") or b""
    where = f"picture {PurePosixPath(wanted.path).stem} of {wanted.origin}"
    if data[:2] == b"\xff\xd8":
        path = wanted.path
    elif data[:4] == b"\x89PNG":
        path = as_png(wanted.path)
    else:
        problems.add(where, "neither JPEG nor PNG")
        return
    if len(data) > LARGEST[PICTURES]:
        problems.add(where, f"{len(data):,} bytes, more than {LARGEST[PICTURES]:,}")
        return
    for name in {wanted.path, as_png(wanted.path)} & manifest.files.keys():
        (source / name).unlink(missing_ok=True)
    target = source / path
    if not target.exists():
        with replacing(target) as file:
            file.write(data)
    elif target.read_bytes() != data:
        problems.add(
            path, "is there already and is not the hub's; move it away and run the same command again"
        )
        return
    manifest.note(path, wanted.origin)
