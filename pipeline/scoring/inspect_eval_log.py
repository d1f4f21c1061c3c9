"""Samples of logs of inspect_ai (`.eval`): JSON, packed by Zstandard in a ZIP."""

from __future__ import annotations

import copy
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.errors import UserError
from ..core.table_reader import open_checked_zip
from .input_validation import parse_json

ARCHIVE_ERRORS = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error)
ZIP_ZSTANDARD_METHOD = 93  # as the ZIP format counts methods; Python's own zipfile knows it from 3.14 on


def read_eval_samples(path: Path, data: bytes) -> list[Any]:
    """The samples of an inspect_ai log.

    Raises:
        UserError: it is none, is cut off or too large, or nothing that unpacks it is installed.
    """
    with open_checked_zip(path, data) as archive:
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if not members and "header.json" not in archive.namelist():
            raise UserError(f"{path}: holds neither samples nor header.json, so it is no log of inspect_ai")
        samples = []
        for info in members:
            try:
                samples.append(parse_json(_read_member(archive, info, path), f"{path}, {info.filename}"))
            except ARCHIVE_ERRORS as error:
                raise UserError(f"{path}, {info.filename}: cannot be unpacked ({error})") from None
        return samples


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """A member's bytes, never more than it claims to have."""
    if info.compress_type != ZIP_ZSTANDARD_METHOD:
        return archive.read(info)
    packed: Any = copy.copy(
        info
    )  # as if it were stored, and unchecked: what is read then are the packed bytes
    packed.compress_type, packed.file_size, packed.CRC = zipfile.ZIP_STORED, info.compress_size, None
    with archive.open(packed) as file, _open_zstandard(file.read(), path) as stream:
        text = stream.read(info.file_size)
    if zlib.crc32(text) != info.CRC:
        raise zipfile.BadZipFile("its bytes are not those of its checksum")
    return text


def _open_zstandard(packed: bytes, path: Path) -> Any:
    """What was packed by Zstandard, as a stream."""
    with suppress(ImportError):
        import pyarrow

        return pyarrow.input_stream(pyarrow.py_buffer(packed), compression="zstd")
    with suppress(ImportError):
        import zstandard  # pyright: ignore[reportMissingImports]

        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    raise UserError(
        f"{path}: reading .eval needs pyarrow or zstandard, which are not installed: pip install zstandard; or "
        f"write it as JSON: inspect log dump {path.name} > {path.stem}.json"
    )
