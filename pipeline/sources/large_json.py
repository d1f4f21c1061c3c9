"""Read the members of a large JSON object one by one. Files of GQA are objects with up to a million members.

A file is mapped into memory and split into members. Then the members are decoded one by one. The index of
members needs a few hundred bytes per member, whatever the size of the members.
"""

from __future__ import annotations

import errno
import mmap
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from pipeline.core.duplicate_keys import find_duplicate_keys, find_duplicates
from pipeline.core.errors import Problems

T = TypeVar("T")
# Errors that decoders raise.
DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)


class TrackedKey(str):
    """A key of a JSON object.

    Decoders silently keep only the last of duplicate keys. With this type, a decoding hook sees every key, so
    that duplicates can be reported.
    """


def map_file(path: Path) -> mmap.mmap:
    """Map a file into memory. Only the parts that are used are loaded.

    Raises:
        ValueError: The file is empty.
        OSError: The file is missing, or a pipe.
    """
    if path.is_fifo():
        raise OSError(errno.ESPIPE, "a pipe where a file was expected", str(path))
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def explain_decode_error(error: Exception) -> str:
    """Return the message of a decoding error.

    If a number was found instead of a string, the message says what to do.
    """
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply"
    message = str(error)
    if not re.search(r"Expected `str`, got `(int|float|bool)`", message):
        return message
    if re.search(r"`\$\.(answer|question|fullAnswer|full_answer)`", message):
        return message + '; expected a string: "2", not 2'
    return message + "; ids are strings, because numbers lose leading zeros"


def read_members(path: Path, name: str, problems: Problems) -> dict[str, msgspec.Raw]:
    """Return the undecoded members of a JSON object by key.

    Args:
        path: The file.
        name: Name of the file in messages.
        problems: Collects problems of the file.

    Returns:
        The members; empty if the file is missing, empty, truncated or not an object.
    """
    seen: list[str] = []
    try:
        index = msgspec.json.decode(
            map_file(path), type=dict[TrackedKey, msgspec.Raw], dec_hook=_make_key_hook(seen)
        )
    except FileNotFoundError:
        problems.add(name, "no such file; put it there, or remove its split from `ingest` in params.yaml")
    except IsADirectoryError:
        problems.add(name, "a folder where a file was expected")
    except OSError as error:
        problems.add(name, error.strerror or str(error))
    except RecursionError as error:
        problems.add(name, explain_decode_error(error))
    except msgspec.ValidationError as error:
        problems.add(name, f"expected one JSON object with ids as keys: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems.add(name, f"not valid JSON ({error}); the file may be truncated, download it again")
    # mmap raises a ValueError for an empty file.
    except ValueError:
        problems.add(name, "the file is empty; download it again")
    else:
        for key in find_duplicates(seen):
            problems.add(name, f"the id {key} occurs more than once")
        return {str(key): value for key, value in index.items()}
    return {}


def decode_members(
    folder: Path, names: Iterable[str], label: str, kind: type[T], problems: Problems
) -> Iterator[tuple[str, str, T]]:
    """Yield the decoded members of several files, sorted by id.

    Args:
        folder: Folder of the files.
        names: Names of the files.
        label: What a member is, for messages ("question").
        kind: Type of the members.
        problems: Collects problems of files and members. Members that cannot be decoded are skipped.

    Yields:
        Id of the member, name of the file, and decoded member.
    """
    rows = [
        (key, name, raw) for name in names for key, raw in read_members(folder / name, name, problems).items()
    ]
    rows.sort(key=lambda row: row[:2])
    decoder = msgspec.json.Decoder(kind)
    before = ("", "")
    for key, name, raw in rows:
        where = f"{name}, {label} {key}"
        if key == before[0]:
            problems.add(where, f"the same id is in {before[1]}")
        before = key, name
        try:
            record = decoder.decode(raw)
            duplicates = find_duplicate_keys(bytes(raw))
        except DECODE_ERRORS as error:
            problems.add(where, explain_decode_error(error))
            continue
        for inner in duplicates:
            problems.add(where, f"the key {inner} occurs more than once")
        yield key, name, record


def write_members(file: BinaryIO, items: Iterable[tuple[str, Any]]) -> int:
    """Write a large JSON object with one member per line, and return the number of members."""
    encode = msgspec.json.Encoder().encode
    count = 0
    for count, (key, value) in enumerate(items, 1):
        file.write((b"{" if count == 1 else b",\n") + encode(key) + b":" + encode(value))
    file.write(b"}\n" if count else b"{}\n")
    return count


def _make_key_hook(seen: list[str]) -> Callable[[type, Any], TrackedKey]:
    """Return a decoding hook that appends each `TrackedKey` to `seen`."""

    def hook(_: type, value: str) -> TrackedKey:
        seen.append(value)
        return TrackedKey(value)

    return hook
