"""The records of a JSONL file, all or by one of their fields, read from the file when they are asked for.

What a stage needs of a picture lies all over files that are sorted by other ids and may be larger than memory. Kept
here is where each record lies: 12 bytes a record and about 150 a key, whatever the records' size.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.files import opened, read_jsonl

T = TypeVar("T")
V = TypeVar("V")


class Records(Generic[T]):
    """All records of a JSONL file, read anew whenever they are gone through; see `read_jsonl`."""

    def __init__(self, path: Path | str, kind: type[T]) -> None:
        self._path, self._kind = path, kind

    def __iter__(self) -> Iterator[T]:
        return read_jsonl(self._path, self._kind)


class _Rows(Mapping[str, V], Generic[V, T]):
    """Args:
        path: a JSONL file of records of a kind; it must not change while this is in use.
        key: the field (a string) by which they are asked for.

    Raises:
        UserError: the file is missing; here or later: a line is not such a record (file and line are named).
    """

    def __init__(self, path: Path | str, kind: type[T], key: str) -> None:
        self._path, self._kind, self._decode = path, kind, msgspec.json.Decoder(kind).decode
        self._file = opened(path)
        self._numbers: dict[str, int] = {}
        numbers, starts = array("I"), array("Q", [0])
        # Only the key is decoded; the rest is checked when the record is read.
        decode = msgspec.json.Decoder(
            msgspec.defstruct("Row", [("value", str, msgspec.field(name=key))])
        ).decode
        for line in self._file:
            try:
                value = decode(line).value
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise self._not_a_record(len(numbers), error) from error
            numbers.append(self._numbers.setdefault(value, len(self._numbers)))
            starts.append(starts[-1] + len(line))
        self._starts = np.frombuffer(starts, np.uint64).astype(np.int64)
        by_key = np.frombuffer(numbers, np.uint32)
        self._rows = np.argsort(by_key, kind="stable").astype(np.uint32)
        self._first = np.concatenate(([0], np.cumsum(np.bincount(by_key, minlength=len(self._numbers)))))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def _records(self, key: str) -> list[T]:
        number = self._numbers[key]
        rows = self._rows[self._first[number] : self._first[number + 1]].tolist()
        return [self._record(row) for row in rows]

    def _record(self, row: int) -> T:
        start, end = self._starts[row : row + 2].tolist()
        try:
            return self._decode(os.pread(self._file.fileno(), end - start, start))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._not_a_record(row, error) from error

    def _not_a_record(self, row: int, error: Exception) -> UserError:
        return UserError(f"{self._path}, line {row + 1}: not a {self._kind.__name__}: {error}")


class Groups(_Rows[list[T], T]):
    """Key -> all records that have it, in the order of the file."""

    def __getitem__(self, key: str) -> list[T]:
        return self._records(key)


class Singles(_Rows[T, T]):
    """Key -> the record that has it; of several, the last one in the file."""

    def __getitem__(self, key: str) -> T:
        return self._records(key)[-1]


class Joined(Mapping[str, list[T]]):
    """Several groups as one: key -> the records that have it in any of them."""

    def __init__(self, *groups: Mapping[str, list[T]]) -> None:
        self._groups = groups

    def __getitem__(self, key: str) -> list[T]:
        found = [record for group in self._groups if key in group for record in group[key]]
        if not found:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for group in self._groups for key in group))

    def __len__(self) -> int:
        return sum(1 for _ in self)
