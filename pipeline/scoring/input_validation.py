"""Is what comes in what it should be? The first line of every scorer, and of every file that is read."""

from __future__ import annotations

import gc
import gzip
import json
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.duplicate_keys import find_duplicate_keys
from ..core.errors import UserError, format_count, join_examples

T = TypeVar("T")
LINES_PER_BATCH = 1 << 9  # parsed at once
Texts = Iterable[str]
TextLists = Iterable[Iterable[str]]  # for each prediction its right answers, or people's


def check_arrays(**named: object) -> list[np.ndarray]:
    """One-dimensional arrays of one length; floats must be finite. Returned in the order named.

    Raises:
        ValueError: says for each array what arrived and what was wanted.
    """
    values = {name: np.asarray(value) for name, value in named.items()}
    faults = [
        f"{name} has {format_count(value.ndim, 'dimension')}, wanted 1"
        for name, value in values.items()
        if value.ndim != 1
    ]
    if not faults and len({len(value) for value in values.values()}) > 1:
        faults.append(
            "lengths differ: " + ", ".join(f"{name} {len(value)}" for name, value in values.items())
        )
    for name, value in values.items():
        if value.dtype.kind not in "biuf":
            if value.size:
                faults.append(f"{name} holds {value.dtype}, wanted numbers or booleans")
            else:
                values[name] = value.astype(float)
        elif value.dtype.kind == "f" and not np.isfinite(value).all():
            faults.append(f"{name} has {np.count_nonzero(~np.isfinite(value))} NaN or infinite values")
    if faults:
        raise ValueError("; ".join(faults))
    return list(values.values())


def check_fractions(**named: object) -> list[np.ndarray]:
    """As `arrays`, as floats in [0, 1].

    Raises:
        ValueError: also where something lies outside.
    """
    values = check_arrays(**named)
    for name, value in zip(named, values, strict=True):
        if outside := np.count_nonzero((value < 0) | (value > 1)):
            raise ValueError(f"{name} has {format_count(outside, 'value')} outside [0, 1]")
    return [value.astype(float) for value in values]


def check_strings(predictions: Texts, answers: TextLists) -> tuple[list[str], list[list[str]]]:
    """Predictions and the answers of people, one list of answers for each prediction.

    Raises:
        ValueError: lengths differ, something is no string, or a list of answers is empty.
    """
    predictions, answers = list(predictions), list(answers)
    if any(isinstance(row, str) for row in answers):
        raise ValueError("answers holds a string, wanted a list of answers for each prediction")
    answers = [list(row) for row in answers]
    faults = []
    if len(predictions) != len(answers):
        faults.append(f"lengths differ: predictions {len(predictions)}, answers {len(answers)}")
    if wrong := sum(not isinstance(text, str) for text in predictions):
        faults.append(f"predictions has {format_count(wrong, 'value')} of another type than text")
    if wrong := sum(not isinstance(text, str) for row in answers for text in row):
        faults.append(f"answers has {format_count(wrong, 'value')} of another type than text")
    if wrong := sum(not row for row in answers):
        faults.append(f"answers has {wrong} empty lists")
    if faults:
        raise ValueError("; ".join(faults))
    return predictions, answers


