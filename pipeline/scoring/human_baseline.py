"""Human baseline: how many UQs do humans and models reject (RGQA, section 5.4)?

A judgment says whether an annotator accepts a question as answerable. For the comparison, the threshold of a
model is chosen so that the model accepts the same proportion of AQs as the annotators.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.column_aliases import ITEM_ID_COLUMNS, get_first_value
from ..core.errors import UserError
from .input_validation import check_arrays, parse_each_row, parse_json, read_bytes
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .realistic_vqa import fpr_at_tpr
from .threshold_sweep import nan_mean


def compute_human_rejection(accepted: ArrayLike, answerable: ArrayLike) -> dict[str, float]:
    """Return the proportions of AQs accepted and of UQs rejected by humans.

    Args:
        accepted: [n] booleans: whether an annotator judged the question answerable.
        answerable: [n] booleans: whether the question is answerable.

    Returns:
        `true_positive_rate` (proportion of AQs accepted; NaN without AQs), `rejection_accuracy` (proportion
        of UQs rejected; NaN without UQs), and the number of judgments on AQs (`aqs`) and on UQs (`uqs`).

    >>> compute_human_rejection([1, 1, 0, 0], [True, True, False, False])["rejection_accuracy"]
    1.0
    """
    accepted, answerable = check_arrays(accepted=accepted, answerable=answerable)
    accepted, answerable = accepted.astype(bool), answerable.astype(bool)
    return {
        "true_positive_rate": nan_mean(accepted[answerable]),
        "rejection_accuracy": nan_mean(~accepted[~answerable]),
        "aqs": int(answerable.sum()),
        "uqs": int((~answerable).sum()),
    }


def rejection_at_tpr(confidence: ArrayLike, answerable: ArrayLike, tpr: float) -> float:
    """Return the proportion of UQs that a model rejects when it accepts a proportion `tpr` of the AQs.

    Values are interpolated linearly between thresholds. If several thresholds reach `tpr`, the best one is
    used. The result is in [0, 1], higher is better; NaN if there are no AQs or no UQs.

    >>> rejection_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False], 0.5)
    1.0
    """
    return 1 - fpr_at_tpr(confidence, answerable, tpr=tpr)


def read_human_judgments(path: Path | str) -> dict[str, list[bool]]:
    """Read a human study: a list of {"item_id", "accepted"}, one object for each judgment.

    Returns:
        Item id -> for each annotator, whether the annotator accepted the question.

    Raises:
        UserError: Lists every invalid judgment.
    """
    rows = parse_json(read_bytes(path), path)
    rows = rows if isinstance(rows, list) else [rows]
    judgments, problems = parse_each_row(rows, "human study, judgment", _parse_judgment)
    if problems:
        raise UserError(problems)
    study: dict[str, list[bool]] = {}
    for item, accepted in judgments:
        study.setdefault(item, []).append(accepted)
    return study


def _parse_judgment(row: Any) -> tuple[str, bool]:
    item = get_first_value(row, ITEM_ID_COLUMNS) if isinstance(row, dict) else None
    if item is None or not isinstance(row.get("accepted"), bool):
        raise UserError("expected an object with item_id (or question_id) and accepted (true or false)")
    return str(item), row["accepted"]


def score_human_baseline(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Return the rejection accuracy of humans, and of the model if it accepts the same proportion of AQs, on
    the same items.
    """
    study = options.human_judgments
    if study is None:
        return {"unavailable": "needs human judgments (--resource human-judgments=FILE)"}
    at = answered.select(answered.items.isin(study))
    if not len(at.items):
        return {"unavailable": "the human study has no item of this subset"}
    judgments = [study[name] for name in at.items["id"]]
    humans = compute_human_rejection(
        np.concatenate(judgments), np.repeat(at.answerable, list(map(len, judgments)))
    )
    tpr = humans["true_positive_rate"]
    on_judged, on_all = (rejection_at_tpr(of.confidence, of.answerable, tpr) for of in (at, answered))
    return humans | {
        "items": len(at.items),
        "model_rejection_accuracy": on_judged,
        "model_rejection_accuracy_on_all_items": on_all,
    }
