"""Check the inputs of scorers and read files strictly."""

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
# Number of JSON lines parsed at once.
LINES_PER_BATCH = 1 << 9
Texts = Iterable[str]
# For each prediction, its reference answers.
TextLists = Iterable[Iterable[str]]


def check_arrays(**named: object) -> list[np.ndarray]:
    """Check one-dimensional arrays of equal length with finite numbers or booleans, like scikit-learn's
    `check_array`.

    Returns:
        The arrays in the given order.

    Raises:
        ValueError: An array is invalid. The message says for each invalid array what was given and what is
            expected.

    >>> check_arrays(confidence=[0.5], correct=[1, 0])
    Traceback (most recent call last):
    ...
    ValueError: lengths differ: confidence 1, correct 2
    """
    values = {name: np.asarray(value) for name, value in named.items()}
    faults = [
        f"{name} has {format_count(value.ndim, 'dimension')}, expected 1"
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
                faults.append(f"{name} has type {value.dtype}, expected numbers or booleans")
            else:
                values[name] = value.astype(float)
        elif value.dtype.kind == "f" and not np.isfinite(value).all():
            faults.append(f"{name} has {np.count_nonzero(~np.isfinite(value))} NaN or infinite values")
    if faults:
        raise ValueError("; ".join(faults))
    return list(values.values())


def check_fractions(**named: object) -> list[np.ndarray]:
    """Check arrays like `check_arrays` and return them as floats in [0, 1].

    Raises:
        ValueError: An array is invalid or has a value outside [0, 1].
    """
    values = check_arrays(**named)
    for name, value in zip(named, values, strict=True):
        if outside := np.count_nonzero((value < 0) | (value > 1)):
            raise ValueError(f"{name} has {format_count(outside, 'value')} outside [0, 1]")
    return [value.astype(float) for value in values]


def check_strings(predictions: Texts, answers: TextLists) -> tuple[list[str], list[list[str]]]:
    """Check predictions and the reference answers of each prediction.

    Raises:
        ValueError: The lengths differ, a value is not a string, or a list of answers is empty.
    """
    predictions, answers = list(predictions), list(answers)
    if any(isinstance(row, str) for row in answers):
        raise ValueError("answers has a string, expected a list of answers for each prediction")
    answers = [list(row) for row in answers]
    faults = []
    if len(predictions) != len(answers):
        faults.append(f"lengths differ: predictions {len(predictions)}, answers {len(answers)}")
    if wrong := sum(not isinstance(text, str) for text in predictions):
        faults.append(f"predictions has {format_count(wrong, 'value')} of another type than string")
    if wrong := sum(not isinstance(text, str) for row in answers for text in row):
        faults.append(f"answers has {format_count(wrong, 'value')} of another type than string")
    if wrong := sum(not row for row in answers):
        faults.append(f"answers has {format_count(wrong, 'empty list')}")
    if faults:
        raise ValueError("; ".join(faults))
    return predictions, answers


def read_bytes(path: Path | str) -> bytes:
    """Read a file, decompressing it if it is a gzip file.

    Raises:
        UserError: The file does not exist or cannot be read, or is a pipe or a device (reading it might never
            end).
    """
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise UserError(f"{path}: a pipe or a device. Write its content to a file first")
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a gzip file, or truncated ({error})") from None
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def parse_number(text: str) -> float:
    """Parse a number. Underscores, which Python allows in numbers (1_0 is 10), are rejected.

    Raises:
        ValueError: The text is not a number.
    """
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def parse_json(data: bytes, path: Path | str) -> Any:
    """Parse the JSON of a file.

    Raises:
        UserError: The JSON is invalid; the message says where.
    """
    try:
        return loads_strict(data)
    except DuplicateKeyError as error:
        raise UserError(f"{path}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error}). The file may be truncated") from None


def parse_json_lines(data: bytes, path: Path | str) -> Iterator[tuple[int, Any]]:
    """Yield the number, starting at 1, and the value of each line of a JSON Lines file.

    Empty lines are skipped.

    Raises:
        UserError: A line is not valid JSON.
    """
    lines = data.splitlines()
    for start in range(0, len(lines), LINES_PER_BATCH):
        batch = [
            (n, line)
            for n, line in enumerate(lines[start : start + LINES_PER_BATCH], start + 1)
            if line.strip()
        ]
        try:
            values = loads_strict(b"[" + b",".join(line for _, line in batch) + b"]")
        except ValueError:
            values = []
        if len(values) != len(batch):
            values = [_parse_json_line(number, line, path) for number, line in batch]
        yield from zip((number for number, _ in batch), values, strict=True)


def _parse_json_line(number: int, line: bytes, path: Path | str) -> Any:
    try:
        return loads_strict(line)
    except DuplicateKeyError as error:
        raise UserError(f"{path}, line {number}: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}, line {number}: not valid JSON ({error})") from None


class DuplicateKeyError(ValueError):
    """An object has a key twice.

    Most JSON readers silently keep the last value, so it is unclear which value is meant.
    """


def loads_strict(data: bytes) -> Any:
    """Parse JSON like `json.loads`, but reject duplicate keys.

    Raises:
        ValueError: The data is invalid, for any reason.
    """
    try:
        value = json.loads(data)
        # Every key is followed by a colon. So if there are as many colons after quotation marks as keys were read, no key is
        # duplicate. If a text has such a colon, too, the data are parsed again, with a check of each object.
        if _count_keys(value) != len(_KEY_PATTERN.findall(data)) and (twice := find_duplicate_keys(data)):
            raise DuplicateKeyError(f"an object has the key {', '.join(twice)} twice; keep one")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


_KEY_PATTERN = re.compile(rb'"\s*:')


def _count_keys(value: Any) -> int:
    """Return the number of keys of all objects in a JSON value."""
    count, inner = 0, [value]
    while inner:
        part = inner.pop()
        if type(part) is dict:
            count += len(part)
            inner += [one for one in part.values() if type(one) in (dict, list)]
        elif type(part) is list:
            inner += [one for one in part if type(one) in (dict, list)]
    return count


def read_json_object(
    path: Path | str, expected: str = "", is_valid: Callable[[Any], bool] = lambda _: True
) -> dict[str, Any]:
    """Read a JSON object of records by id: questions, choices, scenes or attention.

    Args:
        path: The file.
        expected: What each value must be, in words, for the message.
        is_valid: Returns whether a value is valid.

    Raises:
        UserError: The file cannot be read, is not an object, or has invalid values.
    """
    mapping = parse_json(read_bytes(path), path)
    if not isinstance(mapping, dict):
        raise UserError(f"{path}: expected an object by id, got a {type(mapping).__name__}")
    if wrong := [name for name, value in mapping.items() if not is_valid(value)]:
        raise UserError(f"{path}: expected {expected}. Invalid: {join_examples(wrong)}")
    return mapping


def read_synonyms(path: Path | str) -> dict[str, str]:
    """Read synonyms: a JSON object of answer -> another answer that counts as the same.

    Raises:
        UserError: The file cannot be read or is not an object of strings.
    """
    return read_json_object(path, "a string for each answer", lambda other: isinstance(other, str))


def read_attention(path: Path | str) -> dict[str, Any]:
    """Read attention by question id: an object, or GQA's list of {questionId, attention}.

    Raises:
        UserError: The file cannot be read or has another structure.
    """
    value = parse_json(read_bytes(path), path)
    if isinstance(value, list) and all(
        isinstance(row, dict) and {"questionId", "attention"} <= row.keys() for row in value
    ):
        return {str(row["questionId"]): row["attention"] for row in value}
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected an object by id, or a list of {{questionId, attention}}")
    return value


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable Python's search for cyclic garbage within the block.

    Reading items creates no reference cycles, but the search for cycles would take half of the time of
    reading.
    """
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
    """Parse each row and collect the faults that `parse` raises as UserError.

    Args:
        rows: The rows.
        location: Text before the row number in messages.
        parse: Returns the parsed row, or raises UserError.

    Returns:
        The parsed rows, and the faults as "<location> <number>: <fault>".
    """
    made: list[T] = []
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            made.append(parse(row))
        except UserError as error:
            problems += [f"{location} {number}: {problem}" for problem in error.problems]
    return made, problems
