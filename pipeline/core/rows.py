"""The records of JSONL files by one of their fields, read from the file when they are asked for.

What a stage needs of a picture lies all over files that are sorted by other ids and may be larger than memory. Kept
here is where each record lies: 8 bytes a record and about 250 a key, whatever the records' size.
"""

from __future__ import annotations

from array import array
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.files import opened

K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> Mapping[K, list[T]]:
    """The rows of each key, in their order; none of a key that none has."""
    groups: dict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


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
        # Only the key is decoded; the rest is checked when the record is read.
        key_record = msgspec.defstruct("KeyRecord", [("value", str, msgspec.field(name=key))])
        decode_key, value_of = msgspec.json.Decoder(key_record).decode, attrgetter("value")
        self._begins: list[int] = []  # where each file begins, were they one
        self._places: dict[str, array[int]] = {}  # where the records of each key begin
        end = 0
        for file in self._files:
            self._begins.append(end)
            for line in file:
                key = value_of(self._decoded(decode_key, line, end))
                self._places.setdefault(key, array("Q")).append(end)
                end += len(line)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def _record(self, place: int) -> T:
        number = bisect(self._begins, place) - 1
        self._files[number].seek(place - self._begins[number])
        return self._decoded(self._decode, self._files[number].readline(), place)

    def _decoded(self, decode: Callable[[bytes], R], line: bytes, place: int) -> R:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            number = bisect(self._begins, place) - 1
            with opened(self._paths[number]) as file:
                start = place - self._begins[number]
                line_number = next(i for i, _ in enumerate(file, 1) if file.tell() > start)
            where = f"{self._paths[number]}, line {line_number}"
            raise UserError(f"{where}: not a {self._kind.__name__}: {error}") from error


class Groups(_Rows[list[T], T]):
    """Key -> all records that have it, in the order of the files."""

    def __getitem__(self, key: str) -> list[T]:
        return [self._record(place) for place in self._places[key]]


class Singles(_Rows[T, T]):
    """Key -> the record that has it; of several, the last one."""

    def __getitem__(self, key: str) -> T:
        return self._record(self._places[key][-1])
