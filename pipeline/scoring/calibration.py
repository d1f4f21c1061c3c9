"""Do confidences mean what they say? Expected calibration error and Brier score."""

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
    items, said, happened = reliability_table(confidence, correct, num_bins=num_bins, binning=binning).T
    return float((items * np.abs(said - happened)).sum() / items.sum()) if len(items) else float("nan")


def reliability_table(
    confidence: ArrayLike, correct: ArrayLike, *, num_bins: int = NUM_BINS, binning: Binning = "equal_width"
) -> np.ndarray:
    """What a reliability diagram shows: for each bin that is not empty [items, mean confidence, mean correctness]."""
    confidence, correct = check_fractions(confidence=confidence, correct=correct)
    if num_bins < 1:
        raise ValueError(f"bins is {num_bins}, wanted 1 or more")
    if binning == "equal_width":
        place = np.searchsorted(np.linspace(0, 1, num_bins + 1)[1:-1], confidence)
    elif binning == "equal_mass":
        order = np.argsort(confidence)
        confidence, correct = confidence[order], correct[order]
        starts = np.flatnonzero(np.diff(confidence, prepend=-1.0))  # of each distinct confidence
        place = np.repeat(
            starts * num_bins // max(len(confidence), 1), np.diff(starts, append=len(confidence))
        )
    else:
        raise ValueError(f"binning is {binning!r}, wanted 'width' or 'mass'")
    sums = np.array([np.bincount(place, values, num_bins) for values in (None, confidence, correct)])
    items, confidences, corrects = sums[:, sums[0] > 0]
    return np.stack([items, confidences / items, corrects / items], axis=1)


def brier_score(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Mean squared difference of a probability and what happened; in [0, 1], lower is better. NaN without items.

    >>> brier_score([1.0, 0.5], [1, 0])
    0.125
    """
    confidence, correct = check_fractions(confidence=confidence, correct=correct)
    return float(((confidence - correct) ** 2).mean()) if len(correct) else float("nan")


def find_calibration_obstacle(answered: JoinedPredictions) -> str:
    """Why these confidences cannot be calibrated; "" if they can."""
    if not answered.has_confidence:
        return "the predictions give no confidences"
    given = answered.confidence[~answered.missing]
    if (given < 0).any() or (given > 1).any():
        return "some confidences lie outside [0, 1]: they are no probabilities"
    return ""


def get_calibration_outcomes(answered: JoinedPredictions) -> tuple[JoinedPredictions, dict[str, np.ndarray]]:
    """The items that have a prediction, and what their confidence may be the probability of: that the question is
    answerable (where some are not), and that the answer is right: with people's answers, that it is the commonest."""
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
    """ECE and Brier of each of the `outcomes`."""
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
