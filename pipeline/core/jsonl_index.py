"""Access records of JSONL files by key or in another order without loading the files.

To process one image, a stage needs the records of that image from several files. These files are sorted by
other ids and may be larger than memory. `JsonlSequence`, `SortedJsonl`, `GroupedIndex`, `UniqueIndex` and
`SpillMap` keep only the position of each record in memory: 8 bytes per record and about 200 bytes per key,
whatever the size of the records.
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
from pipeline.core.stage_graph import find_changed_stages

# K: key. V: value of a mapping. T and R: record. P: position of a record, or positions of several records.
K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")
P = TypeVar("P")


def group_by(rows: Iterable[T], key: Callable[[T], K]) -> Mapping[K, list[T]]:
    """Group rows by key. Each group keeps the order of its rows. A key without rows has an empty list."""
    groups: dict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


class FilteredView(Collection[T]):
    """The rows that fulfil a condition.

    The selected rows are not stored. Each iteration filters all rows again.

    Args:
        rows: All rows.
        predicate: Returns whether a row is selected.
    """

    def __init__(self, rows: Collection[T], predicate: Callable[[T], bool]) -> None:
        self._rows, self._predicate = rows, predicate

    def __iter__(self) -> Iterator[T]:
        return filter(self._predicate, self._rows)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)


class JsonlSequence(Sequence[T]):
    """Access the records of a JSONL file by line number, counted from 0.

    Args:
        path: The file.
        kind: Type of the records in the file.
        transform: Applied to each record when the record is read. The sequence yields the results.

    Raises:
        UserError: The file is missing, or a line is not a record of type `kind`. The message names file and
            line.
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
    """Records of a JSONL file, sorted by a key. Records with equal keys keep the order of the file.

    Args:
        path: The file.
        kind: Type of the records in the file.
        key: Returns the sort key of a record.

    Raises:
        UserError: The file is missing, or a line is not a record of type `kind`. The message names file and
            line.
    """

    def __init__(self, path: Path, kind: type[T], key: Callable[[T], bytes]) -> None:
        self._decode, self._file, end = msgspec.json.Decoder(kind).decode, open_for_reading(path), 0
        offsets: list[tuple[bytes, int]] = []
        for record, line in zip(read_jsonl(path, kind), self._file, strict=True):
            offsets.append((key(record), end))
            end += len(line)
        self._offsets = array("Q", (offset for _, offset in sorted(offsets)))

    def __iter__(self) -> Iterator[T]:
        for offset in self._offsets:
            self._file.seek(offset)
            yield self._decode(self._file.readline())

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)


