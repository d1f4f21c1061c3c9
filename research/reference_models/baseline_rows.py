"""`rgqa baselines`: train what the rows of the papers need on precomputed region features, and let them answer a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.core import params
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import DATA_DIR, DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources.training_questions import list_question_files, read_training_questions
from research.reference_models.baseline_nets import (
    BaselineConfig,
    TrainingData,
    check_work_settings,
    fit_detectors,
    train_missing_nets,
)
from research.reference_models.detector_table import DETECTORS, DetectorInputs, DetectorOutput
from research.reference_models.fitted_detectors import read_fitted
from research.reference_models.inference import (
    QUERY_BATCH_SIZE,
    LoadedModel,
    find_image_indices,
    forward,
    iter_batches,
    load_net,
    resolve_device,
)
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, score_row
from research.reference_models.question_arrays import QuestionCollector, take_rows
from research.reference_models.region_files import open_region_store
from research.reference_models.region_stores import RegionStore
from research.reference_models.row_predictions import (
    ODIN_STEP,
    ReleaseQueries,
    collect_queries,
    format_predictions,
)

FITTED_INPUTS = {"gaussians", "scaling", "selector"}
UNAVAILABLE_ROWS = {
    "frcnn": "needs the names of what was detected, which region features do not have",
    "frcnn_known": "needs the names of what was detected, which region features do not have",
    "rp_hard": "needs CLIP vectors of train's images and questions, which no stage makes",
    "caption_match": "needs captions",
    "true_regions": "needs the truth of the images",
    "own_msp": "needs an image tower of its own",
    "own_rp": "needs an image tower of its own",
}
AVAILABLE_ROWS = tuple(name for name in LEADERBOARD_ROWS if name not in UNAVAILABLE_ROWS)


@dataclass(frozen=True)
class BaselineRequest:
    """What `rgqa baselines` is asked for; see its options."""

    features: Path
    train: Path | None = None
    val: Path | None = None
    dataset: str | None = None
    release: Path | None = None
    rows: Sequence[str] = ()
    seeds: Sequence[int] = (0,)
    config: BaselineConfig = field(default_factory=BaselineConfig)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    work_dir: Path | None = None
    out: Path | None = None


def run_baselines(request: BaselineRequest, log: Callable[[str], None] = print) -> None:
    """Train, fit, answer; what an earlier run finished stays.

    Raises:
        UserError: files that are missing or faulty, rows that cannot be made, a work folder of other settings, no GPU.
    """
    rows, device = select_rows(request.rows), resolve_device(request.device)
    folders = DatasetFolders(request.dataset)
    work = request.work_dir or DATA_DIR / "cache" / f"baselines-{folders.dataset}"
    out = request.out or folders.predictions
    questions = folders.source / "questions1.2"
    files = {
        "train": request.train or questions / "train_balanced_questions.json",
        "val": request.val or questions / "val_balanced_questions.json",
    }
    release = request.release or folders.release_dir(params.read_release_version())
    if not release.exists() and request.release:
        raise UserError(f"{release}: no such release")
    check_output_paths(
        [Output("--out", out, "folder"), Output("--checkpoint-dir", work, "folder")],
        [request.features, request.train, request.val, release, folders.source],
    )
    store = open_region_store(request.features)
    check_work_settings(work, describe_settings(files, store, request.config))
    data = load_training_data(files, store, request.config, log)
    nets = {net for name in rows for net in LEADERBOARD_ROWS[name].required_nets}
    fitting = any(
        FITTED_INPUTS & set(DETECTORS[LEADERBOARD_ROWS[name].detector].required_inputs) for name in rows
    )
    for seed in request.seeds:
        train_missing_nets(work, nets, seed, data, request.config, device, log)
        if fitting:
            fit_detectors(work, seed, data, device)
    if not release.exists():
        report_written(
            "baselines",
            f"{format_count(len(nets), 'net')} of {format_count(len(request.seeds), 'seed')}; no release at {release} yet",
            work,
        )
        return
    asked = collect_queries(read_benchmark(release))
    for seed in request.seeds:
        for name, said in predict_rows(work, rows, seed, asked, store, device).items():
            write_json(out / f"{name}-seed{seed}.json", format_predictions(asked, name, said))
    report_written(
        "baselines",
        f"{format_count(len(rows), 'row')} of {format_count(len(request.seeds), 'seed')}, {format_count(len(asked.queries), 'ask')}",
        out,
    )


def select_rows(names: Sequence[str]) -> list[str]:
    """The rows of these names, or all that can be made here.

    Raises:
        UserError: names that are unknown, or of rows that cannot be made.
    """
    if unknown := sorted(set(names) - LEADERBOARD_ROWS.keys()):
        raise UserError(f"unknown rows: {', '.join(unknown)}; there are {', '.join(AVAILABLE_ROWS)}")
    if out := [name for name in names if name in UNAVAILABLE_ROWS]:
        raise UserError(
            [
                f"{format_count(len(out), 'row')} cannot be made",
                *(f"{name}: {UNAVAILABLE_ROWS[name]}" for name in out),
            ]
        )
    if not names:
        print(
            "\n  ".join(
                ["baselines: left out", *(f"{name}: {why}" for name, why in UNAVAILABLE_ROWS.items())]
            )
        )
    return [name for name in AVAILABLE_ROWS if not names or name in names]


def describe_settings(
    files: Mapping[str, Path], store: RegionStore, plan: BaselineConfig
) -> dict[str, object]:
    """By what a work folder is known again: sizes of files, the features' shape, the plan."""
    sizes = {
        what: {file.name: file.stat().st_size for file in list_question_files(path) if file.is_file()}
        for what, path in files.items()
    }
    return {**sizes, "regions": [len(store.index_of), *store.shape], **asdict(plan)}


