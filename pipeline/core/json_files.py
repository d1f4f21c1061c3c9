"""Reading and writing: JSON and JSONL of records, replaced atomically, with errors that name file and line."""

from __future__ import annotations

import hashlib
import shutil
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar

import msgspec

from pipeline.core.atomic_files import atomic_write, open_for_reading
from pipeline.core.errors import UserError

T = TypeVar("T")


@contextmanager
def atomic_write_sections(path: Path | str, names: Iterable[str]) -> Iterator[Mapping[str, BinaryIO]]:
    """Open a file for each name. When the block ends well, they take `path`'s place together, one after the other:
    for rows that are made in another order than the one in which they are to stand."""
    path = Path(path)
    with atomic_write(path) as whole, ExitStack() as stack:
        # Without a name in the folder, so that nothing is left of them even by a kill.
        parts = {name: stack.enter_context(TemporaryFile(dir=path.parent)) for name in names}
        yield parts
        for part in parts.values():
            part.seek(0)
            shutil.copyfileobj(part, whole, 1 << 20)


def encode_jsonl(records: Iterable[msgspec.Struct]) -> bytes:
    """Records as the lines of a JSONL file."""
    return msgspec.json.Encoder().encode_lines(records)


def write_jsonl(path: Path | str, records: Iterable[msgspec.Struct]) -> None:
    """Write one record a line, atomically. Callers sort; keys follow the type's order."""
    encode = msgspec.json.Encoder().encode
    with atomic_write(path) as file:
        file.writelines(encode(record) + b"\n" for record in records)


def read_jsonl(path: Path | str, kind: type[T]) -> Iterator[T]:
    """Yield the records of a JSONL file one by one.

    Raises:
        UserError: the file is missing, or a line is not such a record (file and line are named).
    """
    decoder = msgspec.json.Decoder(kind)
    with open_for_reading(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise UserError(f"{path}, line {number}: not a {kind.__name__}: {error}") from error


def write_json(path: Path | str, value: Any) -> None:
    """Write a report or a table as JSON: two spaces, keys sorted, one newline at the end."""
    data = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2)
    with atomic_write(path) as file:
        file.write(data + b"\n")


def write_json_list(path: Path | str, values: Iterable[Any]) -> None:
    """Write what `write_json` writes of a list, one value at a time."""
    with atomic_write(path) as file:
        before = b"[\n  "
        for value in values:
            data = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2)
            file.write(before + data.replace(b"\n", b"\n  "))
            before = b",\n  "
        file.write(b"[]\n" if before.startswith(b"[") else b"\n]\n")


def read_json(path: Path | str, kind: type[T] | Any = Any) -> T:
    """Read a JSON file as `kind` (any JSON value by default).

    Raises:
        UserError: missing, empty, truncated, or of another type.
    """
    try:
        with open_for_reading(path) as file:
            return msgspec.json.decode(file.read().removeprefix(BOM_UTF8), type=kind)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: not what is expected here: {error}") from error
    except RecursionError as error:
        raise UserError(
            f"{path}: lists or objects nested too deeply to be read; it is no file of ours"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"not valid JSON ({error}); the file is empty or cut off, fetch or make it again"
        raise UserError(f"{path}: {problem}") from error


def copy_file(source: Path | str, target: Path | str) -> None:
    """Copy a file's bytes, atomically.

    Raises:
        UserError: `source` is missing.
    """
    with open_for_reading(source) as read, atomic_write(target) as file:
        shutil.copyfileobj(read, file)


def content_hash(*parts: str) -> str:
    """16 hex digits that depend on the parts alone: for ids made from content."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
