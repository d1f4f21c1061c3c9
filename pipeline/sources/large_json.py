"""The members of one large JSON object, one at a time: GQA's files are objects of up to a million members.

The file is mapped, not read, and cut into undecoded members; only the member in use is turned into objects.
So memory is an index of a few hundred bytes a member, whatever the members' size.
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
DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)  # what decoders raise


class TrackedKey(str):
    """A key of a JSON object. JSON allows a key twice and decoders keep the last one silently; decoding a key
    as this type lets a hook see every one of them."""


def map_file(path: Path) -> mmap.mmap:
    """The content of a file, of which only the parts in use are in memory.

    Raises:
        ValueError: it is empty. OSError: it is missing, or a pipe, whose end might never come.
    """
    if path.is_fifo():
        raise OSError(errno.ESPIPE, "a pipe where a file was expected", str(path))
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def explain_decode_error(error: Exception) -> str:
    """A decoder's message, with what to do when a number stands where an id or another text is wanted."""
    if isinstance(error, RecursionError):
        return "lists or objects nested too deeply to be read"
    message = str(error)
    if not re.search(r"Expected `str`, got `(int|float|bool)`", message):
        return message
    if re.search(r"`\$\.(answer|question|fullAnswer|full_answer)`", message):
        return message + '; a text is wanted, "2" not 2'
    return message + "; ids are strings, a number loses its leading zeros"


def read_members(path: Path, name: str, problems: Problems) -> dict[str, msgspec.Raw]:
    """Key -> undecoded value of the JSON object in `path`; what is wrong with the file goes to `problems`.

    Args:
        name: how messages call the file.

    Returns:
        An empty mapping when the file is missing, empty, cut off or not an object.
    """
    seen: list[str] = []
    try:
        index = msgspec.json.decode(
            map_file(path), type=dict[TrackedKey, msgspec.Raw], dec_hook=_make_key_hook(seen)
        )
    except FileNotFoundError:
        problems.add(name, "no such file; put it there, or leave its split out of `ingest` in params.yaml")
    except IsADirectoryError:
        problems.add(name, "a folder where a file was expected")
    except OSError as error:
        problems.add(name, error.strerror or str(error))
    except RecursionError as error:
        problems.add(name, explain_decode_error(error))
    except msgspec.ValidationError as error:
        problems.add(name, f"expected one JSON object with ids as keys: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems.add(name, f"not valid JSON ({error}); the file may be cut off, fetch it again")
    except ValueError:  # what mmap says of an empty file
        problems.add(name, "the file is empty; fetch it again")
    else:
        for key in find_duplicates(seen):
            problems.add(name, f"the id {key} occurs more than once")
        return {str(key): value for key, value in index.items()}
    return {}


def decode_members(
    folder: Path, names: Iterable[str], label: str, kind: type[T], problems: Problems
) -> Iterator[tuple[str, str, T]]:
    """The members of several files in a folder, decoded: (id, name of the file, record), sorted by id; what is wrong
    with a file or a member goes to `problems`.

    Args:
        what: what a member is called in messages.
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
            twice = find_duplicate_keys(bytes(raw))
        except DECODE_ERRORS as error:
            problems.add(where, explain_decode_error(error))
            continue
        for inner in twice:
            problems.add(where, f"the key {inner} occurs more than once")
        yield key, name, record


def write_members(file: BinaryIO, items: Iterable[tuple[str, Any]]) -> int:
    """Write one large JSON object, a member a line, and return how many there are."""
    encode = msgspec.json.Encoder().encode
    count = 0
    for count, (key, value) in enumerate(items, 1):
        file.write((b"{" if count == 1 else b",\n") + encode(key) + b":" + encode(value))
    file.write(b"}\n" if count else b"{}\n")
    return count


def _make_key_hook(seen: list[str]) -> Callable[[type, Any], TrackedKey]:
    """A decoding hook that appends each `Key` met to `seen`."""

    def hook(_: type, value: str) -> TrackedKey:
        seen.append(value)
        return TrackedKey(value)

    return hook
