"""Train the papers' baselines on precomputed region features, and answer the questions of a release (`rgqa
baselines`).
"""

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
from research.reference_models.region_stores import RegionStore, open_region_store
from research.reference_models.row_predictions import (
    ODIN_STEP,
    ReleaseQueries,
    collect_queries,
    format_predictions,
)

FITTED_INPUTS = {"gaussians", "scaling", "selector"}
UNAVAILABLE_ROWS = {
    "frcnn": "needs names of detected objects, which region features do not have",
    "frcnn_known": "needs names of detected objects, which region features do not have",
    "rp_hard": "needs CLIP embeddings of the training images and questions, which no stage computes",
    "caption_match": "needs captions",
    "true_regions": "needs the ground truth of the images",
    "own_msp": "needs an image tower of its own",
    "own_rp": "needs an image tower of its own",
}
AVAILABLE_ROWS = tuple(name for name in LEADERBOARD_ROWS if name not in UNAVAILABLE_ROWS)


@dataclass(frozen=True)
class BaselineRequest:
    """The options of `rgqa baselines`."""

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
    """Train nets, fit detectors, and write predictions. Finished results of an earlier run are reused.

    Raises:
        UserError: A file is missing or faulty, a row is not available, the work folder has other settings, or
            there is no GPU.
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
    needs_fitting = any(
        FITTED_INPUTS & set(DETECTORS[LEADERBOARD_ROWS[name].detector].required_inputs) for name in rows
    )
    for seed in request.seeds:
        train_missing_nets(work, nets, seed, data, request.config, device, log)
        if needs_fitting:
            fit_detectors(work, seed, data, device)
    if not release.exists():
        report_written(
            "baselines",
            f"{format_count(len(nets), 'net')} of {format_count(len(request.seeds), 'seed')}; no release at {release} yet",
            work,
        )
        return
    release_queries = collect_queries(read_benchmark(release))
    for seed in request.seeds:
        for name, output in predict_rows(work, rows, seed, release_queries, store, device).items():
            write_json(out / f"{name}-seed{seed}.json", format_predictions(release_queries, name, output))
    report_written(
        "baselines",
        f"{format_count(len(rows), 'row')} of {format_count(len(request.seeds), 'seed')}, {format_count(len(release_queries.queries), 'question')}",
        out,
    )


def select_rows(names: Sequence[str]) -> list[str]:
    """Return the rows with these names, or all available rows.

    Raises:
        UserError: A name is unknown, or the row cannot be computed from region features.
    """
    if unknown := sorted(set(names) - LEADERBOARD_ROWS.keys()):
        raise UserError(
            f"--baseline {', '.join(unknown)}: no such baseline; choose from {', '.join(AVAILABLE_ROWS)}"
        )
    if out := [name for name in names if name in UNAVAILABLE_ROWS]:
        raise UserError(
            [
                f"{format_count(len(out), 'baseline')} not available on region features",
                *(f"{name}: {UNAVAILABLE_ROWS[name]}" for name in out),
            ]
        )
    if not names:
        print(
            "\n  ".join(
                ["baselines: not available", *(f"{name}: {why}" for name, why in UNAVAILABLE_ROWS.items())]
            )
        )
    return [name for name in AVAILABLE_ROWS if not names or name in names]


def describe_settings(
    files: Mapping[str, Path], store: RegionStore, config: BaselineConfig
) -> dict[str, object]:
    """Return the settings that must be equal for a work folder to be reused: file sizes, feature shape,
    configuration.
    """
    sizes = {
        what: {file.name: file.stat().st_size for file in list_question_files(path) if file.is_file()}
        for what, path in files.items()
    }
    return {**sizes, "regions": [len(store.index_of), *store.shape], **asdict(config)}


def load_training_data(
    files: Mapping[str, Path], store: RegionStore, config: BaselineConfig, log: Callable[[str], None]
) -> TrainingData:
    """Read the questions as arrays. The vocabularies of words and answers are made from train."""
    train = QuestionCollector(track(read_training_questions(files["train"]), "train", unit="question"))
    val = QuestionCollector(track(read_training_questions(files["val"]), "val", unit="question"))
    words, answers = train.build_vocabulary(), train.top_answers(config.num_answers)
    all_of_train = train.to_question_set(words, answers, store, files["train"])
    known = take_rows(all_of_train, np.flatnonzero(all_of_train.answers >= 0))
    log(
        f"train: {len(known.answers):,} of {format_count(len(train), 'question')} have one of {format_count(len(answers), 'answer')}; "
        f"{format_count(len(words.words), 'word')}, {format_count(len(train.image_ids), 'image')}; val: {format_count(len(val), 'question')}"
    )
    return TrainingData(
        known, val.to_question_set(words, answers, store, files["val"]), words, answers, store
    )


def predict_rows(
    work: Path, rows: Sequence[str], seed: int, queries: ReleaseQueries, store: RegionStore, device: str
) -> dict[str, DetectorOutput]:
    """Predict the answers of rows to all queries (distinct questions about an image).

    Regions are read once for all nets, batch by batch, so that memory does not grow with the number of
    answers.
    """
    nets = {net: _load_net_on(device, work / f"{net}-{seed}.safetensors") for net in _required_nets(rows)}
    odin_nets = {
        LEADERBOARD_ROWS[name].net
        for name in rows
        if "odin_perturbed" in DETECTORS[LEADERBOARD_ROWS[name].detector].required_inputs
    }
    fitted = work / f"fitted-{seed}.safetensors"
    states = read_fitted(fitted)._asdict() if fitted.exists() else {}
    tokens = next(iter(nets.values())).vocabulary.encode([query.text for query in queries.queries])
    image_indices = find_image_indices(store, [query.image_id for query in queries.queries])
    parts: dict[str, list[DetectorOutput]] = {name: [] for name in rows}
    total = -(-len(queries.queries) // QUERY_BATCH_SIZE)
    for batch in track(iter_batches(tokens, image_indices, store), f"answer, seed {seed}", total, "batch"):
        outputs = {
            net: forward(model, batch, ODIN_STEP if net in odin_nets else 0.0) for net, model in nets.items()
        }
        for name in rows:
            row = LEADERBOARD_ROWS[name]
            parts[name].append(score_row(row, outputs, DetectorInputs(outputs[row.net], **states)))
    return {name: _concatenate(outputs) for name, outputs in parts.items()}


def _required_nets(rows: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(net for name in rows for net in LEADERBOARD_ROWS[name].required_nets)


def _load_net_on(device: str, path: Path) -> LoadedModel:
    model = load_net(path)
    model.net.to(device)
    return model


def _concatenate(parts: Sequence[DetectorOutput]) -> DetectorOutput:
    return DetectorOutput(
        [answer for part in parts for answer in part.answers],
        np.concatenate([part.confidence for part in parts]),
    )
