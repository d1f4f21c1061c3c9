"""Read samples from inspect_ai's `.eval` logs: JSON files in a ZIP archive, compressed by Zstandard."""

from __future__ import annotations

import copy
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.errors import UserError
from ..core.table_reader import ARCHIVE_ERRORS, open_checked_zip
from .input_validation import parse_json

# Number of the compression method in the ZIP format. Python's zipfile supports it from 3.14 on.
ZIP_ZSTANDARD_METHOD = 93


def read_eval_samples(path: Path, data: bytes) -> list[Any]:
    """Read the samples of an inspect_ai log.

    Raises:
        UserError: The file is not an inspect_ai log, is truncated or too large, or no library for Zstandard
            is installed.
    """
    with open_checked_zip(path, data) as archive:
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if not members and "header.json" not in archive.namelist():
            raise UserError(f"{path}: has neither samples nor header.json, so it is not an inspect_ai log")
        samples = []
        for info in members:
            try:
                samples.append(parse_json(_read_member(archive, info, path), f"{path}, {info.filename}"))
            except ARCHIVE_ERRORS as error:
                raise UserError(f"{path}, {info.filename}: cannot be decompressed ({error})") from None
        return samples


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """Read a member of the archive, never more bytes than its header states."""
    if info.compress_type != ZIP_ZSTANDARD_METHOD:
        return archive.read(info)
    # If the compression method is set to "stored" and the checksum is removed, zipfile returns the compressed
    # bytes.
    packed: Any = copy.copy(info)
    packed.compress_type, packed.file_size, packed.CRC = zipfile.ZIP_STORED, info.compress_size, None
    with archive.open(packed) as file, _open_zstandard(file.read(), path) as stream:
        text = stream.read(info.file_size)
    if zlib.crc32(text) != info.CRC:
        raise zipfile.BadZipFile("its checksum does not match")
    return text


def _open_zstandard(packed: bytes, path: Path) -> Any:
    """Open data compressed by Zstandard as a stream."""
    with suppress(ImportError):
        import pyarrow

        return pyarrow.input_stream(pyarrow.py_buffer(packed), compression="zstd")
    with suppress(ImportError):
        import zstandard  # pyright: ignore[reportMissingImports]

        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    raise UserError(
        f"{path}: reading .eval needs pyarrow or zstandard, which are not installed. Run pip install zstandard, or "
        f"convert the log to JSON: inspect log dump {path.name} > {path.stem}.json"
    )
