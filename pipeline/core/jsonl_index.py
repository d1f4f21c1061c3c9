"""The records of JSONL files by one of their fields, or in another order, read from the file when they are asked for.

What a stage needs of an image lies all over files that are sorted by other ids and may be larger than memory. Kept
here is where each record lies: 8 bytes a record and about 200 a key, whatever the records' size.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar

import msgspec

from pipeline.core import params
from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.stage_graph import find_changed_stages, stage_module

K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")
P = TypeVar("P")


def group_by(rows: Iterable[T], key: Callable[[T], K]) -> Mapping[K, list[T]]:
    """The rows of each key, in their order; none of a key that none has."""
    groups: dict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


class FilteredView(Collection[T]):
    """Those of some rows that fulfil a condition, looked for each time anew instead of held."""

    def __init__(self, rows: Collection[T], predicate: Callable[[T], bool]) -> None:
        self._rows, self._predicate = rows, predicate

    def __iter__(self) -> Iterator[T]:
        return filter(self._predicate, self._rows)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)


class JsonlSequence(Sequence[T]):
    """What is taken of the records of a file, by the number of their line.

    Args:
        take: makes of a record what is wanted of it.

    Raises:
        UserError: the file is missing, or a line is not such a record (file and line are named).
    """

    def __init__(self, path: Path, kind: type[R], transform: Callable[[R], T]) -> None:
        self._path, self._file, self._offsets, end = path, open_for_reading(path), array("Q"), 0
        decode = msgspec.json.Decoder(kind).decode
        self._decode_line = lambda line: transform(decode(line))
        for _, line in zip(read_jsonl(path, kind), self._file, strict=True):
            self._offsets.append(end)
            end += len(line)

    def __getitem__(self, number: Any) -> Any:
        self._file.seek(self._offsets[number])
        return self._decode_line(self._file.readline())

    def __iter__(self) -> Iterator[T]:
        with open_for_reading(self._path) as file:
            yield from map(self._decode_line, file)

    def __len__(self) -> int:
        return len(self._offsets)


class SortedJsonl(Collection[T]):
    """The records of a file in the order of what `key` makes of them, those of equal keys as they stand there.

    Raises:
        UserError: the file is missing, or a line is not such a record (file and line are named).
    """

    def __init__(self, path: Path, kind: type[T], key: Callable[[T], bytes]) -> None:
        self._decode, self._file, end = msgspec.json.Decoder(kind).decode, open_for_reading(path), 0
        places: list[tuple[bytes, int]] = []
        for record, line in zip(read_jsonl(path, kind), self._file, strict=True):
            places.append((key(record), end))
            end += len(line)
        self._offsets = array("Q", (place for _, place in sorted(places)))

    def __iter__(self) -> Iterator[T]:
        for place in self._offsets:
            self._file.seek(place)
            yield self._decode(self._file.readline())

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)


class MissingRecordError(UserError, KeyError):
    """A file lacks a record that another file names: the files are of different runs, or one is incomplete.

    It is a `KeyError`, too, so that `get` and `in` work as in any mapping.

    Args:
        where: the file, or several. key: what was looked for.
    """

    def __init__(self, where: object, key: object) -> None:
        KeyError.__init__(self, where, key)
        self.where, self.key = where, key

    @property
    def problems(self) -> list[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The message, made when it is shown: mappings raise and catch many of these."""
        changed = find_changed_stages(params.read_dataset_name()) if params.PARAMS_FILE.is_file() else []
        which = f" Not as DVC recorded them: the files of {', '.join(changed)}." if changed else ""
        return [
            f"{self.where}: no record of {self.key!r}, which a file of another stage names; the files are of different runs, "
            f"or one was emptied or copied over.{which} Run: dvc repro (it makes what does not belong together again; by hand: "
            f"python -m {stage_module(changed[0]) if changed else 'pipeline.stages.STAGE'}, then the stages after it)"
        ]

    def __str__(self) -> str:
        return "\n".join(self.problems)


