"""Train the sample's region detectors and VQA models of one seed: `rgqa sample train-vqa --seed S`.

Renders the images, trains the detectors, detects the regions of the images, trains all nets, and writes
data/sample/vqa. Existing files are kept. Images, detectors and regions are the same for all seeds. An
interrupted run continues from the last checkpoint of each net in data/cache/sample_vqa. Each subset of the
images has one purpose (see `vqa_worlds`): the detectors are trained on `look`, the nets on `learn`,
checkpoints are chosen on `choose`, and results are measured on `report`.

Writes  regions.safetensors         region detector on the feature maps of the sample's CLIP model
        regions_own.safetensors     region detector with an image encoder (tower) of its own, independent of CLIP
        <net>-<seed>.safetensors    a net in float16 (base nets are written to data/cache/sample_vqa instead)
        training.json               training configuration, cost and results of each detector and net
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
# Epochs of base nets, and of nets that start from a base net.
BASE_EPOCHS, MORE_EPOCHS = 5.0, 2.0
# Weight of the pointing loss (`TrainingConfig.pointing_weight`).
POINTING_WEIGHT = 0.3


class ModelRun(Record):
    """The training run of a net.

    Attributes:
        net: Name of the net.
        seed: Seed of the net.
        recipe: The training configuration as text.
        parameters: Number of parameters.
        cpu_seconds: CPU time of the training in seconds.
        criterion: Name of the metric by which the checkpoint was chosen.
        tries: Step of a checkpoint -> value of `criterion` on subset `choose`.
        report: Metric -> value on subset `report`.
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
        detector: Training of the detector on the feature maps of the sample's CLIP model.
        nets: `<net>-<seed>` -> training run of the net.
        own_detector: Training of the detector with its own tower; None if it does not exist.
    """

    detector: DetectorRun
    nets: dict[str, ModelRun]
    own_detector: DetectorRun | None = None


def read_training_runs(folder: Path) -> TrainingRuns:
    """Read training.json.

    Raises:
        UserError: The file does not exist.
    """
    return read_json(folder / "training.json", TrainingRuns)


def train_sample_vqa(seed: int, nets: Sequence[str] = (), threads: int = 2) -> None:
    """Train the nets of a seed.

    Args:
        seed: Seed of the nets.
        nets: Names of the nets to train; empty for all nets in `NET_CONFIGS`. Base nets are trained if they
            are needed.
        threads: Number of processes. Each process trains one net at a time, with one thread.

    Raises:
        UserError: A net is unknown.
    """
    from pipeline.core.errors import UserError
    from research.reference_models.net_configs import BASE_NETS, NET_CONFIGS

    if unknown := sorted(set(nets) - NET_CONFIGS.keys()):
        raise UserError(f"--model: unknown {', '.join(unknown)}. Choose from {', '.join(NET_CONFIGS)}.")
    # New processes are spawned, because the threads of torch do not survive a fork.
    with get_context("spawn").Pool(threads) as pool:
        runs = prepare_worlds(
            pool, any(NET_CONFIGS[name].region_source == "own_tower" for name in nets or NET_CONFIGS)
        )
        finished = {
            name
            for name in NET_CONFIGS
            if f"{name}-{seed}" in runs.nets and get_model_path(name, seed).exists()
        }
        requested = set(nets) or NET_CONFIGS.keys() - set(BASE_NETS)
        nets_to_train = [name for name in NET_CONFIGS if name in requested - finished]
        needed = requested | {NET_CONFIGS[name].base_net for name in nets_to_train}
        bases = [name for name in BASE_NETS if name in needed - finished]
        results = [pool.apply_async(train_model, (name, seed)) for name in bases]
        results += [
            pool.apply_async(train_model, (n, seed))
            for n in nets_to_train
            if NET_CONFIGS[n].trains_from_scratch and n not in bases
        ]
        for base in results[: len(bases)]:
            base.get()
        results += [
            pool.apply_async(train_model, (n, seed))
            for n in nets_to_train
            if not NET_CONFIGS[n].trains_from_scratch
        ]
        for result in results:
            run: ModelRun = result.get()
            # Another process may be training another seed, so the file is read again.
            runs = read_training_runs(OUTPUT_DIR)
            runs.nets[f"{run.net}-{run.seed}"] = run
            write_json(OUTPUT_DIR / "training.json", runs)
    size = sum(path.stat().st_size for path in OUTPUT_DIR.glob("*.safetensors"))
    report_written(
        "train-vqa",
        f"{format_count(len(results), 'net')} of seed {seed}; {size / 1e6:.1f} MB of weights in all",
        OUTPUT_DIR,
    )


def prepare_worlds(pool: Pool, own: bool = False) -> TrainingRuns:
    """Render the images, train the detectors, and detect the regions of the images. Existing files are kept.

    Args:
        pool: Processes that do the work.
        own: Whether the detector with its own tower is needed, too.

    Returns:
        The training runs so far.
    """
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
    """Return the file of a net.

    Base nets, which are needed only for training, are in the folder of the synthetic images.
    """
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
    net_config, began = net_configs.NET_CONFIGS[name], time.process_time()
    train_data, choose, report = (vqa_training_data.SubsetData.read(part) for part in MODEL_SUBSETS)
    stores = {
        part: vqa_training_data.open_regions(WORK_DIR / part, net_config.region_source)
        for part in MODEL_SUBSETS
    }
    words = WordVocabulary.from_texts(question.text for question in train_data.questions)
    answers = sorted({question.answer for question in train_data.questions})
    shape = net_configs.make_shape(net_config, words, len(answers), stores["learn"])
    base = load_net(get_model_path(net_config.base_net, seed)) if net_config.base_net else None
    net = net_configs.initialize_net(shape, compute_feature_moments(stores["learn"]), seed, base)
    model = LoadedModel(net, words, ("answerable",) if net_config.has_single_output else tuple(answers))
    questions = vqa_training_data.encode_questions(train_data, words, answers)
    per_epoch = len(questions.answers) / net_configs.TRAIN_BATCH_SIZE
    steps = round(BASE_EPOCHS * per_epoch), round(MORE_EPOCHS * per_epoch)
    training_config = net_configs.make_training_config(
        net_config, *steps, name in net_configs.BASE_NETS, POINTING_WEIGHT
    )
    hard = _find_hard_negatives() if net_config.pseudo_pairs == "hard" else None
    criterion = net_configs.selection_metric(net_config)

    def score(_: object) -> float:
        return vqa_training_data.compute_metrics(model, choose, stores["choose"])[criterion]

    log = partial(print, f"{name}-{seed}:", flush=True)
    trained = train(
        NetTraining(net, questions, stores["learn"], training_config, seed, hard),
        WORK_DIR / f"{name}-{seed}.pt",
        score,
        log,
    )
    save_net(get_model_path(name, seed), model)
    measured = vqa_training_data.compute_metrics(
        load_net(get_model_path(name, seed)), report, stores["report"]
    )
    run = ModelRun(
        net=name,
        seed=seed,
        recipe=repr(training_config),
        parameters=sum(p.numel() for p in net.parameters()),
        cpu_seconds=round(trained.cpu_seconds, 1),
        criterion=criterion,
        tries={str(step): round(value, 4) for step, value in trained.scores.items()},
        report={key: round(value, 4) for key, value in measured.items()},
    )
    log(f"{time.process_time() - began:.0f} CPU-s in all; {run.report}")
    return run


def _find_hard_negatives() -> np.ndarray:
    """Return, for each image of `learn`, the rows of questions about other images that are most similar to it
    by CLIP.

    The result is [images, NUM_HARD_NEGATIVES].
    """
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
