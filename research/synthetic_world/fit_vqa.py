"""Fit what is fitted after the sample's nets are trained: `rgqa sample fit-vqa`.

For each seed: Gaussians on the train worlds of part `learn`, vector scaling and the Selector on the val worlds of part `fit`,
thresholds on those of part `choose`; figures are those of part `report`. What is there stays, until one of the seed's nets,
or the detector, is another.

Writes  fitted-<seed>.safetensors   what was fitted for the seed's net vanilla
        thresholds.json             by row and seed the confidence from which on to answer; null: answer nothing
        fitted.json                 how it was fitted, and how well it does
"""

from __future__ import annotations

import time
from multiprocessing import get_context
from typing import Any

from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.progress import report_written, track
from pipeline.core.records import Record
from research.reference_models.fitted_detectors import write_fitted
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.synthetic_world import fitted_methods, train_vqa
from research.synthetic_world.balancing import balance_answers
from research.synthetic_world.train_vqa import get_model_path
from research.synthetic_world.vqa_worlds import SEED

Thresholds = dict[
    str, dict[str, dict[str, dict[str, float | None]]]
]  # thresholds by row, seed, sort, risk or cost


class FittingRun(Record):
    """How it was fitted for the nets of a seed.

    Attributes:
        files: sha256 of the detector and of each net.
        tries: area under risk over coverage on the Selector's check, by its settings; `chosen` are those of the least.
        selection: on `report` by row: accuracy, auc, and C@R by "c@R".
        accuracy: on `report` by net: of all questions, and of the balanced ones; of these there are `balanced`.
    """

    seed: int
    files: dict[str, str]
    cpu_seconds: float
    selection_scores: dict[str, float]
    chosen: str
    selection: dict[str, dict[str, float]]
    accuracy: dict[str, dict[str, float]]
    num_balanced: int


class FittingRuns(Record):
    """All runs, by seed."""

    seeds: dict[str, FittingRun]


def read_fitting_runs() -> FittingRuns:
    """What fitted.json says; nothing where there is none."""
    path = train_vqa.OUTPUT_DIR / "fitted.json"
    return read_json(path, FittingRuns) if path.exists() else FittingRuns(seeds={})


def fit_sample_vqa(threads: int = 2) -> None:
    """Fit for every seed that has a net to fit for, a process for each of so many seeds at a time.

    Raises:
        UserError: there is no such net.
    """
    target = train_vqa.OUTPUT_DIR
    seeds = sorted(
        int(path.stem.rsplit("-", 1)[1]) for path in target.glob(f"{fitted_methods.BASE_MODEL}-*.safetensors")
    )
    if not seeds:
        raise UserError(f"{target}: no net to fit for; first run rgqa sample train-vqa --seed 0")
    due = [seed for seed in seeds if not _is_done(seed)]
    if due:
        with get_context("spawn").Pool(threads) as pool:  # torch's threads do not survive a fork
            train_vqa.prepare_worlds(pool)
            for run, thresholds in track(pool.imap_unordered(fit_seed, due), "fit", len(due), "seed"):
                write_json(target / "thresholds.json", merge_thresholds(run.seed, thresholds))
                write_json(
                    target / "fitted.json",
                    FittingRuns(seeds=read_fitting_runs().seeds | {str(run.seed): run}),
                )  # last
    report_written("fit-vqa", f"seeds {', '.join(map(str, seeds))}, {len(due)} of them anew", target)


def _is_done(seed: int) -> bool:
    there = read_fitting_runs().seeds.get(str(seed))
    fitted = (train_vqa.OUTPUT_DIR / f"fitted-{seed}.safetensors").exists()
    return fitted and there is not None and there.files == hash_files(seed)


def hash_files(seed: int) -> dict[str, str]:
    """The detector and the nets of a seed that are there, by their content."""
    paths = [
        train_vqa.OUTPUT_DIR / "regions.safetensors",
        *(get_model_path(net, seed) for net in fitted_methods.list_models(seed)),
    ]
    return {path.stem: sha256_file(path) for path in paths}


def merge_thresholds(seed: int, new: dict[str, Any]) -> Thresholds:
    """All thresholds that there are, with those of a seed in the place of its earlier ones."""
    path = train_vqa.OUTPUT_DIR / "thresholds.json"
    told: Thresholds = read_json(path, Thresholds) if path.exists() else {}
    rows = {
        row: {s: one for s, one in told.get(row, {}).items() if s != str(seed)}
        | ({str(seed): new[row]} if row in new else {})
        for row in LEADERBOARD_ROWS
    }
    return {row: dict(sorted(seeds.items())) for row, seeds in rows.items() if seeds}


def fit_seed(seed: int) -> tuple[FittingRun, dict[str, Any]]:
    """Fit for the nets of a seed and write it; the run, and the thresholds by row."""
    import torch

    torch.set_num_threads(1)
    began, files = time.process_time(), hash_files(seed)
    fitted, tries = fitted_methods.fit_methods(seed)
    write_fitted(train_vqa.OUTPUT_DIR / f"fitted-{seed}.safetensors", fitted)
    choose = fitted_methods.predict_subset("choose", seed, fitted)
    report = fitted_methods.predict_subset("report", seed, fitted, fitted_methods.COMPARED_METHODS)
    run = FittingRun(
        seed=seed,
        files=files,
        cpu_seconds=round(time.process_time() - began, 1),
        selection_scores=tries,
        chosen=min(tries, key=lambda name: tries[name]),
        selection=fitted_methods.measure_selection(report),
        accuracy=fitted_methods.measure_accuracy(report),
        num_balanced=len(balance_answers(report.questions, SEED)),
    )
    return run, fitted_methods.choose_row_thresholds(choose)
