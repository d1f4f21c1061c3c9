"""Train the sample's region detectors and answer nets of one seed: `rgqa sample train-vqa --seed S`.

Renders the images, detects their regions, trains all nets, and writes data/sample/vqa. Existing files are kept: images,
detectors and regions are the same for all seeds, and an interrupted run continues from the last checkpoint of each net in
data/cache/sample_vqa. `training.json` has the training configuration, cost and results of each net. Checkpoints are chosen on
subset `choose`, and the results are for subset `report`.

Writes  regions.safetensors         the detector
        regions_own.safetensors     a detector with its own tower, which never uses the CLIP
        <net>-<seed>.safetensors    a net in float16 (`base` stays beside the synthetic images)
        training.json               their runs
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

import numpy as np
from msgspec import structs

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import format_count
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DATA_DIR
from pipeline.core.progress import report_written, track
from pipeline.core.records import Record
from research.synthetic_world.vqa_regions import (
    CLIP_DIR,
    MODEL_SUBSETS,
    DetectorRun,
    build_clip_regions,
    build_own_regions,
)
from research.synthetic_world.vqa_worlds import (
    WORK_DIR,
    WORLD_SERIES,
    WorldSubset,
    list_chunks,
    open_pixels,
    render_chunk,
)

OUTPUT_DIR = DATA_DIR / "sample" / "vqa"
BASE_EPOCHS, MORE_EPOCHS = 5.0, 2.0
POINTING_WEIGHT = 0.3


class ModelRun(Record):
    """A net's training.

    Attributes:
        recipe: the training configuration as text.
        tries: the criterion of each checkpoint on subset `choose`, by step.
        report: results on subset `report`.
    """

    net: str
    seed: int
    recipe: str
    parameters: int
    cpu_seconds: float
    criterion: str
    tries: dict[str, float]
    report: dict[str, float]


class TrainingRuns(Record):
    """All runs that made the files in data/sample/vqa.

    Attributes:
        detector: the detector on the CLIP's maps.
        nets: by `<net>-<seed>`.
        own_detector: the detector with its own tower.
    """

    detector: DetectorRun
    nets: dict[str, ModelRun]
    own_detector: DetectorRun | None = None


def read_training_runs(folder: Path) -> TrainingRuns:
    """Read training.json.

    Raises:
        UserError: the file does not exist.
    """
    return read_json(folder / "training.json", TrainingRuns)


def train_sample_vqa(seed: int, nets: Sequence[str] = (), threads: int = 2) -> None:
    """Train the nets of a seed: all of `NET_CONFIGS`, or the named ones. Each process uses one thread.

    Raises:
        UserError: a net is not known.
    """
    from pipeline.core.errors import UserError
    from research.reference_models.net_configs import BASE_NETS, NET_CONFIGS

    if unknown := sorted(set(nets) - NET_CONFIGS.keys()):
        raise UserError(f"--model: unknown {', '.join(unknown)}. Choose from {', '.join(NET_CONFIGS)}.")
    # Threads of torch do not survive a fork.
    with get_context("spawn").Pool(threads) as pool:
        runs = prepare_worlds(
            pool, any(NET_CONFIGS[name].region_source == "own_tower" for name in nets or NET_CONFIGS)
        )
        there = {
            name
            for name in NET_CONFIGS
            if f"{name}-{seed}" in runs.nets and get_model_path(name, seed).exists()
        }
        wanted = set(nets) or NET_CONFIGS.keys() - set(BASE_NETS)
        due = [name for name in NET_CONFIGS if name in wanted - there]
        needed = wanted | {NET_CONFIGS[name].base_net for name in due}
        bases = [name for name in BASE_NETS if name in needed - there]
        begun = [pool.apply_async(train_model, (name, seed)) for name in bases]
        begun += [
            pool.apply_async(train_model, (n, seed))
            for n in due
            if NET_CONFIGS[n].trains_from_scratch and n not in bases
        ]
        for base in begun[: len(bases)]:
            base.get()
        begun += [
            pool.apply_async(train_model, (n, seed)) for n in due if not NET_CONFIGS[n].trains_from_scratch
        ]
        for result in begun:
            run: ModelRun = result.get()
            # Another seed may be in training at the same time.
            runs = read_training_runs(OUTPUT_DIR)
            runs.nets[f"{run.net}-{run.seed}"] = run
            write_json(OUTPUT_DIR / "training.json", runs)
    size = sum(path.stat().st_size for path in OUTPUT_DIR.glob("*.safetensors"))
    report_written(
        "train-vqa",
        f"{format_count(len(begun), 'net')} of seed {seed}; {size / 1e6:.1f} MB of weights in all",
        OUTPUT_DIR,
    )


def prepare_worlds(pool: Pool, own: bool = False) -> TrainingRuns:
    """Render the images and detect their regions. Existing files are kept."""
    WORK_DIR.mkdir(parents=True, exist_ok=True)
    every = list_chunks(list(WORLD_SERIES))
    for _ in track(pool.imap_unordered(_render, every), "render", len(every), "chunk"):
        pass
    path = OUTPUT_DIR / "training.json"
    runs = read_training_runs(OUTPUT_DIR) if path.exists() else None
    detector = pool.apply(
        build_clip_regions, (OUTPUT_DIR / "regions.safetensors", runs.detector if runs else None)
    )
    runs = runs or TrainingRuns(detector=detector, nets={})
    write_json(path, runs)
    if own or runs.own_detector:
        weights = OUTPUT_DIR / "regions_own.safetensors"
        run = pool.apply(build_own_regions, (weights, runs.own_detector))
        runs = structs.replace(runs, own_detector=run)
        write_json(path, runs)
    return runs


def get_model_path(net: str, seed: int) -> Path:
    """Return the file of a net. Bases, which only training needs, are beside the synthetic images."""
    return (WORK_DIR if net in ("base", "own_base") else OUTPUT_DIR) / f"{net}-{seed}.safetensors"


def _render(chunk: tuple[WorldSubset, int]) -> None:
    render_chunk(*chunk)


def train_model(name: str, seed: int) -> ModelRun:
    """Train one net of a seed and write it."""
    import torch

    from research.reference_models import net_configs
    from research.reference_models.inference import LoadedModel, load_net, save_net
    from research.reference_models.net_training import NetTraining, train
    from research.reference_models.region_stores import compute_feature_moments
    from research.reference_models.tokenization import WordVocabulary
    from research.synthetic_world import vqa_training_data

    torch.set_num_threads(1)
    plan, began = net_configs.NET_CONFIGS[name], time.process_time()
    learn, choose, report = (vqa_training_data.SubsetData.read(part) for part in MODEL_SUBSETS)
    stores = {
        part: vqa_training_data.open_regions(WORK_DIR / part, plan.region_source) for part in MODEL_SUBSETS
    }
    words = WordVocabulary.from_texts(question.text for question in learn.questions)
    answers = sorted({question.answer for question in learn.questions})
    shape = net_configs.make_shape(plan, words, len(answers), stores["learn"])
    base = load_net(get_model_path(plan.base_net, seed)) if plan.base_net else None
    net = net_configs.initialize_net(shape, compute_feature_moments(stores["learn"]), seed, base)
    asked = LoadedModel(net, words, ("answerable",) if plan.has_single_output else tuple(answers))
    questions = vqa_training_data.encode_questions(learn, words, answers)
    per_epoch = len(questions.answers) / net_configs.TRAIN_BATCH_SIZE
    steps = round(BASE_EPOCHS * per_epoch), round(MORE_EPOCHS * per_epoch)
    recipe = net_configs.make_training_config(plan, *steps, name in net_configs.BASE_NETS, POINTING_WEIGHT)
    hard = _find_hard_negatives() if plan.pseudo_pairs == "hard" else None
    criterion = net_configs.selection_metric(plan)

    def score(_: object) -> float:
        return vqa_training_data.compute_metrics(asked, choose, stores["choose"])[criterion]

    say = partial(print, f"{name}-{seed}:", flush=True)
    trained = train(
        NetTraining(net, questions, stores["learn"], recipe, seed, hard),
        WORK_DIR / f"{name}-{seed}.pt",
        score,
        say,
    )
    save_net(get_model_path(name, seed), asked)
    measured = vqa_training_data.compute_metrics(
        load_net(get_model_path(name, seed)), report, stores["report"]
    )
    run = ModelRun(
        net=name,
        seed=seed,
        recipe=repr(recipe),
        parameters=sum(p.numel() for p in net.parameters()),
        cpu_seconds=round(trained.cpu_seconds, 1),
        criterion=criterion,
        tries={str(step): round(value, 4) for step, value in trained.scores.items()},
        report={key: round(value, 4) for key, value in measured.items()},
    )
    say(f"{time.process_time() - began:.0f} CPU-s in all; {run.report}")
    return run


def _find_hard_negatives() -> np.ndarray:
    """Return for each image of `learn` the questions of others that the CLIP finds most similar, [p, NUM_HARD_NEGATIVES]."""
    from pipeline.candidates.encoders import clip
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.pseudo_pairs import find_hard_pairs
    from research.synthetic_world.vqa_training_data import NUM_HARD_NEGATIVES, SubsetData

    path = WORK_DIR / "learn" / "hard.npy"
    if not path.exists():
        data = SubsetData.read("learn")
        texts, place = np.unique([question.text for question in data.questions], return_inverse=True)
        encoder = clip.Encoder(f"local-dir:{CLIP_DIR}", device="cpu")
        vectors = encoder.stack_batches(encoder.encode_texts(texts.tolist(), 256), len(texts))
        tower = ClipTower(CLIP_DIR)
        shown = (chunk[at : at + 32] for chunk in open_pixels("learn") for at in range(0, len(chunk), 32))
        images = np.concatenate([tower.embed_images(pixels).numpy() for pixels in shown])
        with atomic_write(path) as file:
            np.save(file, find_hard_pairs(images, vectors[place], data.image_indices, NUM_HARD_NEGATIVES))
    return np.load(path)
