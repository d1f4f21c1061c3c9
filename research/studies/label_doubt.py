"""Measure how well `rgqa doubt` finds wrong labels: plant some in the sample's release and count those it names.

A planted error turns the label of a random item over, in all its subsets. Nothing else changes, because the models do not see labels.
The rates, priors and features of `pipeline/benchmark/label_errors` were chosen on the validation split with seed 0 of the nets. The
study therefore states its result on the test split with another seed.

The rows that were made with the CLIP score or with the true regions are left out: the CLIP subsets were selected by the one, and the other sees the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.label_errors.evidence import (
    LabelledItems,
    ModelEvidence,
    SetOptions,
    load_evidence,
    load_items,
)
from pipeline.benchmark.label_errors.label_doubt import estimate_wrong_labels
from pipeline.core.json_files import write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.rendering import format_markdown_table

RATES = (0.0, 0.02, 0.05, 0.1)
# Sets of models, by their rows of the leaderboard.
MODEL_SETS = {
    "five": ("separated", "rp", "mix", "resample", "frcnn_known"),
    "three weak": ("frcnn_known", "rp_hard", "msp"),
    "one": ("rp",),
}
NUM_NAMED = 100
BIN_ENDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
# Bins with fewer items are not compared.
MIN_BIN_SIZE = 100


class Trial(NamedTuple):
    """One set with planted errors.

    Attributes:
        wrong: [n] probability that each item's label is wrong.
        planted: [n] whether the label was turned over.
    """

    wrong: np.ndarray
    planted: np.ndarray


def run_doubt_study(split: str, net_seed: int, repetitions: int, seed: int, out: Path | None) -> str:
    """Plant errors, and return a table of how many are found.

    Args:
        split: Split of the release whose items are examined.
        net_seed: Seed of the nets.
        repetitions: Number of random plantings for each rate.
        seed: Seed of the plantings.
        out: JSON file for all results; None to write none.
    """
    folders = DatasetFolders("sample")
    items = load_items(str(folders.release_dir("1.0.0")), SetOptions(split=split))
    results: dict[str, dict[str, object]] = {}
    for name, rows in MODEL_SETS.items():
        paths = [folders.stage_dir("answer") / f"{row}-seed{net_seed}.json" for row in rows]
        models = load_evidence(items, paths)
        for rate in RATES:
            trials = [
                run_trial(items, models, rate, seed + number)
                for number in track(range(repetitions), f"{name}, {rate:.0%}", repetitions, "planting")
            ]
            results[f"{name}, {rate:.0%}"] = summarize(trials)
    if out:
        write_json(out, results)
    return format_results(results)


def plant_errors(items: LabelledItems, rate: float, seed: int) -> tuple[LabelledItems, np.ndarray]:
    """Turn over the labels of random items, in all their subsets.

    Args:
        items: The items.
        rate: Proportion of items.
        seed: Seed of the choice.

    Returns:
        The items with their new labels, and for each row whether its label was turned over.
    """
    names = sorted({*items.ids})
    rng = make_generator(seed, "planted errors")
    chosen = {names[i] for i in rng.permutation(len(names))[: round(rate * len(names))]}
    planted = np.array([key in chosen for key in items.ids], bool)
    return items._replace(labels=np.where(planted, 1 - items.labels, items.labels)), planted


def run_trial(items: LabelledItems, models: Sequence[ModelEvidence], rate: float, seed: int) -> Trial:
    """Plant errors and estimate which labels are wrong. An item counts once, as in the queue of `rgqa doubt`."""
    changed, planted = plant_errors(items, rate, seed)
    wrong = estimate_wrong_labels(changed, models).wrong
    _, first, inverse = np.unique(np.array(items.ids, object), return_index=True, return_inverse=True)
    return Trial(np.bincount(inverse, wrong) / np.bincount(inverse), planted[first])


def summarize(trials: Sequence[Trial]) -> dict[str, object]:
    """Return how many of the first items are planted, the expected and true number, and the calibration by bins."""
    named = [trial.planted[np.argsort(-trial.wrong, kind="stable")[:NUM_NAMED]].sum() for trial in trials]
    wrong = np.concatenate([trial.wrong for trial in trials])
    planted = np.concatenate([trial.planted for trial in trials])
    bins = []
    place = np.clip(np.searchsorted(BIN_ENDS, wrong, side="right") - 1, 0, len(BIN_ENDS) - 2)
    for number, (low, high) in enumerate(pairwise(BIN_ENDS)):
        inside = place == number
        if inside.sum() >= MIN_BIN_SIZE:
            bins.append(
                {
                    "low": low,
                    "high": high,
                    "items": int(inside.sum()),
                    "predicted": round(float(wrong[inside].mean()), 4),
                    "planted": round(float(planted[inside].mean()), 4),
                }
            )
    return {
        "found": [int(count) for count in named],
        "planted": round(float(np.mean([trial.planted.sum() for trial in trials])), 1),
        "planted_rate": round(float(planted.mean()), 4),
        "estimated_rate": round(float(wrong.mean()), 4),
        "largest_gap": max((round(abs(row["predicted"] - row["planted"]), 4) for row in bins), default=None),
        "mean_gap": round(
            sum(row["items"] * abs(row["predicted"] - row["planted"]) for row in bins)
            / max(1, sum(row["items"] for row in bins)),
            4,
        ),
        "bins": bins,
    }


def format_results(results: dict[str, dict[str, object]]) -> str:
    """Return the results as a Markdown table."""
    rows = [
        [
            "models, planted",
            "planted items",
            f"planted among the first {NUM_NAMED}",
            "estimated rate",
            "largest gap",
            "mean gap",
        ]
    ]
    for name, one in results.items():
        found = one["found"]
        assert isinstance(found, list)
        rows.append(
            [
                name,
                f"{one['planted']}",
                f"{np.mean(found):.0f} ({min(found)} to {max(found)})",
                f"{100 * float(str(one['estimated_rate'])):.1f} %",
                "-" if one["largest_gap"] is None else f"{100 * float(str(one['largest_gap'])):.1f}",
                f"{100 * float(str(one['mean_gap'])):.1f}",
            ]
        )
    return format_markdown_table(rows)
