"""The members of one large JSON object, one at a time: GQA's files are objects of up to a million members.

The file is mapped, not read, and cut into undecoded members; only the member in use is turned into objects.
So memory is an index of a few hundred bytes a member, whatever the members' size.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import msgspec

from pipeline.core.errors import Problems


class Key(str):
    """A key of a JSON object. JSON allows a key twice and decoders keep the last one silently; decoding a key
    as this type lets `counted` see every one of them."""


def counted(seen: list[str]) -> Any:
    """A decoding hook that appends each `Key` met to `seen`."""

    def hook(_: type, value: str) -> Key:
        seen.append(value)
        return Key(value)

    return hook


def repeated(seen: list[str]) -> list[str]:
    """Keys that occur more than once, sorted."""
    once: set[str] = set()
    twice: set[str] = set()
    for key in seen:
        (twice if key in once else once).add(key)
    return sorted(twice)


def members(path: Path, name: str, problems: Problems) -> dict[str, msgspec.Raw]:
    """Key -> undecoded value of the JSON object in `path`; what is wrong with the file goes to `problems`.

    Args:
        name: how messages call the file.

    Returns:
        An empty mapping when the file is missing, empty, cut off or not an object.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        problems.add(name, "no such file; put it there, or leave its split out of `ingest` in params.yaml")
        return {}
    except IsADirectoryError:
        problems.add(name, "a folder where a file was expected")
        return {}
    except ValueError:  # what mmap says of an empty file
        problems.add(name, "the file is empty; fetch it again")
        return {}
    seen: list[str] = []
    try:
        found = msgspec.json.decode(content, type=dict[Key, msgspec.Raw], dec_hook=counted(seen))
    except msgspec.ValidationError as error:
        problems.add(name, f"expected one JSON object with ids as keys: {error}")
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems.add(name, f"not valid JSON ({error}); the file may be cut off, fetch it again")
        return {}
    for key in repeated(seen) if len(seen) > len(found) else []:
        problems.add(name, f"the id {key} occurs more than once")
    return {str(key): value for key, value in found.items()}
