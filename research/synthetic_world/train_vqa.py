"""Train the sample's region detector and answer nets: `rgqa sample train-vqa --seed S` draws the worlds, finds their
regions, and trains all nets of one seed; writes data/sample/vqa.

What is there already stays: drawn worlds, detector and regions serve all seeds, and a run that was killed goes on from the
last checkpoint of each net in data/cache/sample_vqa. `training.json` says of each net how it was trained, what it cost, and
how it does on val worlds; checkpoints are chosen on those of part `choose`, the figures are those of part `report`.

Writes  regions.safetensors         the detector
        regions_own.safetensors     another with a tower of its own, that never saw the CLIP
        <net>-<seed>.safetensors    a net in float16 (`base` stays beside the drawn worlds)
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

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import counted
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DATA
from pipeline.core.progress import done, track
from pipeline.core.records import Record
from research.synthetic_world.vqa_regions import CLIP, NET_PARTS, HeadRun, found_regions, own_regions
from research.synthetic_world.vqa_worlds import SERIES, WORK, Part, chunks_of, draw_chunk, pixels_of

TARGET = DATA / "sample" / "vqa"
BASE_EPOCHS, MORE_EPOCHS = 5.0, 2.0
POINTING = 0.3


class NetRun(Record):
    """A net's training: CPU seconds, the chosen checkpoint's criterion by step (on `choose`), figures on `report`."""

    net: str
    seed: int
    recipe: str
    parameters: int
    cpu_seconds: float
    criterion: str
    tries: dict[str, float]
    report: dict[str, float]


class Training(Record):
    """All runs that made what lies in data/sample/vqa; nets by `<net>-<seed>`. `own_detector`: with a tower of its own."""

    detector: HeadRun
    nets: dict[str, NetRun]
    own_detector: HeadRun | None = None


def training(folder: Path) -> Training:
    """What training.json says.

    Raises:
        UserError: there is none.
    """
    return read_json(folder / "training.json", Training)


def train_sample_vqa(seed: int, nets: Sequence[str] = (), threads: int = 2) -> None:
    """Draw, find regions, and train the nets of a seed (all of `net_plans.NETS`, or those named); one process a thread.

    Raises:
        UserError: a net that is not known.
    """
    from pipeline.core.errors import UserError
    from research.reference_models.net_configs import BASES, NETS

    if unknown := sorted(set(nets) - NETS.keys()):
        raise UserError(f"unknown nets: {', '.join(unknown)}; there are {', '.join(NETS)}")
    with get_context("spawn").Pool(threads) as pool:  # torch's threads do not survive a fork
        told = prepare(pool, any(NETS[name].regions == "own" for name in nets or NETS))
        there = {name for name in NETS if f"{name}-{seed}" in told.nets and file_of(name, seed).exists()}
        wanted = set(nets) or NETS.keys() - set(BASES)
        due = [name for name in NETS if name in wanted - there]
        needed = wanted | {NETS[name].base for name in due}
        bases = [name for name in BASES if name in needed - there]
        begun = [pool.apply_async(train_net, (name, seed)) for name in bases]
        begun += [pool.apply_async(train_net, (n, seed)) for n in due if NETS[n].anew and n not in bases]
        for base in begun[: len(bases)]:
            base.get()
        begun += [pool.apply_async(train_net, (n, seed)) for n in due if not NETS[n].anew]
        for result in begun:
            run: NetRun = result.get()
            told = training(TARGET)  # another seed may be in training beside this one
            told.nets[f"{run.net}-{run.seed}"] = run
            write_json(TARGET / "training.json", told)
    size = sum(path.stat().st_size for path in TARGET.glob("*.safetensors"))
    done(
        "train-vqa",
        f"{counted(len(begun), 'net')} of seed {seed}; {size / 1e6:.1f} MB of weights in all",
        TARGET,
    )


def prepare(pool: Pool, own: bool = False) -> Training:
    """Draw the worlds and find their regions; what is there already stays."""
    WORK.mkdir(parents=True, exist_ok=True)
    every = chunks_of(list(SERIES))
    for _ in track(pool.imap_unordered(_draw, every), "draw", len(every), "chunk"):
        pass
    told = training(TARGET) if (TARGET / "training.json").exists() else None
    detector = pool.apply(found_regions, (TARGET / "regions.safetensors", told.detector if told else None))
    told = told or Training(detector=detector, nets={})
    write_json(TARGET / "training.json", told)
    if own or told.own_detector:
        path = TARGET / "regions_own.safetensors"
        told = structs.replace(told, own_detector=pool.apply(own_regions, (path, told.own_detector)))
        write_json(TARGET / "training.json", told)
    return told


def file_of(net: str, seed: int) -> Path:
    """Where a net lies: a base, which only training needs, beside the drawn worlds."""
    return (WORK if net in ("base", "own_base") else TARGET) / f"{net}-{seed}.safetensors"


def _draw(chunk: tuple[Part, int]) -> None:
    draw_chunk(*chunk)


def train_net(name: str, seed: int) -> NetRun:
    """Train one net of a seed and write it."""
    import torch

    from research.reference_models import net_configs
    from research.reference_models.inference import Asked, load_net, save_net
    from research.reference_models.net_training import NetTraining, train
    from research.reference_models.region_stores import moments
    from research.reference_models.tokenization import WordTable
    from research.synthetic_world import vqa_training_data

    torch.set_num_threads(1)
    plan, began = net_configs.NETS[name], time.process_time()
    learn, choose, report = (vqa_training_data.PartData.read(part) for part in NET_PARTS)
    stores = {part: vqa_training_data.store_of(WORK / part, plan.regions) for part in NET_PARTS}
    words = WordTable.learned(question.text for question in learn.questions)
    answers = sorted({question.answer for question in learn.questions})
    shape = net_configs.shape_of(plan, words, len(answers), stores["learn"])
    base = load_net(file_of(plan.base, seed)) if plan.base else None
    net = net_configs.new_net(shape, moments(stores["learn"]), seed, base)
    asked = Asked(net, words, ("answerable",) if plan.one else tuple(answers))
    questions = vqa_training_data.question_set(learn, words, answers)
    per_epoch = len(questions.answers) / net_configs.BATCH
    steps = round(BASE_EPOCHS * per_epoch), round(MORE_EPOCHS * per_epoch)
    recipe = net_configs.recipe_of(plan, *steps, name in net_configs.BASES, POINTING)
    hard = _hard() if plan.pairs == "hard" else None
    criterion = net_configs.criterion(plan)

    def score(_: object) -> float:
        return vqa_training_data.figures(asked, choose, stores["choose"])[criterion]

    say = partial(print, f"{name}-{seed}:", flush=True)
    trained = train(
        NetTraining(net, questions, stores["learn"], recipe, seed, hard),
        WORK / f"{name}-{seed}.pt",
        score,
        say,
    )
    save_net(file_of(name, seed), asked)
    measured = vqa_training_data.figures(load_net(file_of(name, seed)), report, stores["report"])
    run = NetRun(
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


def _hard() -> np.ndarray:
    """For each picture of `learn` the questions of others that the sample's CLIP finds most like it, [p, HARD]."""
    from pipeline.candidates.encoders import clip
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.pseudo_pairs import hard_pairs
    from research.synthetic_world.vqa_training_data import HARD, PartData

    path = WORK / "learn" / "hard.npy"
    if not path.exists():
        data = PartData.read("learn")
        texts, place = np.unique([question.text for question in data.questions], return_inverse=True)
        encoder = clip.Encoder(f"local-dir:{CLIP}", device="cpu")
        vectors = encoder.table(encoder.texts(texts.tolist(), 256), len(texts))
        tower = ClipTower(CLIP)
        shown = (chunk[at : at + 32] for chunk in pixels_of("learn") for at in range(0, len(chunk), 32))
        pictures = np.concatenate([tower.vectors(pixels).numpy() for pixels in shown])
        with replacing(path) as file:
            np.save(file, hard_pairs(pictures, vectors[place], data.pictures, HARD))
    return np.load(path)
