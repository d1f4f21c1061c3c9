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

from ..core.column_aliases import ALIASES, ITEM_ID, first_value
from ..core.errors import UserError, counted, some_of
from .input_validation import number_of, read_bytes
from .joined_predictions import Predictions
from .row_reader import as_text as knows_no_numbers
from .row_reader import rows_of

COLUMNS = ALIASES["abstention"]  # where a row has both, the first counts
ABSTAINED = {"true": 0.0, "false": 1.0, "1": 0.0, "0": 1.0, "yes": 0.0, "no": 1.0}


def labels_of(rows: Iterable[dict[str, Any]], as_text: bool) -> tuple[dict[str, float], list[str]]:
    """Of the rows that say it, by id, the probability that the question is answerable (0 where the model abstained, 1
    where not); and what is wrong with others. `as_text`: the file knows no numbers."""
    labels: dict[str, float] = {}
    faults: list[str] = []
    for row in rows:
        name = first_value(row, ITEM_ID)
        for column in COLUMNS:
            if name is None or (value := row.get(column)) is None or value == "":
                continue
            label = _p_answerable(value, as_text) if column == "p_answerable" else _abstained(value)
            if label is None:
                wanted = "a number from 0 to 1" if column == "p_answerable" else "true or false"
                faults.append(f"{name}: {column} is {value!r}, wanted {wanted}")
            else:
                labels.setdefault(str(name), label)
    return labels, faults


def judged(model: Predictions, path: Path, free_text: bool = True) -> Predictions:
    """The predictions with the labels of an outside judge, which count before those of their own file.

    Raises:
        UserError: the judge's file cannot be read, has no labels, wrong ones, or some of other items; or nobody would
            ask it.
    """
    rows, _ = rows_of(path, read_bytes(path))
    rows = [row for row in rows if isinstance(row, dict)]
    labels, faults = labels_of(rows, knows_no_numbers(path))
    given = Counter(str(name) for row in rows if (name := first_value(row, ITEM_ID)) is not None)
    faults += [f"{name}: stands there {count} times" for name, count in given.items() if count > 1]
    if unknown := sorted(labels.keys() - model.places.keys()):
        faults.append(
            f"{counted(len(unknown), 'id has', 'ids have')} no prediction in {model.name}: {some_of(unknown)}"
        )
    if not labels and not faults:
        faults.append(f"no row has {ITEM_ID[0]} and {' or '.join(COLUMNS)}")
    if model.reading.confidence and not free_text:
        faults.append(f"{model.name} has confidences, which count; leave out --judge, or add --free-text")
    if faults:
        raise UserError([f"{path}: {counted(len(faults), 'fault')}", *faults])
    if not model.reading.confidence:  # what there is was made from the file's own labels
        model = model._replace(confidence=None)
    return with_labels(model, {**model.labels, **labels})


def with_labels(model: Predictions, labels: Mapping[str, float]) -> Predictions:
    """The predictions with these labels; where no row has a confidence and all have a label, that is the confidence."""
    confidence = model.confidence
    if confidence is None and labels and labels.keys() >= model.places.keys():
        confidence = np.array([labels[name] for name in model.places])
    return model._replace(labels=labels, confidence=confidence)


def unlabelled(model: Predictions) -> str:
    """Of how many answers neither file nor judge says whether they abstain; "" where it is none, or all."""
    count = sum(name not in model.labels for name in model.places) if model.labels else 0
    return f"{count:,} of {len(model.places):,} have no label" if count else ""


def _abstained(value: object) -> float | None:
    return ABSTAINED.get(str(value).strip().lower())


def _p_answerable(value: object, as_text: bool) -> float | None:
    if isinstance(value, str) and as_text:
        with suppress(ValueError):
            value = number_of(value)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    return float(number) if 0 <= number <= 1 else None