def load_training_data(
    files: Mapping[str, Path], store: RegionStore, plan: BaselineConfig, say: Callable[[str], None]
) -> TrainingData:
    """Questions as arrays; words and answers are those of train alone."""
    train = QuestionCollector(track(read_training_questions(files["train"]), "train", unit="question"))
    val = QuestionCollector(track(read_training_questions(files["val"]), "val", unit="question"))
    words, answers = train.build_vocabulary(), train.top_answers(plan.num_answers)
    all_of_train = train.to_question_set(words, answers, store, files["train"])
    known = take_rows(all_of_train, np.flatnonzero(all_of_train.answers >= 0))
    say(
        f"train: {len(known.answers):,} of {format_count(len(train), 'question')} have one of {format_count(len(answers), 'answer')}; "
        f"{format_count(len(words.words), 'word')}, {format_count(len(train.image_ids), 'image')}; val: {format_count(len(val), 'question')}"
    )
    return TrainingData(
        known, val.to_question_set(words, answers, store, files["val"]), words, answers, store
    )


def predict_rows(
    work: Path, rows: Sequence[str], seed: int, queries: ReleaseQueries, store: RegionStore, device: str
) -> dict[str, DetectorOutput]:
    """What rows say to all asks: regions are read once for all nets, and a batch at a time, so that memory does not grow with
    the answers known."""
    nets = {net: _load_net_on(device, work / f"{net}-{seed}.safetensors") for net in _required_nets(rows)}
    stepping = {
        LEADERBOARD_ROWS[name].net
        for name in rows
        if "stepped" in DETECTORS[LEADERBOARD_ROWS[name].detector].required_inputs
    }
    fitted = work / f"fitted-{seed}.safetensors"
    states = read_fitted(fitted)._asdict() if fitted.exists() else {}
    tokens = next(iter(nets.values())).vocabulary.encode([ask.text for ask in queries.queries])
    places = find_image_indices(store, [ask.image_id for ask in queries.queries])
    parts: dict[str, list[DetectorOutput]] = {name: [] for name in rows}
    total = -(-len(queries.queries) // QUERY_BATCH_SIZE)
    for batch in track(iter_batches(tokens, places, store), f"answer, seed {seed}", total, "batch"):
        seen = {net: forward(one, batch, ODIN_STEP if net in stepping else 0.0) for net, one in nets.items()}
        for name in rows:
            row = LEADERBOARD_ROWS[name]
            parts[name].append(score_row(row, seen, DetectorInputs(seen[row.net], **states)))
    return {name: _concatenate(said) for name, said in parts.items()}


def _required_nets(rows: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(net for name in rows for net in LEADERBOARD_ROWS[name].required_nets)


def _load_net_on(device: str, path: Path) -> LoadedModel:
    asked = load_net(path)
    asked.net.to(device)
    return asked


def _concatenate(parts: Sequence[DetectorOutput]) -> DetectorOutput:
    return DetectorOutput(
        [answer for part in parts for answer in part.answers],
        np.concatenate([part.confidence for part in parts]),
    )
