"""`rgqa baselines`: train what the rows of the papers need on precomputed region features, and let them answer a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.core import params
from pipeline.core.errors import UserError, counted
from pipeline.core.json_files import write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done, track
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources.training_questions import asked_questions, files_of
from research.reference_models.baseline_nets import Data, Plan, claim, fit, train_nets
from research.reference_models.detector_table import DETECTORS, Given, Said
from research.reference_models.fitted_detectors import read_fitted
from research.reference_models.inference import BATCH, Asked, batches, device_of, load_net, places_in, see
from research.reference_models.leaderboard_rows import ROWS, said_of_row
from research.reference_models.question_arrays import Gathered, rows_of
from research.reference_models.region_files import open_regions
from research.reference_models.region_stores import RegionStore
from research.reference_models.row_predictions import STEP, ReleaseAsks, asks_of, predictions

FITTED = {"gaussians", "scaling", "selector"}
LEFT_OUT = {
    "frcnn": "needs the names of what was detected, which region features do not have",
    "frcnn_known": "needs the names of what was detected, which region features do not have",
    "rp_hard": "needs CLIP vectors of train's pictures and questions, which no stage makes",
    "caption_match": "needs captions",
    "true_regions": "needs the truth of the pictures",
    "own_msp": "needs a picture tower of its own",
    "own_rp": "needs a picture tower of its own",
}
POSSIBLE = tuple(name for name in ROWS if name not in LEFT_OUT)


@dataclass(frozen=True)
class Wanted:
    """What `rgqa baselines` is asked for; see its options."""

    features: Path
    train: Path | None = None
    val: Path | None = None
    data_set: str | None = None
    release: Path | None = None
    rows: Sequence[str] = ()
    seeds: Sequence[int] = (0,)
    plan: Plan = field(default_factory=Plan)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    work: Path | None = None
    out: Path | None = None


def baselines(wanted: Wanted, say: Callable[[str], None] = print) -> None:
    """Train, fit, answer; what an earlier run finished stays.

    Raises:
        UserError: files that are missing or faulty, rows that cannot be made, a work folder of other settings, no GPU.
    """
    rows, device = rows_wanted(wanted.rows), device_of(wanted.device)
    folders = Folders(wanted.data_set)
    work = wanted.work or DATA / "cache" / f"baselines-{folders.dataset}"
    out = wanted.out or folders.predictions
    questions = folders.source / "questions1.2"
    files = {
        "train": wanted.train or questions / "train_balanced_questions.json",
        "val": wanted.val or questions / "val_balanced_questions.json",
    }
    release = wanted.release or folders.release(params.version())
    if not release.exists() and wanted.release:
        raise UserError(f"{release}: no such release")
    check_output_paths(
        [Output("--out", out, "folder"), Output("--work", work, "folder")],
        [wanted.features, wanted.train, wanted.val, release, folders.source],
    )
    store = open_regions(wanted.features)
    claim(work, settings(files, store, wanted.plan))
    data = gathered(files, store, wanted.plan, say)
    nets = {net for name in rows for net in ROWS[name].nets}
    fitting = any(FITTED & set(DETECTORS[ROWS[name].detector].needs) for name in rows)
    for seed in wanted.seeds:
        train_nets(work, nets, seed, data, wanted.plan, device, say)
        if fitting:
            fit(work, seed, data, device)
    if not release.exists():
        done(
            "baselines",
            f"{counted(len(nets), 'net')} of {counted(len(wanted.seeds), 'seed')}; no release at {release} yet",
            work,
        )
        return
    asked = asks_of(read_benchmark(release))
    for seed in wanted.seeds:
        for name, said in answers(work, rows, seed, asked, store, device).items():
            write_json(out / f"{name}-seed{seed}.json", predictions(asked, name, said))
    done(
        "baselines",
        f"{counted(len(rows), 'row')} of {counted(len(wanted.seeds), 'seed')}, {counted(len(asked.asks), 'ask')}",
        out,
    )


def rows_wanted(names: Sequence[str]) -> list[str]:
    """The rows of these names, or all that can be made here.

    Raises:
        UserError: names that are unknown, or of rows that cannot be made.
    """
    if unknown := sorted(set(names) - ROWS.keys()):
        raise UserError(f"unknown rows: {', '.join(unknown)}; there are {', '.join(POSSIBLE)}")
    if out := [name for name in names if name in LEFT_OUT]:
        raise UserError(
            [f"{counted(len(out), 'row')} cannot be made", *(f"{name}: {LEFT_OUT[name]}" for name in out)]
        )
    if not names:
        print("\n  ".join(["baselines: left out", *(f"{name}: {why}" for name, why in LEFT_OUT.items())]))
    return [name for name in POSSIBLE if not names or name in names]


def settings(files: Mapping[str, Path], store: RegionStore, plan: Plan) -> dict[str, object]:
    """By what a work folder is known again: sizes of files, the features' shape, the plan."""
    sizes = {
        what: {file.name: file.stat().st_size for file in files_of(path) if file.is_file()}
        for what, path in files.items()
    }
    return {**sizes, "regions": [len(store.place_of), *store.shape], **asdict(plan)}


