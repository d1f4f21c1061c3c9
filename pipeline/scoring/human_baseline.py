"""People against models: how many UQs do they reject? (RGQA, section 5.4)

Each person's judgement is "answer" or "reject" of an AQ or a UQ; models get the threshold at which they accept AQs
as often as people do."""

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
    """From people's judgements: `true_positive_rate` (share of AQs accepted), `rejection_accuracy` (share of UQs
    rejected), and how many of each there were. NaN without the kind.

    Args:
        accepted: [n] booleans, was the question judged answerable? answerable: [n] booleans, is it?

    >>> human_rejection([1, 1, 0, 0], [True, True, False, False])["rejection_accuracy"]
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
    """Share of UQs a model rejects where it accepts the share `tpr` of AQs, straight between thresholds, the best
    where several do; in [0, 1], higher is better. NaN where one kind is missing.

    >>> rejection_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False], 0.5)
    1.0
    """
    return 1 - fpr_at_tpr(confidence, answerable, tpr=tpr)


def read_human_judgments(path: Path | str) -> dict[str, list[bool]]:
    """A human study: a list of {"item_id", "accepted"}, one for each judgement; whether it was accepted, by item.

    Raises:
        UserError: lists every judgement that is not so.
    """
    rows = parse_json(read_bytes(path), path)
    rows = rows if isinstance(rows, list) else [rows]
    judgements, problems = parse_each_row(rows, "human study, judgement", _parse_judgment)
    if problems:
        raise UserError(problems)
    study: dict[str, list[bool]] = {}
    for item, accepted in judgements:
        study.setdefault(item, []).append(accepted)
    return study


def _parse_judgment(row: Any) -> tuple[str, bool]:
    item = get_first_value(row, ITEM_ID_COLUMNS) if isinstance(row, dict) else None
    if item is None or not isinstance(row.get("accepted"), bool):
        raise UserError("wanted an object with item_id (or question_id) and accepted (true or false)")
    return str(item), row["accepted"]


def score_human_baseline(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """People's rejection accuracy, and the model's where it accepts AQs as often as they do; on the same items."""
    study = options.human_judgments
    if study is None:
        return {"unavailable": "needs people's judgements (--resource human-judgments=FILE)"}
    at = answered.select(answered.items.isin(study))
    if not len(at.items):
        return {"unavailable": "the human study has no item of this subset"}
    judgements = [study[name] for name in at.items["id"]]
    people = compute_human_rejection(
        np.concatenate(judgements), np.repeat(at.answerable, list(map(len, judgements)))
    )
    tpr = people["true_positive_rate"]
    same, whole = (rejection_at_tpr(of.confidence, of.answerable, tpr) for of in (at, answered))
    return people | {
        "items": len(at.items),
        "model_rejection_accuracy": same,
        "model_rejection_accuracy_on_all_items": whole,
    }
