"""Do confidences mean what they say? Expected calibration error and Brier score."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .items import Answered, Options
from .validation import arrays, fractions
from .vqa_accuracy import most_frequent


def expected_calibration_error(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = 15, binning: Literal["width", "mass"] = "width"
) -> float:
    """ECE: |mean confidence - mean correctness| of each bin, weighted by its items; in [0, 1], lower is better.
    NaN without items.

    Args:
        confidence: [n] probabilities. correct: [n] booleans or fractions in [0, 1].
        bins: how many. binning: "width" cuts [0, 1] into equal intervals (a, b], 0 in the first; "mass" puts
            equally many items into each, equal confidences into one bin.

    With ten answers of people to a question the paper (appendix G) takes the commonest for the right one:
    `correct = [p == most_frequent(answers) ...]`.

    >>> round(expected_calibration_error([0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0], bins=10), 3)  # (0.4 + 0.1) / 2
    0.25
    """
    table = reliability_table(confidence, correct, bins=bins, binning=binning)
    total = table[:, 0].sum()
    if not total:
        return float("nan")
    return float((table[:, 0] * np.abs(table[:, 1] - table[:, 2])).sum() / total)


def reliability_table(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = 15, binning: Literal["width", "mass"] = "width"
) -> np.ndarray:
    """What a reliability diagram shows: for each bin that is not empty [items, mean confidence, mean correctness]."""
    confidence, correct = arrays(confidence=confidence, correct=correct)
    confidence, correct = fractions("confidence", confidence), fractions("correct", correct)
    if bins < 1:
        raise ValueError(f"bins is {bins}, wanted 1 or more")
    if binning == "width":
        place = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], confidence), 0, bins - 1)
    elif binning == "mass":
        place = np.searchsorted(np.sort(confidence), confidence) * bins // max(len(confidence), 1)
    else:
        raise ValueError(f"binning is {binning!r}, wanted 'width' or 'mass'")
    items = np.bincount(place, minlength=bins).astype(float)
    sums = [np.bincount(place, weights=values, minlength=bins) for values in (confidence, correct)]
    filled = items > 0
    return np.stack([items[filled], sums[0][filled] / items[filled], sums[1][filled] / items[filled]], axis=1)


def brier_score(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Mean squared difference of a probability and what happened; in [0, 1], lower is better. NaN without items.

    >>> brier_score([1.0, 0.5], [1, 0])
    0.125
    """
    confidence, correct = arrays(confidence=confidence, correct=correct)
    confidence, correct = fractions("confidence", confidence), fractions("correct", correct)
    return float(((confidence - correct) ** 2).mean()) if len(correct) else float("nan")


def calibration_group(answered: Answered, options: Options) -> dict[str, Any]:
    """ECE and Brier of the confidence as probability that the question is answerable (where some are not), and that
    the answer is right: with people's answers, that it is the commonest."""
    if not answered.confident:
        return {"absent": "the predictions give no confidences"}
    at = answered.at(~answered.missing)
    if (at.confidence < 0).any() or (at.confidence > 1).any():
        return {"absent": "some confidences lie outside [0, 1]: they are no probabilities"}
    right = [
        float(said == most_frequent(item.people)) if item.people else correct
        for said, item, correct in zip(at.said, at.items, at.correct, strict=True)
    ]
    outcomes = {"answerable": at.answerable.astype(float), "right": np.array(right)}
    if answered.answerable.all():
        del outcomes["answerable"]
    scores: dict[str, Any] = {
        name: {
            "ece": expected_calibration_error(at.confidence, outcome),
            "ece_equal_mass": expected_calibration_error(at.confidence, outcome, binning="mass"),
            "brier": brier_score(at.confidence, outcome),
        }
        for name, outcome in outcomes.items()
    }
    return scores | {"items": len(at.items)}