def gathered(files: Mapping[str, Path], store: RegionStore, plan: Plan, say: Callable[[str], None]) -> Data:
    """Questions as arrays; words and answers are those of train alone."""
    train = Gathered(track(asked_questions(files["train"]), "train", unit="question"))
    val = Gathered(track(asked_questions(files["val"]), "val", unit="question"))
    words, answers = train.known_words(), train.frequent_answers(plan.answers)
    all_of_train = train.numbered(words, answers, store, files["train"])
    known = rows_of(all_of_train, np.flatnonzero(all_of_train.answers >= 0))
    say(
        f"train: {len(known.answers):,} of {counted(len(train), 'question')} have one of {counted(len(answers), 'answer')}; "
        f"{counted(len(words.known), 'word')}, {counted(len(train.pictures), 'picture')}; val: {counted(len(val), 'question')}"
    )
    return Data(known, val.numbered(words, answers, store, files["val"]), words, answers, store)


def answers(
    work: Path, rows: Sequence[str], seed: int, asked: ReleaseAsks, store: RegionStore, device: str
) -> dict[str, Said]:
    """What rows say to all asks: regions are read once for all nets, and a batch at a time, so that memory does not grow with
    the answers known."""
    nets = {net: _on(device, work / f"{net}-{seed}.safetensors") for net in _nets(rows)}
    stepping = {ROWS[name].net for name in rows if "stepped" in DETECTORS[ROWS[name].detector].needs}
    fitted = work / f"fitted-{seed}.safetensors"
    states = read_fitted(fitted)._asdict() if fitted.exists() else {}
    tokens = next(iter(nets.values())).words.numbers([ask.text for ask in asked.asks])
    places = places_in(store, [ask.picture_id for ask in asked.asks])
    parts: dict[str, list[Said]] = {name: [] for name in rows}
    total = -(-len(asked.asks) // BATCH)
    for batch in track(batches(tokens, places, store), f"answer, seed {seed}", total, "batch"):
        seen = {net: see(one, batch, STEP if net in stepping else 0.0) for net, one in nets.items()}
        for name in rows:
            row = ROWS[name]
            parts[name].append(said_of_row(row, seen, Given(seen[row.net], **states)))
    return {name: _joined(said) for name, said in parts.items()}


def _nets(rows: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(net for name in rows for net in ROWS[name].nets)


def _on(device: str, path: Path) -> Asked:
    asked = load_net(path)
    asked.net.to(device)
    return asked


def _joined(parts: Sequence[Said]) -> Said:
    return Said(
        [answer for part in parts for answer in part.answers],
        np.concatenate([part.confidence for part in parts]),
    )
