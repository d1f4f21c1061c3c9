"""The first row of a table: what its columns are called, however they are written."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .validation import InputError

KNOWN = (
    "questionId",
    "question_id",
    "id",
    "prediction",
    "answer",
    "confidence",
    "p_answerable",
    "abstained",
    "benchmark_version",
    "version",
)
_PLAIN = {name.casefold(): name for name in KNOWN}


def columns(names: Iterable[object], path: Path) -> list[str]:
    """The columns' names; of a known one, whatever its capitals and the blanks around and in it, the known one ("Question ID"
    is question_id, "QuestionID" questionId).

    Raises:
        InputError: one is there twice, so that nobody knows which counts.
    """
    read = [_known(str(name).strip()) for name in names]
    if twice := [name for name, count in Counter(read).items() if count > 1 and name]:
        raise InputError(f"{path}: the header names {', '.join(twice)} more than once; keep one")
    return read


def delimited(text: str, delimiter: str) -> str:
    """What stands between a table's cells: `delimiter`, or another one if it alone makes known names of the header."""

    def known(candidate: str) -> int:
        with suppress(csv.Error):
            head = next(csv.reader(io.StringIO(text, newline=""), delimiter=candidate), [])
            return sum(_known(name.strip()) in KNOWN for name in head)
        return 0

    return max((delimiter, ",", ";", "\t"), key=known)


def named_cells(names: Sequence[str], rows: Iterable[Sequence[Any]], path: Path) -> Iterator[dict[str, Any]]:
    """The cells of each row by column. Rows without any content, as Excel writes them, are passed over.

    Raises:
        InputError: at the end: the rows with a cell beyond the header (as a decimal comma makes one).
    """
    surplus: list[int] = []
    for number, row in enumerate(rows, 2):
        if not any(cell is not None and cell != "" for cell in row):
            continue
        if any(cell is not None and cell != "" for cell in row[len(names) :]):
            surplus.append(number)
        yield {name: cell for name, cell in zip(names, row, strict=False) if name}
    if surplus:
        rows_named = ", ".join(map(str, surplus[:20])) + (", ..." if len(surplus) > 20 else "")
        raise InputError(
            f"{path}: {len(surplus)} rows have more cells than the header has names, so which is which is not known: row "
            f"{rows_named}. Write decimals with a point, and put in quotes what holds the sign between cells"
        )


def _known(name: str) -> str:
    plain = name.casefold()
    return _PLAIN.get(plain) or _PLAIN.get("_".join(plain.replace("-", " ").split()), name)
