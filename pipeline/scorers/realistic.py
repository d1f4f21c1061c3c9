"""All scores of realistic VQA at once, from one sort: what a report prints and the bootstrap repeats."""

from __future__ import annotations

import numpy as np

from .acc_fpr import auaf_of, facc_of
from .detection import aupr_in_of, aupr_out_of, auroc_of, detection_error_of
from .sweep import Sweep, lowest_fpr, sweep

NAMES = ("auaf", "ff95", "facc", "auroc", "aupr_in", "aupr_out", "fpr95", "detection_error")
LOWER_IS_BETTER = frozenset({"ff95", "fpr95", "fpr81.4", "detection_error"})


def realistic_scores(confidence, correct, answerable) -> dict[str, float]:
    """The eight scores named in `NAMES`, strict definitions; NaN where undefined.

    >>> realistic_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])["auaf"]
    0.75
    """
    return {name: float(value) for name, value in scores_of(sweep(confidence, correct, answerable)).items()}


def scores_of(found: Sweep) -> dict[str, np.ndarray]:
    """The scores of every sweep, [...] each."""
    return {
        "auaf": auaf_of(found),
        "ff95": lowest_fpr(found.right, found.uqs, 0.95),
        "facc": facc_of(found),
        "auroc": auroc_of(found),
        "aupr_in": aupr_in_of(found),
        "aupr_out": aupr_out_of(found),
        "fpr95": lowest_fpr(found.aqs, found.uqs, 0.95),
        "detection_error": detection_error_of(found),
    }
