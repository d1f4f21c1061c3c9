"""Reading predictions: JSON, JSONL, CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .items import Predictions
from .validation import InputError, parse_json, parse_lines, read_bytes

ID = ("questionId", "question_id", "id")
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
VERSION = ("benchmark_version", "version")


def read_predictions(path: Path | str) -> Predictions:
    """Read a predictions file. RGQA's `questionId/prediction/confidence` and `question_id/answer/confidence` are
    both read, as a list, under the key `predictions` of an object, as JSON lines, CSV or Parquet.

    Returns:
        The predictions; their `faults` list every row without id or answer, every duplicate id, every confidence
        that is no finite number. (They are not raised here, so that unknown ids are listed together with them.)

    Raises:
        InputError: the file cannot be read, or holds no list of rows.
    """
    path = Path(path)
    data = read_bytes(path)
    rows, version = _rows(path, data)
    answers: dict[str, str] = {}
    confidence: dict[str, float] = {}
    faults: list[str] = []
    unclear: dict[str, list[int]] = defaultdict(list)
    unsure = 0
    for number, row in enumerate(rows, 1):
        name, said, value = _first(row, ID), _first(row, ANSWER), row.get("confidence")
        if name is None or said is None:
            keys = ", ".join(map(str, row)) or "nothing"
            faults.append(
                f"row {number}: has {keys}; wanted an id ({' or '.join(ID)}) and an answer ({' or '.join(ANSWER)})"
            )
            continue
        name = str(name)
        if "prediction" not in row and (rivals := sorted(RIVALS & row.keys())):
            unclear[", ".join(rivals)].append(number)
        if name in answers:
            faults.append(f"row {number}: id {name} stands there twice")
            continue
        if not isinstance(said, str):
            faults.append(f"row {number} ({name}): the answer is {said!r}, wanted a string")
        answers[name] = said if isinstance(said, str) else ""
        version = version or str(_first(row, VERSION) or "")
        if value is None or value == "":
            unsure += 1
        elif isinstance(value := _number(value, path), str):
            faults.append(f"row {number} ({name}): confidence is {value}")
        else:
            confidence[name] = value
    for rivals, numbers in unclear.items():
        faults.append(
            f"{len(numbers)} rows, from row {numbers[0]} on, have `answer` beside {rivals}: is it the model's or the right one? "
            "Call the model's `prediction`"
        )
    if not answers and not faults:
        faults.append("no rows")
    if unsure and len(answers) > unsure:
        faults.append(f"{unsure} rows have no confidence, others have one")
    if faults:
        faults.insert(0, f"{path}: {len(faults)} faults")
    sha256 = hashlib.sha256(data).hexdigest()
    return Predictions(path.stem, sha256, answers, confidence or None, version, tuple(faults))


def _rows(path: Path, data: bytes) -> tuple[list[dict[str, Any]], str]:
    """The rows of a file, and the benchmark's version if the file names it beside them."""
    kind, version = Path(path.name.removesuffix(".gz")).suffix.lower(), ""
    if kind == ".csv":
        rows = _csv_rows(path, data)
    elif kind in (".jsonl", ".ndjson"):
        rows = [row for _, row in parse_lines(data, path)]
    elif kind == ".parquet":
        rows = _parquet_rows(path, data)
    elif kind in (".tsv", ".xlsx", ".xls", ".pkl", ".pickle", ".npy", ".npz"):
        raise InputError(
            f"{path}: {kind} is not read; wanted .json, .jsonl, .csv or .parquet (also .gz of these)"
        )
    else:
        rows = parse_json(data, path)
        if isinstance(rows, dict) and isinstance(rows.get("predictions"), list):
            rows, version = rows["predictions"], str(_first(rows, VERSION) or "")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: wanted a list of objects with questionId, prediction and confidence")
    return rows, version


def _csv_rows(path: Path, data: bytes) -> list[dict[str, Any]]:
    try:
        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None


def _parquet_rows(path: Path, data: bytes) -> list[dict[str, Any]]:
    try:
        from pyarrow import parquet

        return parquet.read_table(io.BytesIO(data)).to_pylist()
    except ImportError:
        raise InputError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    except (ValueError, OSError) as error:  # pyarrow's errors are one of these
        raise InputError(f"{path}: not a Parquet file ({error})") from None


def _first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _number(value: object, path: Path) -> float | str:
    """A confidence, or what it is instead of one."""
    if isinstance(value, str) and ".csv" in path.suffixes:
        with suppress(ValueError):
            value = float(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return f"{value!r}, wanted a number"
    try:
        return float(value) if math.isfinite(value) else f"{value}, wanted a finite number"
    except OverflowError:
        return "a whole number of more than 300 digits, wanted one that a float can hold"
