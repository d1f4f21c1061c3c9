"""What a data set needs of GQA, by its parameters and its questions; and `fetched.json` in the source folder: what was
fetched from where, with the sums seen first. Later runs compare, so that a changed archive, a damaged file and a file of
the user's own are told apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.params import PARAMS_FILE, convert_params, read_params_file
from pipeline.core.records import Record, Split
from pipeline.sources.image_files import is_valid_id
from pipeline.sources.large_json import decode_members
from pipeline.sources.source_folder import IngestParams

MANIFEST_FILE_NAME = "fetched.json"
GQA_SPLITS: tuple[Split, ...] = ("testdev", "val", "train")
SPLITS_WITH_GRAPHS: tuple[Split, ...] = ("val", "train")  # nobody has published scene graphs of testdev


class WantedFile(NamedTuple):
    """A file to be made in the source folder.

    Attributes:
        path: below the source folder.
        origin: the archive, or the folder of the hub, that it is from.
        receive: bytes that come over the network.
        size: bytes that it takes on the disk; for questions of the hub an estimate.
        crc: CRC-32 that the archive states; None for what is made from Parquet, of which only fetching it tells.
    """

    path: str
    origin: str
    download_bytes: int
    disk_bytes: int
    crc32: int | None = None


class _QuestionImage(msgspec.Struct):
    image_id: str = msgspec.field(name="imageId")


def resolve_ingest_params(dataset: str, split: Split | None, path: Path = PARAMS_FILE) -> IngestParams:
    """What params.yaml says that `ingest` will read, and what belongs to `split`, whose images are fetched, if that is
    another one.

    Raises:
        UserError: no such section, or it asks for what GQA does not have.
    """
    section = read_params_file(path).get(dataset)
    if not isinstance(section, dict) or "ingest" not in section:
        raise UserError(f"{path}: no section `{dataset}` with an `ingest` in it; run: rgqa init {dataset}")
    where = f"{path}, {dataset}.ingest"
    params = convert_params(section["ingest"], IngestParams, where)
    chosen = split or params.split
    questions = tuple(dict.fromkeys((chosen, *params.question_splits)))
    graphs = tuple(dict.fromkeys((*params.graph_splits, *({chosen} & {*SPLITS_WITH_GRAPHS}))))
    problems = Problems(where)
    for wanted in sorted(set(questions).difference(GQA_SPLITS)):
        problems.add(
            "question_splits", f"{wanted!r}; GQA has questions with answers for {', '.join(GQA_SPLITS)}"
        )
    for wanted in sorted(set(graphs).difference(SPLITS_WITH_GRAPHS)):
        problems.add(
            "graph_splits", f"{wanted!r}; GQA has scene graphs for {' and '.join(SPLITS_WITH_GRAPHS)}"
        )
    problems.raise_if_any()
    return msgspec.structs.replace(params, split=chosen, question_splits=questions, graph_splits=graphs)


def list_image_ids(source: Path, paths: list[str], problems: Problems) -> list[str]:
    """The images that questions in files of the source folder name, sorted.

    Raises:
        UserError: a file or a question is of another form, or an image's id cannot be a file's name.
    """
    ids: set[str] = set()
    for question_id, path, row in decode_members(source, paths, "question", _QuestionImage, problems):
        ids.add(row.image_id)
        if not is_valid_id(row.image_id):
            problems.add(f"{path}, question {question_id}", f"image {row.image_id!r} is no plain name")
    problems.raise_if_any()
    return sorted(ids)


class RemoteFingerprint(Record):
    """An archive or a Parquet file as first seen: where, bytes, and a sum: an archive's over its directory, which
    holds the CRC-32 of every member; a Parquet file's SHA-256 ("" where the hub states none)."""

    address: str
    size: int
    checksum: str


class FetchedFile(Record):
    """A file in the source folder: bytes, checksum, and which archive or folder of the hub it is from."""

    size: int
    sha256: str
    origin: str


class ManifestContent(Record):
    """The content of fetched.json: archives and Parquet files by name, files by their path in the source folder."""

    remotes: dict[str, RemoteFingerprint] = msgspec.field(default_factory=dict)
    files: dict[str, FetchedFile] = msgspec.field(default_factory=dict)


class Manifest:
    """fetched.json of a source folder, in memory until `save`."""

    def __init__(self, source: Path) -> None:
        self.source = source
        path = source / MANIFEST_FILE_NAME
        fetched = read_json(path, ManifestContent) if path.exists() else ManifestContent()
        self.remotes, self.files = fetched.remotes, fetched.files

    def save(self) -> None:
        write_json(self.source / MANIFEST_FILE_NAME, ManifestContent(remotes=self.remotes, files=self.files))

    def describe_change(self, name: str, current: RemoteFingerprint) -> str:
        """How a remote file differs from when it was first seen; "" when it does not, or was never seen."""
        seen = self.remotes.get(name, current)
        if (seen.size, seen.checksum) == (current.size, current.checksum):
            return ""
        same = f"{current.size:,} bytes, as then"
        sizes = same if seen.size == current.size else f"{seen.size:,} bytes then, {current.size:,} now"
        sums = f"sum {seen.checksum[:12]} then, {current.checksum[:12]} now"
        return f"it is not what was first fetched from {seen.address} ({sizes}; {sums})"

    def add_file(self, path: str, origin: str, file: Path | None = None) -> None:
        """Note a file of the source folder with its sum.

        Args:
            file: where its content lies now, if it has not taken its place yet.
        """
        file = file or self.source / path
        self.files[path] = FetchedFile(size=file.stat().st_size, sha256=sha256_file(file), origin=origin)

    def is_intact(self, path: str) -> bool:
        """Whether a file is there with the sum noted."""
        seen, file = self.files.get(path), self.source / path
        if seen is None or not file.is_file() or file.stat().st_size != seen.size:
            return False
        return sha256_file(file) == seen.sha256
