"""Reading predictions: files of rows, and logs of harnesses."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .answered import Predictions
from .json_parts import in_parts
from .labels import COLUMNS, ID, labels_of, with_labels
from .logs import recognised
from .tables import VERSION, WANTED, as_text, first, rows_of
from .validation import InputError, number_of, read_bytes

ANSWER = ("prediction", "answer")
# Where one of these stands beside `answer`, nobody knows which of the two the model said.
RIVALS = frozenset(
    [
        "response",
        "responses",
        "resps",
        "filtered_resps",
        "output",
        "outputs",
        "pred",
        "predicted",
        "model_answer",
        "model_output",
        "model_response",
        "generated",
        "generation",
        "completion",
        "target",
        "targets",
        "label",
        "labels",
        "gold",
        "gold_answer",
        "gt",
        "gt_answer",
        "ground_truth",
        "reference",
    ]
)
Rows = list[dict[str, Any]]
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


def read_predictions(path: Path | str) -> Predictions:
    """Read a predictions file. RGQA's `questionId/prediction/confidence` and `question_id/answer/confidence` are
    both read, as a list, under the key `predictions` of an object, as JSON lines or a table; so are logs of harnesses.

    Returns:
        The predictions; their `faults` list every row without id or answer, every duplicate id, every confidence
        that is no finite number. (They are not raised here, so that unknown ids are listed together with them.)

    Raises:
        InputError: the file cannot be read, or holds no list of rows.
    """
    path = Path(path)
    data = read_bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    rows, version = rows_of(path, data)
    rows, reading, faults = recognised(rows, path, ID, ANSWER)
    read = _Reader(version, numbers_as_text=as_text(path))
    read.faults += faults
    for part in in_parts(rows):
        if not all(isinstance(row, dict) for row in part):
            raise InputError(f"{path}: {WANTED}")
        read.add(part)
    return read.predictions(path, sha256)._replace(reading=reading)


class _Reader:
    """What has been read of the rows so far. Answers that are alike are one text in memory."""

    def __init__(self, version: str, numbers_as_text: bool) -> None:
        self.version, self.numbers_as_text = version, numbers_as_text
        self.names: list[str] = []
        self.left_out: set[int] = set()  # numbers of rows that have no id or no answer
        self.said: list[str] = []
        self.confidence: list[float] = []
        self.labels: dict[str, float] = {}
        self.texts: dict[str, str] = {}
        self.count = self.unsure = 0
        self.faults: list[str] = []
        self.unclear: dict[str, list[int]] = defaultdict(list)

    def add(self, rows: Rows) -> None:
        """Columns at once where nothing is to be said of any row, else row by row."""
        keys = set().union(*rows)
        if not self._add_columns(rows, keys):
            for number, row in enumerate(rows, self.count + 1):
                self._add_row(number, row)
        self.count += len(rows)
        if not keys.isdisjoint(COLUMNS):
            labels, faults = labels_of(rows, self.numbers_as_text)
            self.labels |= labels
            self.faults += faults

    def _add_columns(self, rows: Rows, keys: set[str]) -> bool:
        names, said, values = (_column(rows, keys) for keys in (ID, ANSWER, ("confidence",)))
        if (
            not {*map(type, names)} <= {str, int}
            or {*map(type, said)} != {str}
            or not keys.isdisjoint(RIVALS)
            or not (self.version or keys.isdisjoint(VERSION))
        ):
            return False
        if not (confidence := self._numbers(values)):
            return False
        self.names += map(str, names)
        self.said += map(self.texts.setdefault, said, said)
        self.confidence += confidence
        self.unsure += len(rows) * math.isnan(confidence[0])
        return True

    def _numbers(self, values: list[Any]) -> list[float]:
        """The confidences, NaN where no row has one; nothing where only some have one or any is not what it should be."""
        kinds = {*map(type, values)}
        if kinds == {type(None)}:
            return [math.nan] * len(values)
        if kinds <= {float, int} or (self.numbers_as_text and kinds == {str}):
            with suppress(ValueError, OverflowError):
                values = list(map(number_of if kinds == {str} else float, values))
                return values if all(map(math.isfinite, values)) else []
        return []

    def _add_row(self, number: int, row: dict[str, Any]) -> None:
        name, said, value = first(row, ID), first(row, ANSWER), row.get("confidence")
        if name is None or said is None:
            keys = ", ".join(map(str, row)) or "nothing"
            wanted = f"an id ({' or '.join(ID)}) and an answer ({' or '.join(ANSWER)})"
            self.faults.append(f"row {number}: has {keys}; wanted {wanted}")
            self.left_out.add(number)
            return
        name = str(name)
        if "prediction" not in row and (rivals := sorted(RIVALS & row.keys())):
            self.unclear[", ".join(rivals)].append(number)
        if not isinstance(said, str):
            self.faults.append(f"row {number} ({name}): the answer is {said!r}, wanted a string")
        self.version = self.version or str(first(row, VERSION) or "")
        confidence = math.nan
        if value is None or value == "":
            self.unsure += 1
        elif isinstance(confidence := _number(value, self.numbers_as_text), str):
            self.faults.append(f"row {number} ({name}): confidence is {confidence}")
            confidence = math.nan
        self.names.append(name)
        self.said.append(self.texts.setdefault(said, said) if isinstance(said, str) else "")
        self.confidence.append(confidence)

    def predictions(self, path: Path, sha256: str) -> Predictions:
        places = dict(zip(self.names, range(len(self.names)), strict=True))
        if faults := self._all_faults(some_twice=len(places) < len(self.names)):
            faults.insert(0, f"{path}: {len(faults)} faults")
        confidence = np.array(self.confidence) if self.unsure < len(self.said) else None
        read = Predictions(path.stem, sha256, places, self.said, confidence, self.version, tuple(faults))
        return with_labels(read, self.labels)

    def _twice(self) -> Iterator[str]:
        numbers = (number for number in range(1, self.count + 1) if number not in self.left_out)
        seen: set[str] = set()
        for number, name in zip(numbers, self.names, strict=True):
            if name in seen:
                yield f"row {number}: id {name} stands there twice"
            seen.add(name)

    def _all_faults(self, some_twice: bool) -> list[str]:
        """Those of single rows, then those of many."""
        faults = [*self.faults, *(self._twice() if some_twice else ())]
        for rivals, numbers in self.unclear.items():
            faults.append(
                f"{len(numbers)} rows, from row {numbers[0]} on, have `answer` beside {rivals}: is it the model's or the right one? "
                "Call the model's `prediction`"
            )
        if not self.said and not faults:
            faults.append("no rows")
        if self.unsure and len(self.said) > self.unsure:
            faults.append(f"{self.unsure} rows have no confidence, others have one")
        return faults


def _column(rows: Rows, keys: tuple[str, ...]) -> list[Any]:
    """What `_first` gives of each row."""
    first, *others = keys
    found = [row.get(first) for row in rows]
    for key in others:
        if None in found:
            found = [row.get(key) if value is None else value for row, value in zip(rows, found, strict=True)]
    return found


def _number(value: object, numbers_as_text: bool) -> float | str:
    """A confidence, or what it is instead of one."""
    if isinstance(value, str) and numbers_as_text:
        with suppress(ValueError):
            value = number_of(value)
        if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip()):
            return f"{value!r}, wanted a number with a decimal point"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return f"{value!r}, wanted a number"
    try:
        return float(value) if math.isfinite(value) else f"{value}, wanted a finite number"
    except OverflowError:
        return "a whole number of more than 300 digits, wanted one that a float can hold"