class MissingRecordError(UserError, KeyError):
    """A file lacks a record that another file refers to.

    The files are from different runs, or one is incomplete.

    The error is also a `KeyError`, because `Mapping.get` and the operator `in` catch that class.

    Args:
        source: The file or files without the record, for the message.
        key: Key of the missing record.
    """

    def __init__(self, source: object, key: object) -> None:
        KeyError.__init__(self, source, key)
        self.source, self.key = source, key

    @property
    def problems(self) -> list[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The message.

        The message is made only when it is shown, because mappings raise and catch many of these errors.
        """
        changed = find_changed_stages(params.read_dataset_name()) if params.PARAMS_FILE.is_file() else []
        hint = (
            f" Stages whose files changed since DVC recorded them: {', '.join(changed)}." if changed else ""
        )
        return [
            f"{self.source}: has no record {self.key!r}, but a file of another stage refers to it. Either the files are from "
            f"different runs, or one of them was overwritten.{hint} Run dvc repro"
        ]

    def __str__(self) -> str:
        return "\n".join(self.problems)


class RecordLookup(dict[K, V]):
    """Records by key, for joins with other files. A missing key raises `MissingRecordError`.

    All records are in memory.

    Args:
        source: The file that contains the records, for messages.
        records: The records by key.

    Example:
        >>> RecordLookup("a.jsonl", {"1": "one"})["1"], RecordLookup("a.jsonl", {}).get("2")
        ('one', None)
    """

    def __init__(self, source: object, records: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        super().__init__(records)
        self._source = source

    def __missing__(self, key: K) -> V:
        raise MissingRecordError(self._source, key)


class _JsonlIndex(Mapping[str, V], Generic[V, T, P]):
    """An index of JSONL records by the value of a string field.

    Args:
        paths: A file, or several files that are read as one. The files must not change while the index is
            used.
        kind: Type of the records.
        key: Name of the field, with dots for a nested field (`candidate.candidate_id`).

    Raises:
        UserError: A file is missing, or a line is not a record of type `kind`. The message names file and
            line. At first only the key of each line is checked; the rest of a line is checked when its record
            is read.
    """

    def __init__(self, paths: Path | Sequence[Path], kind: type[T], key: str) -> None:
        self._paths = [paths] if isinstance(paths, Path) else paths
        self._files = [open_for_reading(path) for path in self._paths]
        self._kind, self._decode = kind, msgspec.json.Decoder(kind).decode
        # Only the key is decoded now. The rest is checked when the record is read.
        key_record, steps = str, key.split(".")
        for step in reversed(steps):
            key_record = msgspec.defstruct("KeyRecord", [("value", key_record, msgspec.field(name=step))])
        decode_key = msgspec.json.Decoder(key_record).decode
        get_key = attrgetter(".".join("value" for _ in steps))
        # Offset in bytes of the start of each file in the concatenation of all files.
        self._file_starts: list[int] = []
        # Key -> offset of the record with this key, or offsets of all records with this key.
        self._offsets: dict[str, P] = {}
        end = 0
        for file in self._files:
            self._file_starts.append(end)
            for line in file:
                self._add_offset(get_key(self._decode_line(decode_key, line, end)), end)
                end += len(line)

    @abstractmethod
    def _add_offset(self, key: str, offset: int) -> None: ...

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

    def _read_record(self, offset: int) -> T:
        number = bisect(self._file_starts, offset) - 1
        self._files[number].seek(offset - self._file_starts[number])
        return self._decode_line(self._decode, self._files[number].readline(), offset)

    def _decode_line(self, decode: Callable[[bytes], R], line: bytes, offset: int) -> R:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            number = bisect(self._file_starts, offset) - 1
            with open_for_reading(self._paths[number]) as file:
                start = offset - self._file_starts[number]
                line_number = next(i for i, _ in enumerate(file, 1) if file.tell() > start)
            where = f"{self._paths[number]}, line {line_number}"
            raise UserError(f"{where}: not a {self._kind.__name__}: {error}") from error


class GroupedIndex(_JsonlIndex[list[T], T, "array[int]"]):
    """A mapping from each key to the list of all records with that key, in the order of the files."""

    def __getitem__(self, key: str) -> list[T]:
        return [self._read_record(offset) for offset in self._find_offset(key)]

    def _add_offset(self, key: str, offset: int) -> None:
        self._offsets.setdefault(key, array("Q")).append(offset)


class UniqueIndex(_JsonlIndex[T, T, int]):
    """A mapping from each key to the record with that key; to the last one if a key occurs more than once."""

    def __getitem__(self, key: str) -> T:
        return self._read_record(self._find_offset(key))

    def _add_offset(self, key: str, offset: int) -> None:
        self._offsets[key] = offset


class LazyMapping(Mapping[str, V]):
    """A mapping whose values are made when they are read. The most recently read values are cached.

    Args:
        keys: The keys, in the order in which the mapping yields them.
        make: Makes the value of a key.
        cache_size: Maximum number of cached values.

    Example:
        >>> squares = LazyMapping(["2", "3"], lambda key: int(key) ** 2, cache_size=1)
        >>> squares["3"], list(squares)
        (9, ['2', '3'])
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
    """Records by key, stored in a temporary file instead of in memory.

    Args:
        folder: Folder for the temporary file. The file has no name and is deleted with this object.
        kind: Type of the records.
        rows: Pairs of a key and its record.
    """

    def __init__(self, folder: Path, kind: type[T], rows: Iterable[tuple[str, T]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        encode, self._decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(kind).decode
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115
        self._offsets: dict[str, int] = {}
        # Key and record that were read last. The same record is often read several times in a row.
        self._last: tuple[str, T] | None = None
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
