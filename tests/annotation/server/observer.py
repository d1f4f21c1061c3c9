"""An observer who writes down all that a browser sees, and a classifier that looks for gold questions in it.

The words of the questions are left out: `annotation.study.gold_leakage` measures what they reveal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

SIDES = ("first", "second")
# Number of blocks of consecutive tasks. Each block is predicted from the others.
NUM_BLOCKS = 10


def flatten(value: Any, name: str = "") -> dict[str, float]:
    """Turn JSON into numbers: for each key its number, or the length of its text, and the size of lists and objects.

    >>> flatten({"screen": "task", "total": 7, "answer": None})
    {'#': 3.0, '.screen#': 4.0, '.total': 7.0, '.answer?': 0.0}
    """
    if isinstance(value, Mapping):
        return {f"{name}#": float(len(value))} | {
            key: number
            for own, inner in value.items()
            for key, number in flatten(inner, f"{name}.{own}").items()
        }
    if isinstance(value, str | list):
        return {f"{name}#": float(len(value))}
    return {f"{name}?": 0.0} if value is None else {name: float(value)}


def build_features(seen: Sequence[Mapping[str, Any]]) -> tuple[list[str], np.ndarray]:
    """Build the features of all tasks but the last one.

    Args:
        seen: For each task in order: "json" (what was shown), and further numbers by name, such as "seconds".

    Returns:
        The names of the features, and an array [tasks - 1, features]. Each number is there as it was when the
        task was shown, as it was with the next task, and as the difference of both.
    """
    rows = [
        flatten({name: value for name, value in row["json"].items() if name not in ("guidelines", "contact")})
        | {name: float(value) for name, value in row.items() if name != "json"}
        for row in seen
    ]
    names = sorted({name for row in rows for name in row})
    # A missing key is a sign of its own.
    now = np.array([[row.get(name, -1.0) for name in names] for row in rows])
    labels = [f"{name}{what}" for what in ("", " next", " change") for name in names]
    return labels, np.hstack([now[:-1], now[1:], np.diff(now, axis=0)])


def build_question_features(seen: Sequence[Mapping[str, Any]], count_texts: bool = True) -> np.ndarray:
    """Build the features of both questions of each task but the last one, [2 * (tasks - 1), features].

    Args:
        seen: As for `build_features`.
        count_texts: Whether to add how often both texts came before, with this image and with any.

    Returns:
        The features of the task, the position of the question, and the lengths of both texts.
    """
    _, features = build_features(seen)
    counts, rows = Counter[Any](), []
    for task, row in zip(features, seen, strict=False):
        texts, image = [row["json"][side] for side in SIDES], row["image_bytes"]
        own = [
            [len(text), len(text.split()), *([counts[text], counts[text, image]] if count_texts else [])]
            for text in texts
        ]
        rows += [[*task, position, *own[position], *own[1 - position]] for position in (0, 1)]
        counts.update(key for text in texts for key in (text, (text, image)))
    return np.array(rows, float)


def measure_auroc(features: np.ndarray, labels: Sequence[bool], num_blocks: int = NUM_BLOCKS) -> float:
    """Measure how well extremely randomized trees tell the labels from the features; cross-validated by blocks.

    Args:
        features: [rows, features], in the order in which they were seen.
        labels: [rows].
        num_blocks: Number of blocks of consecutive rows.
    """
    truth = np.asarray(labels, bool)
    features = features[:, features.min(axis=0) < features.max(axis=0)]
    blocks = np.arange(len(truth)) * num_blocks // len(truth)
    scores = np.zeros(len(truth))
    for train, held_out in GroupKFold(num_blocks).split(features, groups=blocks):
        model = ExtraTreesClassifier(60, min_samples_leaf=10, max_features=0.5, random_state=0)
        scores[held_out] = model.fit(features[train], truth[train]).predict_proba(features[held_out])[:, 1]
    return float(roc_auc_score(truth, scores))
