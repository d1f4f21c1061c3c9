"""A set with wrong labels, and the predictions of three models on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

WORDS = ("cup", "dog", "bed", "hat", "car")


def write_pope(folder: Path, count: int = 400, rate: float = 0.05) -> tuple[Path, set[str]]:
    """Write a set in POPE's format with wrong labels, and return it with the ids of the wrong ones."""
    rng = np.random.default_rng(0)
    truth = rng.random(count) < 0.5
    wrong = rng.random(count) < rate
    rows = [
        {
            "question_id": i,
            "image": f"{i // 4}.jpg",
            "text": f"Is there a {WORDS[i % 5]} in the image?",
            "label": "yes" if truth[i] != wrong[i] else "no",
        }
        for i in range(count)
    ]
    path = folder / "pope.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    for name, accuracy in (("a", 0.95), ("b", 0.9), ("c", 0.9)):
        right = rng.random(count) < accuracy
        answers = [
            {"question_id": str(i), "prediction": "yes" if truth[i] == right[i] else "no"}
            for i in range(count)
        ]
        (folder / f"{name}.json").write_text(json.dumps(answers))
    return path, {str(i) for i in np.flatnonzero(wrong)}
