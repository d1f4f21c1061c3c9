"""A data set in GQA's format that a net learns in a second: objects with colors, as random features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

KINDS = ("cup", "dog", "lamp", "tree")
COLORS = ("blue", "green", "red")
REGIONS, WIDTH = 3, 12


def write(home: Path, images: int = 40, seed: int = 0) -> Path:
    """features/ (arrays), train.json and val.json in GQA's format, subset.json in RGQA's. Half of the questions are in val."""
    rng = np.random.default_rng(seed)
    looks = rng.normal(size=(len(KINDS) * len(COLORS), WIDTH))
    features = np.zeros((images, REGIONS, WIDTH), np.float32)
    ids, questions = [f"n{i}" for i in range(images)], []
    for image in range(images):
        for place, kind in enumerate(rng.permutation(len(KINDS))[:REGIONS]):
            color = int(rng.integers(len(COLORS)))
            features[image, place] = looks[kind * len(COLORS) + color] + rng.normal(0, 0.1, WIDTH)
            text = f"What color is the {KINDS[kind]}?"
            questions.append({"imageId": ids[image], "question": text, "answer": COLORS[color]})
    folder = home / "features"
    folder.mkdir(parents=True)
    (folder / "images.json").write_text(json.dumps(ids))
    np.save(folder / "features.npy", features.astype(np.float16))
    np.save(folder / "boxes.npy", np.tile(np.array([0.1, 0.2, 0.5, 0.9], np.float32), (images, REGIONS, 1)))
    half = len(questions) // 2
    for name, rows in (("train", questions[:half]), ("val", questions[half:])):
        full = {f"{i:03d}": {**row, "isBalanced": True, "semantic": []} for i, row in enumerate(rows)}
        (home / f"{name}.json").write_text(json.dumps(full))
    asked = [
        {"question_id": f"q{i}", "img_id": row["imageId"], "sent": row["question"], "label": label}
        for i, row in enumerate(questions[half : half + 20])
        for label in [{"UQ": 1.0} if i % 2 else {row["answer"]: 1.0}]
    ]
    (home / "subset.json").write_text(json.dumps(asked))
    return home
