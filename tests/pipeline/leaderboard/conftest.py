"""A small benchmark of two subsets, and rows on it that are as good as a test wants them."""

import json

import numpy as np
import pytest

from pipeline.leaderboard.board_rows import BoardRow
from pipeline.scorers.answered import Predictions
from pipeline.scorers.items import Benchmark, BenchmarkItem, Items

PICTURES = 40


def item(subset, number, answerable):
    """Items of a subset: two of each picture, an AQ and a UQ; AQs have one id in both subsets."""
    return BenchmarkItem(
        f"{number}" if answerable else f"{subset}_{number}",
        f"n{number}",
        {"red": 1.0} if answerable else {},
        category="" if answerable else "missing object" if number % 4 else "wrong relation",
        part="test",
    )


@pytest.fixture(scope="session")
def benchmark():
    subsets = {
        subset: Items.of([item(subset, n, kind) for n in range(PICTURES) for kind in (True, False)])
        for subset in ("clip-hard", "pt-hard")
    }
    ids = frozenset().union(*(items.ids for items in subsets.values()))
    return Benchmark("rgqa", "b", "1.0.0", {}, subsets, ids)


@pytest.fixture(scope="session")
def said(benchmark):
    """`said(skill, seed)`: predictions for all items, AQs `skill` standard deviations more confident than UQs, 70 % right."""

    def make(skill=1.0, seed=0, name="m"):
        random = np.random.default_rng(seed)
        ids = sorted(benchmark.ids)
        confidence = random.normal(size=len(ids)) + skill * np.array([one.isdigit() for one in ids])
        answers = np.where(random.random(len(ids)) < 0.7, "red", "blue").tolist()
        return Predictions(name, "", dict(zip(ids, range(len(ids)), strict=True)), answers, confidence)

    return make


@pytest.fixture(scope="session")
def row(benchmark, said):
    """`row(name, skill, seeds)`: a row of the board."""

    def make(name, skill=1.0, seeds=(0,), kind="model", subsets=None):
        each = tuple(dict.fromkeys(subsets or benchmark.subsets, said(skill, seed)) for seed in seeds)
        return BoardRow(name, kind, each, "made up")

    return make


@pytest.fixture
def write(tmp_path, benchmark):
    """`write("m.json", version="1.0.0", leave_out=..., more=...)`: a predictions file in a folder."""

    def make(name, leave_out=(), more=(), version="", confidence=0.5, ids=None):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"questionId": one, "prediction": "red", "confidence": confidence}
            for one in [*sorted(ids or benchmark.ids), *more]
            if one not in leave_out
        ]
        path.write_text(json.dumps({"version": version, "predictions": rows} if version else rows))
        return path

    return make
