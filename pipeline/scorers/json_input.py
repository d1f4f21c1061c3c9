"""Reading JSON: what cannot be read is said in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .validation import InputError


def read_bytes(path: Path | str) -> bytes:
    """A file's bytes.

    Raises:
        InputError: no such file, or it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def parse_json(data: bytes, path: Path | str) -> Any:
    """The JSON of a file.

    Raises:
        InputError: says where it breaks.
    """
    try:
        return json.loads(data)
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); the file may be cut off") from None


def read_mapping(path: Path | str) -> dict[str, Any]:
    """The JSON object of a file: questions, choices, scenes or attention by id.

    Raises:
        InputError: it cannot be read, or is no object.
    """
    mapping = parse_json(read_bytes(path), path)
    if not isinstance(mapping, dict):
        raise InputError(f"{path}: wanted an object by id, got a {type(mapping).__name__}")
    return mapping


def parse_lines(data: bytes, path: Path | str) -> Iterator[tuple[int, Any]]:
    """The numbers, from 1 on, and the values of the lines of a JSON Lines file; empty lines are passed over.

    Raises:
        InputError: a line that is not JSON.
    """
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not valid JSON ({error})") from None
