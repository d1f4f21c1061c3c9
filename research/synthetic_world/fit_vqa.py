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
from pipeline.core.progress import done, track
from pipeline.core.records import Record
from research.reference_models.fitted_detectors import write_fitted
from research.reference_models.leaderboard_rows import ROWS
from research.synthetic_world import fitted_methods, train_vqa
from research.synthetic_world.balancing import balanced
from research.synthetic_world.train_vqa import file_of
from research.synthetic_world.vqa_worlds import SEED

Told = dict[str, dict[str, dict[str, dict[str, float | None]]]]  # thresholds by row, seed, sort, risk or cost


class FitRun(Record):
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
    tries: dict[str, float]
    chosen: str
    selection: dict[str, dict[str, float]]
    accuracy: dict[str, dict[str, float]]
    balanced: int


class Fits(Record):
    """All runs, by seed."""

    seeds: dict[str, FitRun]


def fits() -> Fits:
    """What fitted.json says; nothing where there is none."""
    path = train_vqa.TARGET / "fitted.json"
    return read_json(path, Fits) if path.exists() else Fits(seeds={})


def fit_sample_vqa(threads: int = 2) -> None:
    """Fit for every seed that has a net to fit for, a process for each of so many seeds at a time.

    Raises:
        UserError: there is no such net.
    """
    target = train_vqa.TARGET
    seeds = sorted(
        int(path.stem.rsplit("-", 1)[1]) for path in target.glob(f"{fitted_methods.NET}-*.safetensors")
    )
    if not seeds:
        raise UserError(f"{target}: no net to fit for; first run rgqa sample train-vqa --seed 0")
    due = [seed for seed in seeds if not _is_done(seed)]
    if due:
        with get_context("spawn").Pool(threads) as pool:  # torch's threads do not survive a fork
            train_vqa.prepare(pool)
            for run, thresholds in track(pool.imap_unordered(fit_seed, due), "fit", len(due), "seed"):
                write_json(target / "thresholds.json", merged(run.seed, thresholds))
                write_json(target / "fitted.json", Fits(seeds=fits().seeds | {str(run.seed): run}))  # last
    done("fit-vqa", f"seeds {', '.join(map(str, seeds))}, {len(due)} of them anew", target)


def _is_done(seed: int) -> bool:
    there = fits().seeds.get(str(seed))
    fitted = (train_vqa.TARGET / f"fitted-{seed}.safetensors").exists()
    return fitted and there is not None and there.files == files_of(seed)


def files_of(seed: int) -> dict[str, str]:
    """The detector and the nets of a seed that are there, by their content."""
    paths = [
        train_vqa.TARGET / "regions.safetensors",
        *(file_of(net, seed) for net in fitted_methods.nets_of(seed)),
    ]
    return {path.stem: sha256_file(path) for path in paths}


def merged(seed: int, new: dict[str, Any]) -> Told:
    """All thresholds that there are, with those of a seed in the place of its earlier ones."""
    path = train_vqa.TARGET / "thresholds.json"
    told: Told = read_json(path, Told) if path.exists() else {}
    rows = {
        row: {s: one for s, one in told.get(row, {}).items() if s != str(seed)}
        | ({str(seed): new[row]} if row in new else {})
        for row in ROWS
    }
    return {row: dict(sorted(seeds.items())) for row, seeds in rows.items() if seeds}


def fit_seed(seed: int) -> tuple[FitRun, dict[str, Any]]:
    """Fit for the nets of a seed and write it; the run, and the thresholds by row."""
    import torch

    torch.set_num_threads(1)
    began, files = time.process_time(), files_of(seed)
    fitted, tries = fitted_methods.fitted_for(seed)
    write_fitted(train_vqa.TARGET / f"fitted-{seed}.safetensors", fitted)
    choose = fitted_methods.answered("choose", seed, fitted)
    report = fitted_methods.answered("report", seed, fitted, fitted_methods.COMPARED)
    run = FitRun(
        seed=seed,
        files=files,
        cpu_seconds=round(time.process_time() - began, 1),
        tries=tries,
        chosen=min(tries, key=lambda name: tries[name]),
        selection=fitted_methods.selection(report),
        accuracy=fitted_methods.accuracy(report),
        balanced=len(balanced(report.questions, SEED)),
    )
    return run, fitted_methods.thresholds(choose)
