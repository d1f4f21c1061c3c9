"""Answerability as a task of its own, as VizWiz scores it: "unanswerable" is what is to be found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .detection import aupr
from .items import Answered, Options
from .validation import arrays


def answerability_f1(confidence: ArrayLike, answerable: ArrayLike, *, threshold: float = 0.5) -> float:
    """F1 of finding the unanswerable items, found where confidence < threshold (VizWiz's 1 - answerable > 0.5); in
    [0, 1], higher is better. NaN where there is none and none is found.

    >>> round(answerability_f1([0.9, 0.2, 0.7, 0.1], [True, True, False, False]), 3)  # 1 hit of 2 found and 2 there
    0.5
    """
    confidence, answerable = arrays(confidence=confidence, answerable=answerable)
    there, found = ~answerable.astype(bool), confidence < threshold
    both = np.count_nonzero(there) + np.count_nonzero(found)
    return 2 * np.count_nonzero(there & found) / both if both else float("nan")


def answerability_ap(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Average precision of finding the unanswerable items, lowest confidence first; NaN where there is none.

    >>> answerability_ap([0.9, 0.1], [True, False])
    1.0
    """
    confidence, answerable = arrays(confidence=confidence, answerable=answerable)
    return aupr(-confidence.astype(float), ~answerable.astype(bool))


def answerability_group(answered: Answered, options: Options) -> dict[str, Any]:
    columns = answered.confidence, answered.answerable
    return {
        "f1": answerability_f1(*columns, threshold=options.threshold),
        "average_precision": answerability_ap(*columns),
        "threshold": options.threshold,
    }
