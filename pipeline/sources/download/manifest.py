"""Determine which files of GQA a data set needs, and record downloads in `fetched.json` of the source folder.

`fetched.json` contains the origin and the checksum of each downloaded file, and the checksums of archives.
Later runs compare these checksums to distinguish a changed archive, a damaged file and a file that the user
put there.
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
# Scene graphs of testdev are not published.
SPLITS_WITH_GRAPHS: tuple[Split, ...] = ("val", "train")


class WantedFile(NamedTuple):
    """A file to create in the source folder.

    Attributes:
        path: Path below the source folder.
        origin: The archive, or the folder of the Hub, that contains the file.
        download_bytes: Number of bytes to download.
        disk_bytes: Size on disk in bytes; for files made from Parquet an estimate.
        crc32: CRC-32 of the file as stated in the archive; None for files made from Parquet.
    """

    path: str
    origin: str
    download_bytes: int
    disk_bytes: int
    crc32: int | None = None


class _QuestionImage(msgspec.Struct):
    image_id: str = msgspec.field(name="imageId")


def resolve_ingest_params(dataset: str, split: Split | None, path: Path = PARAMS_FILE) -> IngestParams:
    """Return the parameters of stage `ingest`, adapted to the split whose images are downloaded.

    The questions of that split and, if they are published, its scene graphs are added.

    Args:
        dataset: Name of the data set.
        split: Split of the images; None for the split in the parameters.
        path: params.yaml.

    Raises:
        UserError: The section is missing, or needs files that GQA does not have.
    """
    section = read_params_file(path).get(dataset)
    if not isinstance(section, dict) or "ingest" not in section:
        raise UserError(f"{path}: no section `{dataset}` with `ingest`; run: rgqa init {dataset}")
    where = f"{path}, {dataset}.ingest"
    params = convert_params(section["ingest"], IngestParams, where)
    chosen = split or params.split
    questions = tuple(dict.fromkeys((chosen, *params.resolve_question_splits())))
    wanted_graphs = SPLITS_WITH_GRAPHS if isinstance(params.graph_splits, str) else params.graph_splits
    graphs = tuple(dict.fromkeys((*wanted_graphs, *({chosen} & {*SPLITS_WITH_GRAPHS}))))
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
    """Return the ids of the images that questions are about, sorted.

    Args:
        source: The source folder.
        paths: Paths of files of questions, relative to the source folder.
        problems: Collects problems.

    Raises:
        UserError: A file or question has another format, or an id cannot be a file name.
    """
    ids: set[str] = set()
    for question_id, path, row in decode_members(source, paths, "question", _QuestionImage, problems):
        ids.add(row.image_id)
        if not is_valid_id(row.image_id):
            problems.add(f"{path}, question {question_id}", f"invalid image id {row.image_id!r}")
    problems.raise_if_any()
    return sorted(ids)


class RemoteFingerprint(Record):
    """What identifies the version of an archive or a Parquet file.

    Attributes:
        address: URL or path.
        size: Number of bytes.
        checksum: For an archive: SHA-256 of the names, sizes and CRC-32 of all members. For a Parquet file:
            SHA-256 of the file; "" if the Hub states none.
    """

    address: str
    size: int
    checksum: str


class FetchedFile(Record):
    """A file in the source folder: size, checksum, and the archive or folder of the Hub that contains it."""

    size: int
    sha256: str
    origin: str


class ManifestContent(Record):
    """The content of fetched.json: archives and Parquet files by name, and downloaded files by path."""

    remotes: dict[str, RemoteFingerprint] = msgspec.field(default_factory=dict)
    files: dict[str, FetchedFile] = msgspec.field(default_factory=dict)


class Manifest:
    """The file fetched.json of a source folder, in memory until `save`."""

    def __init__(self, source: Path) -> None:
        self.source = source
        path = source / MANIFEST_FILE_NAME
        fetched = read_json(path, ManifestContent) if path.exists() else ManifestContent()
        self.remotes, self.files = fetched.remotes, fetched.files

    def save(self) -> None:
        write_json(self.source / MANIFEST_FILE_NAME, ManifestContent(remotes=self.remotes, files=self.files))

    def describe_change(self, name: str, current: RemoteFingerprint) -> str:
        """Return how a remote file differs from the version at the first download.

        The result is "" if the file did not change, or was not seen before.
        """
        seen = self.remotes.get(name, current)
        if (seen.size, seen.checksum) == (current.size, current.checksum):
            return ""
        same = f"{current.size:,} bytes, as before"
        sizes = same if seen.size == current.size else f"{seen.size:,} bytes before, {current.size:,} now"
        checksums = f"checksum {seen.checksum[:12]} before, {current.checksum[:12]} now"
        return f"changed since the first download from {seen.address} ({sizes}; {checksums})"

    def add_file(self, path: str, origin: str, file: Path | None = None) -> None:
        """Record a file of the source folder with its checksum.

        Args:
            path: Path below the source folder.
            origin: The archive, or the folder of the Hub, that contains the file.
            file: A temporary file with the content, if the file does not exist under its path yet; None
                otherwise.
        """
        file = file or self.source / path
        self.files[path] = FetchedFile(size=file.stat().st_size, sha256=sha256_file(file), origin=origin)

    def is_intact(self, path: str) -> bool:
        """Report whether a recorded file exists unchanged."""
        seen, file = self.files.get(path), self.source / path
        if seen is None or not file.is_file() or file.stat().st_size != seen.size:
            return False
        return sha256_file(file) == seen.sha256
