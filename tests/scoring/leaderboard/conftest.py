"""A small benchmark of two subsets, and rows on it that are as good as a test wants them."""

import json

import numpy as np
import pytest

from pipeline.inference.run_options import fingerprint_release
from pipeline.scoring.items import Benchmark, BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from pipeline.scoring.leaderboard.rows import LeaderboardRow

IMAGES = 40


def item(subset, number, answerable):
    """Items of a subset: two of each image, an AQ and a UQ; AQs have one id in both subsets."""
    return BenchmarkItem(
        f"{number}" if answerable else f"{subset}_{number}",
        f"n{number}",
        {"red": 1.0} if answerable else {},
        category="" if answerable else "missing object" if number % 4 else "wrong relation",
        split="test",
    )


@pytest.fixture(scope="session")
def benchmark():
    subsets = {
        subset: Items.from_rows([item(subset, n, kind) for n in range(IMAGES) for kind in (True, False)])
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
        return LeaderboardRow(name, kind, each, "made up")

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


@pytest.fixture
def release(tmp_path):
    """A release on disk: three images, the same AQs in both subsets under one id."""
    folder = tmp_path / "small" / "1.0.0"
    (folder / "rgqa").mkdir(parents=True)
    rows = {
        "clip-hard": ("a1", "a2", "a3", "u1", "u2", "u3"),
        "pt-hard": ("a1", "a2", "a3", "p1", "p2", "p3"),
    }
    items = []
    for subset, names in rows.items():
        said = [
            {
                "img_id": f"n{name[1]}",
                "question_id": name,
                "sent": f"What is {name}?",
                "label": {"red" if name[0] == "a" else "UQ": 1.0},
            }
            for name in names
        ]
        (folder / "rgqa" / f"{subset}.json").write_text(json.dumps(said))
        items += [
            {"item": {"item_id": name, "subset": subset, "split": "test", "pair_id": f"{subset}{name[1]}"}}
            for name in names
        ]
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "params.json").write_text('{"dataset": "small", "version": "1.0.0"}')
    (folder / "CHECKSUMS.sha256").write_text("")
    return folder


@pytest.fixture
def a_file(release, tmp_path):
    """`a_file(name, right)`: a predictions file; `right`: whether its confidences tell AQs from UQs."""

    def make(name, right=True, left_out=()):
        ids = ("a1", "a2", "a3", "u1", "u2", "u3", "p1", "p2", "p3")
        lines = [
            {"questionId": one, "prediction": "red", "confidence": float((one[0] == "a") == right)}
            for one in ids
            if one not in left_out
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return make


@pytest.fixture
def a_run(release, a_file, tmp_path):
    """`a_run(folder, model, ...)`: a folder as `rgqa run` leaves it."""

    def make(folder, model, prompt="word", method="token-probability", right=True, left_out=(), **more):
        home = tmp_path / "runs" / folder
        home.mkdir(parents=True, exist_ok=True)
        a_file(f"runs/{folder}/predictions", right, left_out)
        about = {
            "release": {"name": "small", "version": "1.0.0", "sha256": fingerprint_release(release)},
            "model": model,
            "prompt": {"name": prompt, "hash": "0"},
            "confidence": {"name": method, "hash": "0"},
            "split": "test",
            "subsets": ["clip-hard", "pt-hard"],
            "limit": 0,
            "no_image": False,
            "release_path": str(release),
            "counts": {"questions": 4, "replies": 3, "failed": 1},
        }
        (home / "run.json").write_text(json.dumps(about | more))
        return home

    return make
