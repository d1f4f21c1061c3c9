"""Calibration of confidences: expected calibration error and Brier score."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .answer_scores import most_frequent_answer
from .input_validation import check_fractions
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions

Binning = Literal["equal_width", "equal_mass"]
NUM_BINS = 15


def expected_calibration_error(
    confidence: ArrayLike, correct: ArrayLike, *, num_bins: int = NUM_BINS, binning: Binning = "equal_width"
) -> float:
    """Return the expected calibration error (ECE).

    ECE is the mean over items of |mean confidence - mean correctness| of the bin of the item. It is in [0,
    1], lower is better, and NaN without items.

    Args:
        confidence: [n] probabilities.
        correct: [n] booleans or fractions in [0, 1].
        num_bins: Number of bins.
        binning: "equal_width" divides [0, 1] into intervals (a, b] of equal width, with 0 in the first
            interval. "equal_mass" puts the same number of items into each bin, except that equal confidences
            are in the same bin.

    If a question has ten human answers, Whitehead et al. (ECCV 2022, appendix G) use the most frequent answer
    as the correct one: `correct = [prediction == most_frequent_answer(answers) ...]`.

    >>> round(expected_calibration_error([0.9, 0.9, 0.1, 0.1], [1, 0, 0, 0], num_bins=10), 3)  # (0.4 + 0.1) / 2
    0.25
    """
    items, said, happened = reliability_table(confidence, correct, num_bins=num_bins, binning=binning).T
    return float((items * np.abs(said - happened)).sum() / items.sum()) if len(items) else float("nan")


def reliability_table(
    confidence: ArrayLike, correct: ArrayLike, *, num_bins: int = NUM_BINS, binning: Binning = "equal_width"
) -> np.ndarray:
    """Return the values of a reliability diagram.

    Args:
        confidence, correct, num_bins, binning: As in `expected_calibration_error`.

    Returns:
        [bins, 3]: number of items, mean confidence and mean correctness of each bin that is not empty.

    Raises:
        ValueError: An array, `num_bins` or `binning` is invalid.

    >>> reliability_table([0.9, 0.7, 0.1], [1, 0, 0], num_bins=2).round(3).tolist()
    [[1.0, 0.1, 0.0], [2.0, 0.8, 0.5]]
    """
    confidence, correct = check_fractions(confidence=confidence, correct=correct)
    if num_bins < 1:
        raise ValueError(f"num_bins is {num_bins}, expected 1 or more")
    if binning == "equal_width":
        place = np.searchsorted(np.linspace(0, 1, num_bins + 1)[1:-1], confidence)
    elif binning == "equal_mass":
        order = np.argsort(confidence)
        confidence, correct = confidence[order], correct[order]
        # Index of the first item of each distinct confidence.
        starts = np.flatnonzero(np.diff(confidence, prepend=-1.0))
        place = np.repeat(
            starts * num_bins // max(len(confidence), 1), np.diff(starts, append=len(confidence))
        )
    else:
        raise ValueError(f"binning is {binning!r}, expected 'equal_width' or 'equal_mass'")
    sums = np.array([np.bincount(place, values, num_bins) for values in (None, confidence, correct)])
    items, confidences, corrects = sums[:, sums[0] > 0]
    return np.stack([items, confidences / items, corrects / items], axis=1)


def brier_score(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Return the mean squared difference of confidence and correctness; in [0, 1], lower is better, NaN
    without items.

    >>> brier_score([1.0, 0.5], [1, 0])
    0.125
    """
    confidence, correct = check_fractions(confidence=confidence, correct=correct)
    return float(((confidence - correct) ** 2).mean()) if len(correct) else float("nan")


def find_calibration_obstacle(answered: JoinedPredictions) -> str:
    """Return why the confidences cannot be probabilities; "" if they can be."""
    if not answered.has_confidence:
        return "the predictions give no confidences"
    given = answered.confidence[~answered.missing]
    if (given < 0).any() or (given > 1).any():
        return "some confidences are outside [0, 1], so they are not probabilities"
    return ""


def get_calibration_outcomes(answered: JoinedPredictions) -> tuple[JoinedPredictions, dict[str, np.ndarray]]:
    """Return the items with a prediction, and the outcomes whose probability the confidence may be.

    There are two outcomes: the answer is correct, and (if the items include UQs) the question is answerable.
    If there are human answers, an answer is correct if it equals the most frequent human answer.

    Returns:
        The items with a prediction, and outcome -> [n] of 0 or 1 (fractions for partially correct answers).
    """
    at = answered.select(~answered.missing)
    right = at.correct
    if answered.has_human_answers:
        pairs = zip(at.answer, at.items["human_answers"], strict=True)
        right = np.array([float(said == most_frequent_answer(people)) for said, people in pairs])
    return at, {"correct": right} if answered.answerable.all() else {
        "answerable": at.answerable,
        "correct": right,
    }


def score_calibration(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Compute ECE and Brier score for each outcome of `get_calibration_outcomes`."""
    if why := find_calibration_obstacle(answered):
        return {"unavailable": why}
    at, happened = get_calibration_outcomes(answered)
    scores: Scores = {
        name: {
            "ece": expected_calibration_error(at.confidence, outcome),
            "ece_equal_mass": expected_calibration_error(at.confidence, outcome, binning="equal_mass"),
            "brier": brier_score(at.confidence, outcome),
        }
        for name, outcome in happened.items()
    }
    return scores | {"items": len(at.items)}
