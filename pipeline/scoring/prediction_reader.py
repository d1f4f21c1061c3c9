"""Read predictions from tables, JSON files and logs of evaluation harnesses."""

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

from ..core.column_aliases import ITEM_ID_COLUMNS, PREDICTION_COLUMNS, find_column, get_first_value
from ..core.errors import UserError, format_count
from ..core.table_reader import format_row_numbers
from .abstention_labels import LABEL_COLUMNS, parse_labels, with_labels
from .harness_logs import EMPTY, TRUNCATED, convert_log_rows
from .input_validation import parse_number, read_bytes
from .joined_predictions import PredictionFileInfo, Predictions
from .json_streaming import iterate_chunks
from .normalize import has_text
from .reasoning_parser import extract_final_answer
from .row_reader import EXPECTED_FORMAT, VERSION_KEYS, has_only_text_cells, read_rows

# If a row has both `answer` and one of these keys, it is unclear which value is the answer of the model.
AMBIGUOUS_ANSWER_KEYS = frozenset(
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


def read_predictions(path: Path | str, keep_raw: bool = False) -> Predictions:
    """Read a predictions file or a log of an evaluation harness.

    A predictions file has rows with an item id, an answer and usually a confidence: a JSON list, an object
    with the key `predictions`, JSON Lines or a table. `core.column_aliases` lists the accepted column names.

    Args:
        path: The file.
        keep_raw: Keep reasoning and chat template tokens in the answers, as the published scripts do. If
            false, the final answer is extracted (`reasoning_parser.extract_final_answer`).

    Returns:
        The predictions. `faults` lists rows without an id or an answer, duplicate ids, and confidences that
        are not finite numbers. Faults are not raised here, so that the caller can report them together with
        unknown ids. A row has no prediction if its answer is missing (null, NaN, an empty cell) or is
        truncated reasoning; `file_info.failures` lists such rows. A reply without text is an abstention;
        `file_info.empty_replies` lists such replies.

    Raises:
        UserError: The file cannot be read or does not contain a list of rows.
    """
    path = Path(path)
    data = read_bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    rows, version = read_rows(path, data)
    rows, file_info, faults = convert_log_rows(rows, path, keep_raw)
    # The final answers of a log were already extracted when its rows were converted.
    is_log = not file_info.file_format.startswith("plain")
    builder = _PredictionBuilder(
        version, numbers_as_text=has_only_text_cells(path), keep_raw=keep_raw or is_log
    )
    builder.faults += faults
    for chunk in iterate_chunks(rows):
        if not all(isinstance(row, dict) for row in chunk):
            raise UserError(f"{path}: {EXPECTED_FORMAT}")
        builder.add_rows(chunk)
    return builder.build(path, sha256, file_info)


class _PredictionBuilder:
    """Collect predictions from chunks of rows. Equal answers share one string in memory."""

    def __init__(self, version: str, numbers_as_text: bool, keep_raw: bool) -> None:
        self.version, self.numbers_as_text, self.keep_raw = version, numbers_as_text, keep_raw
        self.ids: list[str] = []
        self.row_numbers: list[int] = []
        self.answer: list[str] = []
        self.confidence: list[float] = []
        self.labels: dict[str, float] = {}
        self.final_answer_cache: dict[str, str] = {}
        self.failures: dict[str, str] = {}
        self.num_rows = 0
        self.rows_without_confidence: list[int] = []
        self.faults: list[str] = []
        self.ambiguous_rows: dict[str, list[int]] = defaultdict(list)

    def add_rows(self, rows: Rows) -> None:
        """Add rows: column by column (which is fast) if no row has a problem to report, else row by row."""
        keys = set().union(*rows)
        if not self._add_columns(rows, keys):
            for number, row in enumerate(rows, self.num_rows + 1):
                self._add_row(number, row)
        self.num_rows += len(rows)
        if not keys.isdisjoint(LABEL_COLUMNS):
            labels, faults = parse_labels(rows, self.numbers_as_text)
            self.labels |= labels
            self.faults += faults

    def _add_columns(self, rows: Rows, keys: set[str]) -> bool:
        names, said, values = (
            _first_values(rows, keys) for keys in (ITEM_ID_COLUMNS, PREDICTION_COLUMNS, ("confidence",))
        )
        if (
            not {*map(type, names)} <= {str, int}
            or {*map(type, said)} != {str}
            or not keys.isdisjoint(AMBIGUOUS_ANSWER_KEYS)
            or not (self.version or keys.isdisjoint(VERSION_KEYS))
        ):
            return False
        if not (confidence := self._parse_confidences(values)):
            return False
        finals = [text for text in map(self._extract_answer, said) if text is not None]
        if len(finals) < len(said):
            return False
        numbers = range(self.num_rows + 1, self.num_rows + len(rows) + 1)
        self.ids += map(str, names)
        self.row_numbers += numbers
        self.answer += finals
        self.confidence += confidence
        self.rows_without_confidence += numbers if math.isnan(confidence[0]) else ()
        return True

    def _extract_answer(self, text: str) -> str | None:
        """Return the final answer; None for truncated reasoning."""
        if (known := self.final_answer_cache.get(text)) is not None:
            return known
        final = text
        if not self.keep_raw:
            answer = extract_final_answer(text)
            if answer.is_truncated:
                return None
            final = answer.text
        return self.final_answer_cache.setdefault(text, final)

    def _parse_confidences(self, values: list[Any]) -> list[float]:
        """Return the confidences; all NaN if no row has a confidence; empty if some rows have no or an
        invalid confidence.
        """
        kinds = {*map(type, values)}
        if kinds == {type(None)}:
            return [math.nan] * len(values)
        if kinds <= {float, int} or (self.numbers_as_text and kinds == {str}):
            with suppress(ValueError, OverflowError):
                values = list(map(parse_number if kinds == {str} else float, values))
                return values if all(map(math.isfinite, values)) else []
        return []

    def _add_row(self, number: int, row: dict[str, Any]) -> None:
        name, said, value = (
            get_first_value(row, ITEM_ID_COLUMNS),
            get_first_value(row, PREDICTION_COLUMNS),
            row.get("confidence"),
        )
        answer_key = find_column(PREDICTION_COLUMNS, row)
        if name is None or _is_nan(name):
            key = find_column(ITEM_ID_COLUMNS, row)
            keys = ", ".join(map(str, row)) or "no keys"
            wanted = (
                f"an id ({' or '.join(ITEM_ID_COLUMNS)}) and an answer ({' or '.join(PREDICTION_COLUMNS)})"
            )
            self.faults.append(
                f"row {number}: {key} is missing (null); expected an id"
                if key
                else f"row {number}: has {keys}; expected {wanted}"
            )
            return
        name = str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
        if answer_key is None:
            keys = ", ".join(map(str, row))
            self.faults.append(
                f"row {number} ({name}): has {keys}; expected an answer ({' or '.join(PREDICTION_COLUMNS)})"
            )
            return
        if "prediction" not in row and (rivals := sorted(AMBIGUOUS_ANSWER_KEYS & row.keys())):
            self.ambiguous_rows[", ".join(rivals)].append(number)
        self.version = self.version or str(get_first_value(row, VERSION_KEYS) or "")
        if said is None or _is_nan(said):
            self.failures[name] = (
                f"{answer_key} is missing ({'NaN' if said is not None else 'null, or an empty cell'})"
            )
            return
        if not isinstance(said, str):
            self.faults.append(f"row {number} ({name}): the answer is {said!r}, expected a string")
        final = self._extract_answer(said) if isinstance(said, str) else ""
        if final is None:
            self.failures[name] = TRUNCATED
            return
        confidence = math.nan
        if value is None or value == "":
            self.rows_without_confidence.append(number)
        elif isinstance(confidence := _parse_confidence(value, self.numbers_as_text), str):
            self.faults.append(f"row {number} ({name}): confidence is {confidence}")
            confidence = math.nan
        self.ids.append(name)
        self.row_numbers.append(number)
        self.answer.append(final)
        self.confidence.append(confidence)

    def build(self, path: Path, sha256: str, reading: PredictionFileInfo) -> Predictions:
        places = dict(zip(self.ids, range(len(self.ids)), strict=True))
        repeated = (
            [name for name, count in Counter(self.ids).items() if count > 1]
            if len(places) < len(self.ids)
            else []
        )
        failed = {name: why for name, why in self.failures.items() if name not in places}
        if faults := self._collect_faults({*repeated}, bool(failed or reading.failures)):
            faults.insert(0, f"{path}: {format_count(len(faults), 'fault')}")
        confidence = (
            np.array(self.confidence) if len(self.rows_without_confidence) < len(self.answer) else None
        )
        reading = reading._replace(
            failures={**reading.failures, **failed},
            empty_replies=reading.empty_replies
            or {name: EMPTY for name, place in places.items() if not has_text(self.answer[place])},
            duplicate_ids=tuple(repeated),
        )
        read = Predictions(
            path.stem, sha256, places, self.answer, confidence, self.version, tuple(faults), file_info=reading
        )
        return with_labels(read, self.labels)

    def _duplicate_faults(self, repeated: set[str]) -> Iterator[str]:
        seen: set[str] = set()
        for number, name in zip(self.row_numbers, self.ids, strict=True):
            if name in seen:
                yield f"row {number}: duplicate id {name!r}"
            elif name in repeated:
                seen.add(name)

    def _collect_faults(self, repeated: set[str], has_failed: bool) -> list[str]:
        """Return the faults of single rows, then the faults that concern several rows."""
        faults = [*self.faults, *(self._duplicate_faults(repeated) if repeated else ())]
        for rivals, numbers in self.ambiguous_rows.items():
            have = format_count(len(numbers), "row has", "rows have")
            faults.append(
                f"{have} `answer` beside {rivals} ({format_row_numbers(numbers)}): it is unclear which of them is the model's answer. "
                "Rename the model's answer to `prediction`"
            )
        if not self.answer and not faults and not has_failed:
            faults.append("no rows")
        if self.rows_without_confidence and len(self.answer) > len(self.rows_without_confidence):
            have = format_count(len(self.rows_without_confidence), "row has", "rows have")
            faults.append(
                f"{have} no `confidence`, but other rows have one ({format_row_numbers(self.rows_without_confidence)})"
            )
        return faults


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _first_values(rows: Rows, keys: tuple[str, ...]) -> list[Any]:
    """Return for each row the value that `get_first_value` returns."""
    first, *others = keys
    found = [row.get(first) for row in rows]
    for key in others:
        if None in found:
            found = [row.get(key) if value is None else value for row, value in zip(rows, found, strict=True)]
    return found


def _parse_confidence(value: object, numbers_as_text: bool) -> float | str:
    """Return a confidence, or a description of an invalid one."""
    if isinstance(value, str) and numbers_as_text:
        with suppress(ValueError):
            value = parse_number(value)
        if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip()):
            return f"{value!r}, expected a number with a decimal point"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return f"{value!r}, expected a number"
    try:
        return float(value) if math.isfinite(value) else f"{value}, expected a finite number"
    except OverflowError:
        return "a whole number of more than 300 digits, expected a number that fits into a float"
