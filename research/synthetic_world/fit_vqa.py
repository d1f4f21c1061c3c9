"""Fit detectors and thresholds for the trained nets of the sample: `rgqa sample fit-vqa`.

For each seed, Gaussians are fitted on the train scenes of subset `learn`, vector scaling and the Selector on
the val scenes of subset `fit`, and thresholds are chosen on subset `choose`. Results are for subset `report`.
Existing files are kept until a net of the seed, or the detector, changes.

Writes  fitted-<seed>.safetensors   detectors fitted to the net vanilla of the seed
        thresholds.json             row -> seed -> lowest confidence at which a question is answered (null: never)
        fitted.json                 settings of the fitting runs, and the results
"""

from __future__ import annotations

import time
from multiprocessing import get_context
from typing import Any

from msgspec import field

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

# Row -> seed -> "at_risk" or "at_cost" -> risk or cost -> threshold.
Thresholds = dict[str, dict[str, dict[str, dict[str, float | None]]]]


class FittingRun(Record):
    """The fitting run of a seed.

    Attributes:
        files: SHA-256 of the detector and of each net.
        selection_scores: Setting of the Selector -> area under the risk-coverage curve. `chosen` has the
            smallest area.
        selection: Row -> accuracy, auc, and coverage at risk R ("c@R") on subset `report`.
        accuracy: Net -> accuracy on all questions and on balanced questions of subset `report`.
        num_balanced: Number of balanced questions.
    """

    seed: int
    files: dict[str, str]
    cpu_seconds: float
    selection_scores: dict[str, float] = field(name="tries")
    chosen: str
    selection: dict[str, dict[str, float]]
    accuracy: dict[str, dict[str, float]]
    num_balanced: int = field(name="balanced")


class FittingRuns(Record):
    """All fitting runs by seed."""

    seeds: dict[str, FittingRun]


def read_fitting_runs() -> FittingRuns:
    """Read fitted.json. If the file does not exist, there are no runs."""
    path = train_vqa.OUTPUT_DIR / "fitted.json"
    return read_json(path, FittingRuns) if path.exists() else FittingRuns(seeds={})


def fit_sample_vqa(threads: int = 2) -> None:
    """Fit every seed that has the net `vanilla`, in `threads` parallel processes.

    Raises:
        UserError: No seed has this net.
    """
    target = train_vqa.OUTPUT_DIR
    seeds = sorted(
        int(path.stem.rsplit("-", 1)[1]) for path in target.glob(f"{fitted_methods.BASE_MODEL}-*.safetensors")
    )
    if not seeds:
        raise UserError(f"{target}: there is no net to fit for. Run `rgqa sample train-vqa --seed 0` first.")
    due = [seed for seed in seeds if not _is_done(seed)]
    if due:
        # New processes are spawned, because the threads of torch do not survive a fork.
        with get_context("spawn").Pool(threads) as pool:
            train_vqa.prepare_worlds(pool)
            for run, thresholds in track(pool.imap_unordered(fit_seed, due), "fit", len(due), "seed"):
                write_json(target / "thresholds.json", merge_thresholds(run.seed, thresholds))
                # This file is written last, because an entry in it means that the seed is complete.
                runs = read_fitting_runs().seeds | {str(run.seed): run}
                write_json(target / "fitted.json", FittingRuns(seeds=runs))
    report_written("fit-vqa", f"seeds {', '.join(map(str, seeds))}, {len(due)} of them fitted now", target)


def _is_done(seed: int) -> bool:
    there = read_fitting_runs().seeds.get(str(seed))
    fitted = (train_vqa.OUTPUT_DIR / f"fitted-{seed}.safetensors").exists()
    return fitted and there is not None and there.files == hash_files(seed)


def hash_files(seed: int) -> dict[str, str]:
    """Hash the detector and the existing nets of a seed."""
    paths = [
        train_vqa.OUTPUT_DIR / "regions.safetensors",
        *(get_model_path(net, seed) for net in fitted_methods.list_models(seed)),
    ]
    return {path.stem: sha256_file(path) for path in paths}


def merge_thresholds(seed: int, new: dict[str, Any]) -> Thresholds:
    """Return all thresholds, with the thresholds of a seed replaced."""
    path = train_vqa.OUTPUT_DIR / "thresholds.json"
    known: Thresholds = read_json(path, Thresholds) if path.exists() else {}
    rows = {
        row: {s: one for s, one in known.get(row, {}).items() if s != str(seed)}
        | ({str(seed): new[row]} if row in new else {})
        for row in LEADERBOARD_ROWS
    }
    return {row: dict(sorted(seeds.items())) for row, seeds in rows.items() if seeds}


def fit_seed(seed: int) -> tuple[FittingRun, dict[str, Any]]:
    """Fit the detectors of a seed and write them. Return the run, and row -> thresholds."""
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
