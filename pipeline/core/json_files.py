"""Read and write JSON and JSONL files of records.

Files are replaced atomically, and errors name the file and the line.
"""

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
    """Open one temporary file per section.

    When the block ends without an error, write their concatenation to `path`.

    Use this function for rows that are produced in another order than the order in which they are stored.

    Args:
        path: The file to write.
        names: Names of the sections, in the order in which they are stored.

    Yields:
        A mapping from each name to an open binary file.
    """
    path = Path(path)
    with atomic_write(path) as whole, ExitStack() as stack:
        # Temporary files without a name disappear even if the process is killed.
        sections = {name: stack.enter_context(TemporaryFile(dir=path.parent)) for name in names}
        yield sections
        for section in sections.values():
            section.seek(0)
            shutil.copyfileobj(section, whole, 1 << 20)


def encode_jsonl(records: Iterable[msgspec.Struct]) -> bytes:
    """Encode records as lines of JSONL."""
    return msgspec.json.Encoder().encode_lines(records)


def write_jsonl(path: Path | str, records: Iterable[msgspec.Struct]) -> None:
    """Write a JSONL file atomically.

    Args:
        path: The file to write.
        records: The records, in the order in which they are written. The keys of a record have the order of
            its fields.
    """
    encode = msgspec.json.Encoder().encode
    with atomic_write(path) as file:
        file.writelines(encode(record) + b"\n" for record in records)


def read_jsonl(path: Path | str, kind: type[T]) -> Iterator[T]:
    """Yield the records of a JSONL file one by one.

    Args:
        path: The file.
        kind: Type of the records.

    Raises:
        UserError: The file is missing, or a line is not a record of type `kind`. The message names file and
            line.
    """
    decoder = msgspec.json.Decoder(kind)
    with open_for_reading(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise UserError(f"{path}, line {number}: not a {kind.__name__}: {error}") from error


def write_json(path: Path | str, value: Any) -> None:
    """Write a value as JSON atomically, with sorted keys and an indent of two spaces."""
    data = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2)
    with atomic_write(path) as file:
        file.write(data + b"\n")


def write_json_list(path: Path | str, values: Iterable[Any]) -> None:
    """Write a list as JSON without holding all values in memory.

    The bytes are those that `write_json` would write.
    """
    with atomic_write(path) as file:
        before = b"[\n  "
        for value in values:
            data = msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2)
            file.write(before + data.replace(b"\n", b"\n  "))
            before = b",\n  "
        file.write(b"[]\n" if before.startswith(b"[") else b"\n]\n")


def read_json(path: Path | str, kind: type[T] | Any = Any) -> T:
    """Read a JSON file.

    Args:
        path: The file. A byte order mark is ignored.
        kind: Type of the value. By default, any JSON value is accepted.

    Raises:
        UserError: The file is missing, is not valid JSON, or has another type.
    """
    try:
        with open_for_reading(path) as file:
            return msgspec.json.decode(file.read().removeprefix(BOM_UTF8), type=kind)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: unexpected content: {error}") from error
    except RecursionError as error:
        raise UserError(
            f"{path}: lists or objects are nested too deeply; check that this is the right file"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"not valid JSON ({error}); the file is empty or truncated; download or create it again"
        raise UserError(f"{path}: {problem}") from error


def copy_file(source: Path | str, target: Path | str) -> None:
    """Copy the content of a file atomically.

    Raises:
        UserError: `source` is missing or not a regular file.
    """
    with open_for_reading(source) as read, atomic_write(target) as file:
        shutil.copyfileobj(read, file)


def content_hash(*parts: str) -> str:
    """Return 16 hexadecimal digits that depend only on the given texts, for ids that are made from content."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
