"""Read abstention labels: the columns `abstained` (true or false) and `p_answerable` (0 to 1).

The labels are in the predictions file or in an external label file. The abstention classifier does not
classify replies that have a label.
"""

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

# If a row has several of these columns, the first one counts.
LABEL_COLUMNS = COLUMN_ALIASES["abstention"]
# Probability that the question is answerable, by the value of `abstained`.
ABSTAINED_VALUES = {"true": 0.0, "false": 1.0, "1": 0.0, "0": 1.0, "yes": 0.0, "no": 1.0}


def parse_labels(rows: Iterable[dict[str, Any]], numbers_as_text: bool) -> tuple[dict[str, float], list[str]]:
    """Parse the abstention labels of rows.

    Args:
        rows: Rows of a file; those without a label are skipped.
        numbers_as_text: Whether the file format (such as CSV) stores numbers as text.

    Returns:
        The label of each item by item id, and one message for each invalid label. A label is the probability
        that the question is answerable: 0 where the model abstained, 1 where the model answered.
    """
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
                faults.append(f"{name}: {column} is {value!r}, expected {wanted}")
            else:
                labels.setdefault(str(name), label)
    return labels, faults


def add_external_labels(predictions: Predictions, path: Path, detect_abstention: bool = True) -> Predictions:
    """Add the abstention labels of an external file.

    They take precedence over labels in the predictions file.

    Args:
        predictions: Predictions of a model.
        path: Label file: a table, JSON or JSON Lines.
        detect_abstention: Whether abstentions are detected in the replies. If not, external labels are refused
            for predictions with confidences, because the confidences take precedence.

    Raises:
        UserError: In one of these cases:

            - The file cannot be read, or no row has an item id and a label.
            - A label is invalid, or an item id occurs more than once.
            - A labelled item has no prediction.
            - The predictions have confidences, and `detect_abstention` is false.
    """
    rows, _ = read_rows(path, read_bytes(path))
    rows = [row for row in rows if isinstance(row, dict)]
    labels, faults = parse_labels(rows, has_only_text_cells(path))
    given = Counter(str(name) for row in rows if (name := get_first_value(row, ITEM_ID_COLUMNS)) is not None)
    faults += [f"{name}: occurs {count} times" for name, count in given.items() if count > 1]
    if unknown := sorted(labels.keys() - predictions.index_by_id.keys()):
        faults.append(
            f"{format_count(len(unknown), 'id has', 'ids have')} no prediction in {predictions.name}: {join_examples(unknown)}"
        )
    if not labels and not faults:
        faults.append(f"no row has {ITEM_ID_COLUMNS[0]} and {' or '.join(LABEL_COLUMNS)}")
    if predictions.file_info.confidence_field and not detect_abstention:
        faults.append(
            f"{predictions.name} has confidences, which take precedence. Remove --abstention-labels or add --detect-abstention"
        )
    if faults:
        raise UserError([f"{path}: {format_count(len(faults), 'fault')}", *faults])
    # Without a confidence column in the predictions file, its confidences were made from its own labels. The
    # external labels replace these confidences.
    if not predictions.file_info.confidence_field:
        predictions = predictions._replace(confidence=None)
    return with_labels(predictions, {**predictions.abstention_labels, **labels})


def with_labels(predictions: Predictions, labels: Mapping[str, float]) -> Predictions:
    """Add abstention labels.

    If no row has a confidence and all rows have a label, the labels become the confidences.
    """
    confidence = predictions.confidence
    if confidence is None and labels and labels.keys() >= predictions.index_by_id.keys():
        confidence = np.array([labels[name] for name in predictions.index_by_id])
    return predictions._replace(abstention_labels=labels, confidence=confidence)


def describe_unlabelled(predictions: Predictions) -> str:
    """Return how many answers have no label, as text; "" if no answer or every answer has a label."""
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
