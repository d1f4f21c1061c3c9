"""Reading predictions: files of rows, and logs of harnesses."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core.column_aliases import ITEM_ID, PREDICTION, first_of, first_value
from ..core.errors import UserError, counted
from ..core.table_reader import rows_named
from .abstention_labels import COLUMNS, labels_of, with_labels
from .harness_logs import EMPTY, TRUNCATED
from .input_validation import number_of, read_bytes
from .joined_predictions import Predictions, Reading
from .json_streaming import in_parts
from .logs import recognised
from .normalize import has_text
from .reasoning_parser import final_answer
from .row_reader import VERSION, WANTED, as_text, rows_of

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


def read_predictions(path: Path | str, as_written: bool = False) -> Predictions:
    """Read a predictions file: rows with an item's id, an answer and, mostly, a confidence, as a list, under the key
    `predictions` of an object, as JSON Lines or a table; or a log of a harness. `column_names` has the keys that are known.

    Args:
        as_written: leave reasoning and marks of chat templates in the answers, as the published scripts do, which compare what
            stands in the file. Otherwise the final answer counts (`reasoning_marks.final_answer`).

    Returns:
        The predictions; their `faults` list every row without an id or a key for an answer, every duplicate id, every
        confidence that is no finite number. (They are not raised here, so that unknown ids are listed together with them.)
        A row whose answer is missing (null, NaN, an empty cell) or is reasoning without an end has no prediction:
        `reading.failed` says why. A reply without text abstains: `reading.declined`.

    Raises:
        UserError: the file cannot be read, or holds no list of rows.
    """
    path = Path(path)
    data = read_bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    rows, version = rows_of(path, data)
    rows, reading, faults = recognised(rows, path, as_written)
    is_log = not reading.form.startswith("plain")
    read = _Reader(version, numbers_as_text=as_text(path), as_written=as_written or is_log)
    read.faults += faults
    for part in in_parts(rows):
        if not all(isinstance(row, dict) for row in part):
            raise UserError(f"{path}: {WANTED}")
        read.add(part)
    return read.predictions(path, sha256, reading)


class _Reader:
    """What has been read of the rows so far. Answers that are alike are one text in memory."""

    def __init__(self, version: str, numbers_as_text: bool, as_written: bool) -> None:
        self.version, self.numbers_as_text, self.as_written = version, numbers_as_text, as_written
        self.names: list[str] = []
        self.numbers: list[int] = []  # of their rows
        self.said: list[str] = []
        self.confidence: list[float] = []
        self.labels: dict[str, float] = {}
        self.texts: dict[str, str] = {}  # by what is written, the final answer
        self.failed: dict[str, str] = {}
        self.count = 0
        self.unsure: list[int] = []  # numbers of rows without a confidence
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
        names, said, values = (_column(rows, keys) for keys in (ITEM_ID, PREDICTION, ("confidence",)))
        if (
            not {*map(type, names)} <= {str, int}
            or {*map(type, said)} != {str}
            or not keys.isdisjoint(RIVALS)
            or not (self.version or keys.isdisjoint(VERSION))
        ):
            return False
        if not (confidence := self._confidences(values)):
            return False
        finals = [text for text in map(self._final, said) if text is not None]
        if len(finals) < len(said):
            return False
        numbers = range(self.count + 1, self.count + len(rows) + 1)
        self.names += map(str, names)
        self.numbers += numbers
        self.said += finals
        self.confidence += confidence
        self.unsure += numbers if math.isnan(confidence[0]) else ()
        return True

    def _final(self, text: str) -> str | None:
        """The final answer; None for reasoning without an end."""
        if (known := self.texts.get(text)) is not None:
            return known
        final = text
        if not self.as_written:
            answer = final_answer(text)
            if answer.is_truncated:
                return None
            final = answer.text
        return self.texts.setdefault(text, final)

    def _confidences(self, values: list[Any]) -> list[float]:
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
        name, said, value = first_value(row, ITEM_ID), first_value(row, PREDICTION), row.get("confidence")
        answer_key = first_of(PREDICTION, row)
        if name is None or _is_nan(name):
            key = first_of(ITEM_ID, row)
            keys = ", ".join(map(str, row)) or "no keys"
            wanted = f"an id ({' or '.join(ITEM_ID)}) and an answer ({' or '.join(PREDICTION)})"
            self.faults.append(
                f"row {number}: {key} is missing (null); wanted an id"
                if key
                else f"row {number}: has {keys}; wanted {wanted}"
            )
            return
        name = str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
        if answer_key is None:
            keys = ", ".join(map(str, row))
            self.faults.append(
                f"row {number} ({name}): has {keys}; wanted an answer ({' or '.join(PREDICTION)})"
            )
            return
        if "prediction" not in row and (rivals := sorted(RIVALS & row.keys())):
            self.unclear[", ".join(rivals)].append(number)
        self.version = self.version or str(first_value(row, VERSION) or "")
        if said is None or _is_nan(said):
            self.failed[name] = (
                f"{answer_key} is missing ({'NaN' if said is not None else 'null, or an empty cell'})"
            )
            return
        if not isinstance(said, str):
            self.faults.append(f"row {number} ({name}): the answer is {said!r}, wanted a string")
        final = self._final(said) if isinstance(said, str) else ""
        if final is None:
            self.failed[name] = TRUNCATED
            return
        confidence = math.nan
        if value is None or value == "":
            self.unsure.append(number)
        elif isinstance(confidence := _number(value, self.numbers_as_text), str):
            self.faults.append(f"row {number} ({name}): confidence is {confidence}")
            confidence = math.nan
        self.names.append(name)
        self.numbers.append(number)
        self.said.append(final)
        self.confidence.append(confidence)

    def predictions(self, path: Path, sha256: str, reading: Reading) -> Predictions:
        places = dict(zip(self.names, range(len(self.names)), strict=True))
        repeated = (
            [name for name, count in Counter(self.names).items() if count > 1]
            if len(places) < len(self.names)
            else []
        )
        failed = {name: why for name, why in self.failed.items() if name not in places}
        if faults := self._all_faults({*repeated}, bool(failed or reading.failed)):
            faults.insert(0, f"{path}: {counted(len(faults), 'fault')}")
        confidence = np.array(self.confidence) if len(self.unsure) < len(self.said) else None
        reading = reading._replace(
            failed={**reading.failed, **failed},
            declined=reading.declined
            or {name: EMPTY for name, place in places.items() if not has_text(self.said[place])},
            repeated=tuple(repeated),
        )
        read = Predictions(
            path.stem, sha256, places, self.said, confidence, self.version, tuple(faults), reading=reading
        )
        return with_labels(read, self.labels)

    def _twice(self, repeated: set[str]) -> Iterator[str]:
        seen: set[str] = set()
        for number, name in zip(self.numbers, self.names, strict=True):
            if name in seen:
                yield f"row {number}: id {name!r} stands there twice"
            elif name in repeated:
                seen.add(name)

    def _all_faults(self, repeated: set[str], has_failed: bool) -> list[str]:
        """Those of single rows, then those of many."""
        faults = [*self.faults, *(self._twice(repeated) if repeated else ())]
        for rivals, numbers in self.unclear.items():
            have = counted(len(numbers), "row has", "rows have")
            faults.append(
                f"{have} `answer` beside {rivals} ({rows_named(numbers)}): is it the model's or the right one? "
                "Call the model's `prediction`"
            )
        if not self.said and not faults and not has_failed:
            faults.append("no rows")
        if self.unsure and len(self.said) > len(self.unsure):
            have = counted(len(self.unsure), "row has", "rows have")
            faults.append(f"{have} no `confidence`, others have one ({rows_named(self.unsure)})")
        return faults


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _column(rows: Rows, keys: tuple[str, ...]) -> list[Any]:
    """What `first_value` gives of each row."""
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