def read_bytes(path: Path | str) -> bytes:
    """A file's bytes, unpacked if it is packed by gzip.

    Raises:
        UserError: no such file, or it cannot be read, or is a pipe or a device, whose end might never come.
    """
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise UserError(f"{path}: a pipe or a device, wanted a file; write it to one first")
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a gzip file, or cut off ({error})") from None
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def parse_number(text: str) -> float:
    """The number that a text is. Python reads 1_0 as 10, which nobody writes who means a number.

    Raises:
        ValueError: it is none.
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def parse_json(data: bytes, path: Path | str) -> Any:
    """The JSON of a file.

    Raises:
        UserError: says where it breaks.
    """
    try:
        return loads_strict(data)
    except DuplicateKeyError as error:
        raise UserError(f"{path}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error}); the file may be cut off") from None


def parse_json_lines(data: bytes, path: Path | str) -> Iterator[tuple[int, Any]]:
    """The numbers, from 1 on, and the values of the lines of a JSON Lines file; empty lines are passed over.

    Raises:
        UserError: a line that is not JSON.
    """
    lines = data.splitlines()
    for start in range(0, len(lines), LINES_PER_BATCH):
        part = [
            (n, line)
            for n, line in enumerate(lines[start : start + LINES_PER_BATCH], start + 1)
            if line.strip()
        ]
        try:
            values = loads_strict(b"[" + b",".join(line for _, line in part) + b"]")
        except ValueError:
            values = []
        if len(values) != len(part):
            values = [_parse_json_line(number, line, path) for number, line in part]
        yield from zip((number for number, _ in part), values, strict=True)


def _parse_json_line(number: int, line: bytes, path: Path | str) -> Any:
    try:
        return loads_strict(line)
    except DuplicateKeyError as error:
        raise UserError(f"{path}, line {number}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}, line {number}: not valid JSON ({error})") from None


class DuplicateKeyError(ValueError):
    """An object names a key twice, so that nobody knows which value counts; readers of JSON keep the last one silently."""


def loads_strict(data: bytes) -> Any:
    """As `json.loads`, but a key that stands twice in an object is an error.

    Raises:
        ValueError: it cannot be read, whatever the reason.
    """
    try:
        value = json.loads(data)
        # Every key is followed by a colon; where there are as many as keys were read of a list of flat objects, which most
        # files hold, none is there twice. All others are read once more with a look at each object.
        flat = isinstance(value, list) and all(type(row) is dict for row in value)
        if (not flat or sum(map(len, value)) != len(_KEY_PATTERN.findall(data))) and (
            twice := find_duplicate_keys(data)
        ):
            raise DuplicateKeyError(f"an object has the key {', '.join(twice)} twice; keep one")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


_KEY_PATTERN = re.compile(rb'"\s*:')


def read_json_object(
    path: Path | str, expected: str = "", is_valid: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    """The JSON object of a file: questions, choices, scenes or attention by id.

    Args:
        wanted: what each of its values must be, and `fits` whether one is.

    Raises:
        UserError: it cannot be read, is no object, or holds something else.
    """
    mapping = parse_json(read_bytes(path), path)
    if not isinstance(mapping, dict):
        raise UserError(f"{path}: wanted an object by id, got a {type(mapping).__name__}")
    if wrong := [name for name, value in mapping.items() if not is_valid(value)]:
        raise UserError(f"{path}: wanted {expected}; not so for {join_examples(wrong)}")
    return mapping


def read_synonyms(path: Path | str) -> dict[str, str]:
    """Answers and others that count as the same.

    Raises:
        UserError: it cannot be read, or is no object of strings.
    """
    return read_json_object(path, "a string for each answer", lambda other: isinstance(other, str))


def read_attention(path: Path | str) -> dict[str, Any]:
    """Attention by question id: an object, or GQA's list of {questionId, attention}.

    Raises:
        UserError: it cannot be read, or is neither.
    """
    value = parse_json(read_bytes(path), path)
    if isinstance(value, list) and all(
        isinstance(row, dict) and {"questionId", "attention"} <= row.keys() for row in value
    ):
        return {str(row["questionId"]): row["attention"] for row in value}
    if not isinstance(value, dict):
        raise UserError(f"{path}: wanted an object by id, or a list of {{questionId, attention}}")
    return value


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Python's search for cyclic garbage, of which reading makes none, takes half of the time that it takes to read many
    items: it is put off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_each_row(
    rows: Iterable[Any], location: str, parse: Callable[[Any], T]
) -> tuple[list[T], list[str]]:
    """What `make` makes of each row, and the faults that it raises as UserError: "<where> <number>: <fault>"."""
    made: list[T] = []
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            made.append(parse(row))
        except UserError as error:
            problems += [f"{location} {number}: {problem}" for problem in error.problems]
    return made, problems
