"""Rows of files that are ZIPs: inspect_ai's `.eval`, JSON packed by Zstandard, and Excel's `.xlsx`."""

from __future__ import annotations

import copy
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from .column_names import ALIASES, known_name
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
    with checked_archive(path, data) as archive:
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


def workbook_opener(path: Path) -> Any:
    """What opens a workbook.

    Raises:
        InputError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise InputError(
            f"{path}: reading .xlsx needs openpyxl, which is not installed: pip install openpyxl; or save it as .csv"
        ) from None
    return load_workbook


def filled_sheet(opener: Any, data: bytes, path: Path, values: bool) -> Iterator[list[Any]]:
    """The rows of the sheet of a workbook that is filled; of several, that whose header has names that are known.

    Args:
        values: what formulas came to when they were last computed, or else the formulas.

    Raises:
        InputError: it is no workbook, or has several tables.
    """
    try:
        with warnings.catch_warnings():  # of styles that openpyxl does not know
            warnings.simplefilter("ignore")
            book = opener(io.BytesIO(data), read_only=True, data_only=values)
            rows = {
                sheet.title: [list(cells) for cells in sheet.iter_rows(values_only=True)]
                for sheet in book.worksheets
            }
    except Exception as error:  # a broken workbook makes openpyxl raise whatever its parts raise
        raise InputError(f"{path}: not an Excel workbook ({type(error).__name__}: {error})") from None
    filled = {
        name: cells for name, cells in rows.items() if any(cell is not None for row in cells for cell in row)
    }
    headed = {name: cells for name, cells in filled.items() if len(_known(cells[0])) > 1}
    found = filled if len(filled) < 2 else headed
    if len(found) > 1 or (filled and not found):
        raise InputError(
            f"{path}: several sheets are filled ({', '.join(filled)}); keep the one with the table"
        )
    return iter(next(iter(found.values()), []))


def _known(header: Sequence[object]) -> set[str]:
    names = {known_name(name) for name in header if name is not None}
    return names.intersection(chain.from_iterable(ALIASES.values()))


def checked_archive(path: Path, data: bytes) -> zipfile.ZipFile:
    """The ZIP, once it is known that it does not unpack to more than any such file holds.

    Raises:
        InputError: it is none, or does.
    """
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
