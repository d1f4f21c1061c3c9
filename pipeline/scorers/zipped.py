"""Rows of files that are ZIPs: inspect_ai's `.eval`, JSON packed by Zstandard, and Excel's `.xlsx`."""

from __future__ import annotations

import copy
import io
import warnings
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from .headers import columns, named_cells
from .validation import InputError, parse_json

# More than any log holds; a small file that claims more is a bomb.
MEMBER_BYTES = 1 << 28
ALL_BYTES = 1 << 34
BROKEN = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error)
ZSTANDARD = 93  # as the ZIP format counts methods; Python's own zipfile knows it from 3.14 on


def eval_samples(path: Path, data: bytes) -> list[Any]:
    """The samples of an inspect_ai log.

    Raises:
        InputError: it is none, is cut off or too large, or nothing that unpacks it is installed.
    """
    with _archive(path, data) as archive:
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        if not members and "header.json" not in archive.namelist():
            raise InputError(f"{path}: holds neither samples nor header.json, so it is no log of inspect_ai")
        samples = []
        for info in members:
            try:
                samples.append(parse_json(_unpacked(archive, info, path), f"{path}, {info.filename}"))
            except BROKEN as error:
                raise InputError(f"{path}, {info.filename}: cannot be unpacked ({error})") from None
        return samples


def xlsx_rows(path: Path, data: bytes) -> list[dict[str, Any]]:
    """The rows of the first sheet by the names in its first row; empty cells are "", whole numbers have no fraction.

    Raises:
        InputError: it is no workbook, is too large, or openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{path}: reading .xlsx needs openpyxl, which is not installed: pip install openpyxl; or save it as .csv"
        ) from None
    _archive(path, data).close()
    try:
        with warnings.catch_warnings():  # of styles that openpyxl does not know
            warnings.simplefilter("ignore")
            sheet = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True).worksheets[0]
            names, *rows = [list(cells) for cells in sheet.iter_rows(values_only=True)] or [[]]
    except Exception as error:  # a broken workbook makes openpyxl raise whatever its parts raise
        raise InputError(f"{path}: not an Excel workbook ({type(error).__name__}: {error})") from None
    read = columns(("" if name is None else name for name in names), path)
    return [{name: _cell(name, cell) for name, cell in row.items()} for row in named_cells(read, rows, path)]


def _cell(name: str, value: Any) -> Any:
    """What a cell says: numbers stay numbers only in a column of confidences."""
    if value is None:
        return ""
    if isinstance(value, str) or name in ("confidence", "p_answerable"):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _archive(path: Path, data: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"{path}: not a {path.suffix} file, or cut off ({error})") from None
    sizes = [info.file_size for info in archive.infolist()]
    if sum(sizes) > ALL_BYTES or max(sizes, default=0) > MEMBER_BYTES:
        raise InputError(
            f"{path}: would unpack to {sum(sizes):,} bytes, {max(sizes):,} in one member; refused beyond "
            f"{ALL_BYTES:,} and {MEMBER_BYTES:,}"
        )
    return archive


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """A member's bytes, never more than it claims to have."""
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    packed: Any = copy.copy(
        info
    )  # as if it were stored, and unchecked: what is read then are the packed bytes
    packed.compress_type, packed.file_size, packed.CRC = zipfile.ZIP_STORED, info.compress_size, None
    with archive.open(packed) as file, _zstandard(file.read(), path) as stream:
        text = stream.read(info.file_size)
    if zlib.crc32(text) != info.CRC:
        raise zipfile.BadZipFile("its bytes are not those of its checksum")
    return text


def _zstandard(packed: bytes, path: Path) -> Any:
    """What was packed by Zstandard, as a stream."""
    with suppress(ImportError):
        import pyarrow

        return pyarrow.input_stream(pyarrow.py_buffer(packed), compression="zstd")
    with suppress(ImportError):
        import zstandard  # pyright: ignore[reportMissingImports]

        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    raise InputError(
        f"{path}: reading .eval needs pyarrow or zstandard, which are not installed: pip install zstandard; or "
        f"write it as JSON: inspect log dump {path.name} > {path.stem}.json"
    )
