"""The records of JSONL files, all or by one of their fields, read from the file when they are asked for.

What a stage needs of a picture lies all over files that are sorted by other ids and may be larger than memory. Kept
here is where each record lies: 12 bytes a record and about 150 a key, whatever the records' size.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.files import opened, read_jsonl

R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")


class Records(Generic[T]):
    """All records of a JSONL file, read anew whenever they are gone through; see `read_jsonl`."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self._path, self._kind = path, kind

    def __iter__(self) -> Iterator[T]:
        return read_jsonl(self._path, self._kind)


class _Rows(Mapping[str, V], Generic[V, T]):
    """Args:
        paths: a JSONL file of records of a kind, or several as one; they must not change while this is in use.
        key: the field (a string) by which records are asked for.

    Raises:
        UserError: a file is missing; here or later: a line is not such a record (file and line are named).
    """

    def __init__(self, paths: Path | Sequence[Path], kind: type[T], key: str) -> None:
        self._paths = [paths] if isinstance(paths, Path) else paths
        self._files = [opened(path) for path in self._paths]
        self._kind, self._decode = kind, msgspec.json.Decoder(kind).decode
        self._numbers: dict[str, int] = {}
        self._file_starts: list[int] = []  # the first row of each file
        # Only the key is decoded; the rest is checked when the record is read.
        key_record = msgspec.defstruct("KeyRecord", [("value", str, msgspec.field(name=key))])
        decode_key, value_of = msgspec.json.Decoder(key_record).decode, attrgetter("value")
        numbers, starts = array("I"), array("Q", [0])
        for file in self._files:
            self._file_starts.append(len(numbers))
            for line in file:
                value: str = value_of(self._decoded(decode_key, line, len(numbers)))
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
        return [self._decoded(self._decode, self._line(row), row) for row in rows]

    def _line(self, row: int) -> bytes:
        place = self._place(row)
        start, end, before = self._starts[[row, row + 1, self._file_starts[place]]].tolist()
        return os.pread(self._files[place].fileno(), end - start, start - before)

    def _decoded(self, decode: Callable[[bytes], R], line: bytes, row: int) -> R:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            place = self._place(row)
            where = f"{self._paths[place]}, line {row - self._file_starts[place] + 1}"
            raise UserError(f"{where}: not a {self._kind.__name__}: {error}") from error

    def _place(self, row: int) -> int:
        """Which file a row is of."""
        return bisect(self._file_starts, row) - 1


class Groups(_Rows[list[T], T]):
    """Key -> all records that have it, in the order of the files."""

    def __getitem__(self, key: str) -> list[T]:
        return self._records(key)


class Singles(_Rows[T, T]):
    """Key -> the record that has it; of several, the last one."""

    def __getitem__(self, key: str) -> T:
        return self._records(key)[-1]
