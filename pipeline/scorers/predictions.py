"""Reading predictions: JSON, JSONL, CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .benchmark import parse, path_bytes
from .validation import Refused

ID = ("questionId", "question_id", "id")
ANSWER = ("prediction", "answer")
VERSION = ("benchmark_version", "version")


class Predictions(NamedTuple):
    """What a model said, by id. `confidence` is None when no row has one; `version` is the benchmark version the
    file says it was made for ("" when it does not say); `faults` are lines on what is wrong with its rows: with
    any, the predictions are not to be scored."""

    name: str
    sha256: str
    answers: dict[str, str]
    confidence: dict[str, float] | None
    version: str
    faults: tuple[str, ...] = ()


def read_predictions(path: Path | str) -> Predictions:
    """Read a predictions file. RGQA's `questionId/prediction/confidence` and `question_id/answer/confidence` are
    both read, as a list, under the key `predictions` of an object, as JSON lines, CSV or Parquet.

    Returns:
        The predictions; their `faults` list every row without id or answer, every duplicate id, every confidence
        that is no finite number. (They are not raised here, so that they are told together with unknown ids.)

    Raises:
        Refused: the file cannot be read, or holds no list of rows.
    """
    path = Path(path)
    data = path_bytes(path)
    rows, version = _rows(path, data)
    answers: dict[str, str] = {}
    confidence: dict[str, float] = {}
    problems: list[str] = []
    without = 0
    keys = None
    for number, row in enumerate(rows, 1):
        if keys is None or keys[0] not in row or keys[1] not in row:
            keys = _keys(row)
            if isinstance(keys, str):
                problems.append(f"row {number}: {keys}")
                keys = None
                continue
        name, said = str(row[keys[0]]), row[keys[1]]
        if name in answers:
            problems.append(f"row {number}: id {name} stands there twice")
            continue
        if not isinstance(said, str):
            problems.append(f"row {number} ({name}): the answer is {said!r}, wanted a string")
            said = ""
        answers[name] = said
        value = row.get("confidence")
        if value is None or value == "":
            without += 1
            continue
        if path.suffix.lower() == ".csv":
            value = _number(value)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            problems.append(f"row {number} ({name}): confidence is {value!r}, wanted a number")
        elif not math.isfinite(value):
            problems.append(f"row {number} ({name}): confidence is {value}, wanted a finite number")
        else:
            confidence[name] = float(value)
        version = version or str(next((row[k] for k in VERSION if row.get(k)), ""))
    if not answers and not problems:
        problems.append("no rows")
    if without and (confidence or len(answers) > without):
        problems.append(f"{without} rows have no confidence, others have one")
    faults = (f"{path}: {len(problems)} faults", *problems) if problems else ()
    return Predictions(
        path.stem, hashlib.sha256(data).hexdigest(), answers, confidence or None, version, faults
    )


def _rows(path: Path, data: bytes) -> tuple[list[dict[str, Any]], str]:
    kind = path.suffix.lower()
    version = ""
    if kind == ".csv":
        rows: Any = list(csv.DictReader(io.StringIO(_text(path, data))))
    elif kind in (".jsonl", ".ndjson"):
        rows = []
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise Refused(f"{path}, line {number}: not valid JSON ({error})") from None
    elif kind == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise Refused(
                f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
            ) from None
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    else:
        rows = parse(data, path)
        if isinstance(rows, dict) and isinstance(rows.get("predictions"), list):
            version = str(next((rows[k] for k in VERSION if rows.get(k)), ""))
            rows = rows["predictions"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refused(f"{path}: wanted a list of objects with questionId, prediction and confidence")
    return rows, version


def _keys(row: dict[str, Any]) -> tuple[str, str] | str:
    name = next((k for k in ID if row.get(k) is not None), None)
    said = next((k for k in ANSWER if row.get(k) is not None), None)
    if name is None or said is None:
        return f"has {', '.join(map(str, row)) or 'nothing'}; wanted an id ({' or '.join(ID)}) and an answer ({' or '.join(ANSWER)})"
    return name, said


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: not UTF-8 text ({error})") from None
