"""Compute scores as the script published by RGQA's authors does, for comparison: both files are read whole, and the scores
come from scikit-learn's curves. Written from its public definition (chihhuiho/RGQA 737af30,
`compute_accfpr`). No code was copied.

    python -m research.benchmarks.published_rgqa BENCHMARK PREDICTIONS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import auc, f1_score, precision_recall_curve, roc_curve


def main(benchmark: Path, predictions: Path) -> None:
    """Print the thirteen scores."""
    predicted = {row["questionId"]: row for row in json.loads(predictions.read_text())}
    confidence, answerable, right = [], [], []
    for item in json.loads(benchmark.read_text()):
        label, row = next(iter(item["label"])), predicted[item["question_id"]]
        confidence.append(row["confidence"])
        answerable.append(label != "UQ")
        right.append(row["prediction"] == label)
    for name, value in compute_scores(np.array(confidence), np.array(answerable), np.array(right)).items():
        print(f"{name:<20} {value:.6f}")


def compute_scores(confidence: np.ndarray, answerable: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Return the scores of n questions. Some must be answerable and some not.

    Args:
        confidence, answerable, right: Arrays of shape [n].
    """
    order = np.argsort(confidence)[::-1]
    ranked = confidence[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    false, true = (np.cumsum(kind[order])[last] for kind in (~answerable, answerable & right))
    fpr, acc = np.append(0, false / false[-1]), np.append(0, true / answerable.sum())
    false_rate, tpr, _ = roc_curve(answerable, confidence)
    precision, recall, _ = precision_recall_curve(answerable, confidence)
    out_precision, out_recall, _ = precision_recall_curve(~answerable, -confidence)
    accepted, proportion = confidence > 0.5, answerable.mean()
    errors = proportion * (1 - tpr) + (1 - proportion) * false_rate
    return {
        "auaf": auc(fpr, acc),
        "ff95": np.interp(0.95 * acc[-1], acc, fpr),
        "full_acc": acc[-1],
        "fpr95": np.interp(0.95, tpr, false_rate),
        "fpr81.4": np.interp(0.814, tpr, false_rate),
        "auroc": auc(false_rate, tpr),
        "aupr_in": auc(recall, precision),
        "aupr_out": auc(out_recall, out_precision),
        "detection_error": errors[tpr >= 0.95].min(),
        "accuracy_accept": right[accepted].mean(),
        "accuracy": right.mean(),
        "f1": f1_score(answerable, accepted),
        "accuracy_indomain": right[answerable].mean(),
    }


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
