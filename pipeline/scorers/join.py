"""Predictions put beside the items they belong to, by id, never by order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .abstention import is_abstention
from .benchmark import UNANSWERABLE, Benchmark, Row
from .predictions import Predictions
from .validation import Refused

SHOWN = 20


class Joined(NamedTuple):
    """The items of a subset with what a model said. `correct` is the worth of the answer for an AQ (0 for a UQ),
    `literal` whether the prediction is letter by letter the first label ("UQ" for a UQ); `missing` marks items
    without a prediction: they are accepted last of all and are wrong. `confident` is false where the model gives no
    confidences at all."""

    rows: Sequence[Row]
    said: list[str]
    confidence: np.ndarray
    answerable: np.ndarray
    correct: np.ndarray
    literal: np.ndarray
    missing: np.ndarray
    confident: bool

    def at(self, which: np.ndarray) -> Joined:
        """The items at `which` (booleans or places)."""
        places = np.flatnonzero(which) if which.dtype == bool else which
        return Joined(
            [self.rows[i] for i in places],
            [self.said[i] for i in places],
            *(
                part[places]
                for part in (self.confidence, self.answerable, self.correct, self.literal, self.missing)
            ),
            self.confident,
        )


def faults(
    benchmark: Benchmark,
    ids: Collection[str],
    predictions: Predictions,
    *,
    allow_missing: bool,
    confidences: bool,
) -> list[str]:
    """What keeps these predictions from being scored: ids that are not in the benchmark or miss in the file, another
    version of the benchmark, no confidences. `ids` are all of the benchmark's, chosen subsets or not."""
    problems = []
    if predictions.version and benchmark.version and predictions.version != benchmark.version:
        problems.append(
            f"made for version {predictions.version} of the benchmark, this is {benchmark.version}"
        )
    unknown = sorted(predictions.answers.keys() - set(ids))
    if unknown:
        problems.append(
            f"{len(unknown)} ids are not in the benchmark (is it another version or subset?): {_some(unknown)}"
        )
    wanted = {row.id for rows in benchmark.subsets.values() for row in rows}
    missing = sorted(wanted - predictions.answers.keys())
    if missing and not allow_missing:
        problems.append(
            f"{len(missing)} of {len(wanted)} items have no prediction (--allow-missing counts them as rejected): {_some(missing)}"
        )
    if confidences and predictions.confidence is None and not predictions.faults:
        problems.append("no confidences; give them, or --free-text to read abstentions from the answers")
    return problems


def join(
    rows: Sequence[Row],
    predictions: Predictions,
    *,
    free_text: bool = False,
    match: Literal["case", "exact"] = "case",
) -> Joined:
    """Join one subset. With `free_text` the confidence is 0 for an abstention and 1 for any other answer.

    Raises:
        Refused: no item of the subset has a prediction.
    """
    missing = np.array([row.id not in predictions.answers for row in rows], bool)
    if missing.all():
        raise Refused(f"{predictions.name}: no item of the subset has a prediction")
    said = [predictions.answers.get(row.id, "") for row in rows]
    if free_text:
        confidence = np.array([0.0 if is_abstention(text) else 1.0 for text in said])
    elif predictions.confidence is None:
        confidence = np.ones(len(rows))
    else:
        confidence = np.array([predictions.confidence.get(row.id, 0.0) for row in rows])
    if missing.any():
        confidence[missing] = confidence[~missing].min() - 1
    fold = _fold if match == "case" else str
    correct = np.array([_worth(row, fold(text), fold) for row, text in zip(rows, said, strict=True)], float)
    correct[missing] = 0
    literal = np.array(
        [text == next(iter(row.answers), UNANSWERABLE) for row, text in zip(rows, said, strict=True)], bool
    )
    answerable = np.array([row.answerable for row in rows], bool)
    return Joined(
        rows,
        said,
        confidence,
        answerable,
        correct,
        literal & ~missing,
        missing,
        free_text or predictions.confidence is not None,
    )


def _worth(row: Row, said: str, fold) -> float:
    for answer, worth in row.answers.items():
        if fold(answer) == said:
            return min(float(worth), 1.0)
    return 0.0


def _fold(text: str) -> str:
    return " ".join(text.lower().split())


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
