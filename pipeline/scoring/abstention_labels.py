"""What a file says itself of which replies abstain, which the reader of replies is not asked then: the columns
`abstained` (true or false) and `p_answerable` (0 to 1), of the predictions or of an outside judge's file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core.column_aliases import COLUMN_ALIASES, ITEM_ID_COLUMNS, get_first_value
from ..core.errors import UserError, format_count, join_examples
from .input_validation import parse_number, read_bytes
from .joined_predictions import Predictions
from .row_reader import has_only_text_cells, read_rows

LABEL_COLUMNS = COLUMN_ALIASES["abstention"]  # where a row has both, the first counts
ABSTAINED_VALUES = {"true": 0.0, "false": 1.0, "1": 0.0, "0": 1.0, "yes": 0.0, "no": 1.0}


def parse_labels(rows: Iterable[dict[str, Any]], numbers_as_text: bool) -> tuple[dict[str, float], list[str]]:
    """Of the rows that say it, by id, the probability that the question is answerable (0 where the model abstained, 1
    where not); and what is wrong with others. `as_text`: the file knows no numbers."""
    labels: dict[str, float] = {}
    faults: list[str] = []
    for row in rows:
        name = get_first_value(row, ITEM_ID_COLUMNS)
        for column in LABEL_COLUMNS:
            if name is None or (value := row.get(column)) is None or value == "":
                continue
            label = (
                _parse_p_answerable(value, numbers_as_text)
                if column == "p_answerable"
                else _parse_abstained(value)
            )
            if label is None:
                wanted = "a number from 0 to 1" if column == "p_answerable" else "true or false"
                faults.append(f"{name}: {column} is {value!r}, wanted {wanted}")
            else:
                labels.setdefault(str(name), label)
    return labels, faults


def add_external_labels(predictions: Predictions, path: Path, detect_abstention: bool = True) -> Predictions:
    """The predictions with the labels of an outside judge, which count before those of their own file.

    Raises:
        UserError: the judge's file cannot be read, has no labels, wrong ones, or some of other items; or nobody would
            ask it.
    """
    rows, _ = read_rows(path, read_bytes(path))
    rows = [row for row in rows if isinstance(row, dict)]
    labels, faults = parse_labels(rows, has_only_text_cells(path))
    given = Counter(str(name) for row in rows if (name := get_first_value(row, ITEM_ID_COLUMNS)) is not None)
    faults += [f"{name}: stands there {count} times" for name, count in given.items() if count > 1]
    if unknown := sorted(labels.keys() - predictions.index_by_id.keys()):
        faults.append(
            f"{format_count(len(unknown), 'id has', 'ids have')} no prediction in {predictions.name}: {join_examples(unknown)}"
        )
    if not labels and not faults:
        faults.append(f"no row has {ITEM_ID_COLUMNS[0]} and {' or '.join(LABEL_COLUMNS)}")
    if predictions.file_info.confidence_field and not detect_abstention:
        faults.append(
            f"{predictions.name} has confidences, which count; leave out --abstention-labels, or add --detect-abstention"
        )
    if faults:
        raise UserError([f"{path}: {format_count(len(faults), 'fault')}", *faults])
    if not predictions.file_info.confidence_field:  # what there is was made from the file's own labels
        predictions = predictions._replace(confidence=None)
    return with_labels(predictions, {**predictions.abstention_labels, **labels})


def with_labels(predictions: Predictions, labels: Mapping[str, float]) -> Predictions:
    """The predictions with these labels; where no row has a confidence and all have a label, that is the confidence."""
    confidence = predictions.confidence
    if confidence is None and labels and labels.keys() >= predictions.index_by_id.keys():
        confidence = np.array([labels[name] for name in predictions.index_by_id])
    return predictions._replace(abstention_labels=labels, confidence=confidence)


def describe_unlabelled(predictions: Predictions) -> str:
    """Of how many answers neither file nor judge says whether they abstain; "" where it is none, or all."""
    count = (
        sum(name not in predictions.abstention_labels for name in predictions.index_by_id)
        if predictions.abstention_labels
        else 0
    )
    return f"{count:,} of {len(predictions.index_by_id):,} have no label" if count else ""


def _parse_abstained(value: object) -> float | None:
    return ABSTAINED_VALUES.get(str(value).strip().lower())


def _parse_p_answerable(value: object, as_text: bool) -> float | None:
    if isinstance(value, str) and as_text:
        with suppress(ValueError):
            value = parse_number(value)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    return float(number) if 0 <= number <= 1 else None