class RecordLookup(dict[K, V]):
    """Records by key, for joins with other files; a key that is not there is a `MissingRecord`.

    >>> Joined("a.jsonl", {"1": "one"})["1"], Joined("a.jsonl", {}).get("2")
    ('one', None)

    Args:
        where: the file that the records are from.
    """

    def __init__(self, where: object, records: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        super().__init__(records)
        self._where = where

    def __missing__(self, key: K) -> V:
        raise MissingRecordError(self._where, key)


class _JsonlIndex(Mapping[str, V], Generic[V, T, P]):
    """Args:
        paths: a JSONL file of records of a kind, or several as one; they must not change while this is in use.
        key: the field (a string) by which records are asked for; one of a record in it has dots: `candidate.candidate_id`.

    Raises:
        UserError: a file is missing; here or later: a line is not such a record (file and line are named).
    """

    def __init__(self, paths: Path | Sequence[Path], kind: type[T], key: str) -> None:
        self._paths = [paths] if isinstance(paths, Path) else paths
        self._files = [open_for_reading(path) for path in self._paths]
        self._kind, self._decode = kind, msgspec.json.Decoder(kind).decode
        # Only the key is decoded; the rest is checked when the record is read.
        key_record, steps = str, key.split(".")
        for step in reversed(steps):
            key_record = msgspec.defstruct("KeyRecord", [("value", key_record, msgspec.field(name=step))])
        decode_key = msgspec.json.Decoder(key_record).decode
        value_of = attrgetter(".".join("value" for _ in steps))
        self._file_starts: list[int] = []  # where each file begins, were they one
        self._offsets: dict[str, P] = {}  # where the records of each key begin
        end = 0
        for file in self._files:
            self._file_starts.append(end)
            for line in file:
                self._add_offset(value_of(self._decode_line(decode_key, line, end)), end)
                end += len(line)

    @abstractmethod
    def _add_offset(self, key: str, place: int) -> None:
        """Note where a record of a key begins."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, key: object) -> bool:
        return key in self._offsets

    def _find_offset(self, key: str) -> P:
        if key not in self._offsets:
            raise MissingRecordError(" and ".join(map(str, self._paths)), key)
        return self._offsets[key]

    def _read_record(self, place: int) -> T:
        number = bisect(self._file_starts, place) - 1
        self._files[number].seek(place - self._file_starts[number])
        return self._decode_line(self._decode, self._files[number].readline(), place)

    def _decode_line(self, decode: Callable[[bytes], R], line: bytes, place: int) -> R:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            number = bisect(self._file_starts, place) - 1
            with open_for_reading(self._paths[number]) as file:
                start = place - self._file_starts[number]
                line_number = next(i for i, _ in enumerate(file, 1) if file.tell() > start)
            where = f"{self._paths[number]}, line {line_number}"
            raise UserError(f"{where}: not a {self._kind.__name__}: {error}") from error


class GroupedIndex(_JsonlIndex[list[T], T, "array[int]"]):
    """Key -> all records that have it, in the order of the files."""

    def __getitem__(self, key: str) -> list[T]:
        return [self._read_record(place) for place in self._find_offset(key)]

    def _add_offset(self, key: str, place: int) -> None:
        self._offsets.setdefault(key, array("Q")).append(place)


class UniqueIndex(_JsonlIndex[T, T, int]):
    """Key -> the record that has it; of several, the last one."""

    def __getitem__(self, key: str) -> T:
        return self._read_record(self._find_offset(key))

    def _add_offset(self, key: str, place: int) -> None:
        self._offsets[key] = place


class LazyMapping(Mapping[str, V]):
    """Key -> what is made for it, when it is asked for; the last few are kept.

    >>> squares = OnDemand(["2", "3"], lambda key: int(key) ** 2, 1)
    >>> squares["3"], list(squares)
    (9, ['2', '3'])

    Args:
        keys: in their order, each once. kept: how many.
    """

    def __init__(self, keys: Iterable[str], make: Callable[[str], V], cache_size: int) -> None:
        self._keys, self._make = dict.fromkeys(keys), lru_cache(cache_size)(make)

    def __getitem__(self, key: str) -> V:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class SpillMap(Mapping[str, T]):
    """Records that are made before they are wanted, by key, in a nameless file that goes when this does.

    Args:
        folder: where the file lies; it must have room for all.
    """

    def __init__(self, folder: Path, kind: type[T], rows: Iterable[tuple[str, T]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        encode, self._decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(kind).decode
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115
        self._offsets: dict[str, int] = {}
        self._last: tuple[str, T] | None = None  # it is often asked for again at once
        end = 0
        for key, row in rows:
            self._offsets[key] = end
            end += self._file.write(encode(row) + b"\n")

    def __getitem__(self, key: str) -> T:
        if self._last is None or self._last[0] != key:
            self._file.seek(self._offsets[key])
            self._last = key, self._decode(self._file.readline())
        return self._last[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)
