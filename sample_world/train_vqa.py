"""Train the sample's region detector and answer nets: `rgqa sample train-vqa --seed S` draws the worlds, finds their
regions, and trains all nets of one seed; writes data/sample/vqa.

What is there already stays: drawn worlds, detector and regions serve all seeds, and a run that was killed goes on from the
last checkpoint of each net in data/cache/sample_vqa. `training.json` says of each net how it was trained, what it cost, and
how it does on val worlds; checkpoints are chosen on those of part `choose`, the figures are those of part `report`.

Writes  regions.safetensors         the detector
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

from pipeline.core.files import read_json, replacing, write_json
from pipeline.core.paths import DATA
from pipeline.core.progress import done, track
from pipeline.core.records import Record
from sample_world.vqa_worlds import CHUNK, SERIES, WORK, Part, chunks_of, draw_chunk, worlds_of

TARGET = DATA / "sample" / "vqa"
CLIP = DATA / "sample" / "clip"
HEAD_EPOCHS = 16
BASE_EPOCHS, MORE_EPOCHS = 5.0, 2.0
POINTING = 0.3
NET_PARTS: tuple[Part, ...] = ("learn", "choose", "report")


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


class HeadRun(Record):
    """The detector's training, and recall, precision, share of looks told right on `report`."""

    epochs: int
    pictures: int
    cpu_seconds: float
    report: dict[str, float]


class Training(Record):
    """All runs that made what lies in data/sample/vqa; nets by `<net>-<seed>`."""

    detector: HeadRun
    nets: dict[str, NetRun]


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
    from pipeline.models.net_plans import NETS

    if unknown := sorted(set(nets) - NETS.keys()):
        raise UserError(f"unknown nets: {', '.join(unknown)}; there are {', '.join(NETS)}")
    with get_context("spawn").Pool(threads) as pool:  # torch's threads do not survive a fork
        told = prepare(pool)
        there = {name for name in NETS if f"{name}-{seed}" in told.nets and file_of(name, seed).exists()}
        due = [name for name in NETS if name in (nets or NETS) and name not in there | {"base"}]
        if "base" not in there and ("base" in nets or any(not NETS[name].anew for name in due)):
            due.insert(0, "base")
        first = [name for name in due if NETS[name].anew][:threads]  # the base, and what need not wait for it
        begun = [pool.apply_async(train_net, (name, seed)) for name in first]
        if "base" in due:
            begun[0].get()
        begun += [pool.apply_async(train_net, (n, seed)) for n in due if n not in first]
        for result in begun:
            run: NetRun = result.get()
            told = training(TARGET)  # another seed may be in training beside this one
            told.nets[f"{run.net}-{run.seed}"] = run
            write_json(TARGET / "training.json", told)
    size = sum(path.stat().st_size for path in TARGET.glob("*.safetensors"))
    done("train-vqa", f"{len(begun)} nets of seed {seed}; {size / 1e6:.1f} MB of weights in all", TARGET)


def prepare(pool: Pool) -> Training:
    """Draw the worlds and find their regions; what is there already stays."""
    WORK.mkdir(parents=True, exist_ok=True)
    every = chunks_of(list(SERIES))
    for _ in track(pool.imap_unordered(_draw, every), "draw", len(every), "chunk"):
        pass
    told = pool.apply(prepare_regions)
    write_json(TARGET / "training.json", told)
    return told


def file_of(net: str, seed: int) -> Path:
    """Where a net lies: the base, which only training needs, beside the drawn worlds."""
    return (WORK if net == "base" else TARGET) / f"{net}-{seed}.safetensors"


def _draw(chunk: tuple[Part, int]) -> None:
    draw_chunk(*chunk)


def prepare_regions() -> Training:
    """Train the detector, and write the regions of the nets' pictures: as found, as a caption tells them, as they are.
    What is there already stays."""
    import torch

    from pipeline.models.regions import Tower, load_head, save_head
    from sample_world import region_trainer

    torch.set_num_threads(1)
    tower, path, began, anew = Tower(CLIP), TARGET / "regions.safetensors", time.process_time(), False
    if not (TARGET / "training.json").exists():
        anew = True
        save_head(path, region_trainer.train_head(region_trainer.gather(tower, "look"), HEAD_EPOCHS))
    spent = time.process_time() - began
    head = load_head(path)
    for part in (*NET_PARTS, "fit"):
        if anew or not (WORK / part / "pictures.json").exists():
            _write_regions(tower, head, part)
    if not anew:
        return training(TARGET)
    scenes = [row.scene for row in worlds_of("report")]
    columns = (np.load(WORK / "report" / f"{name}.npy") for name in ("found", "boxes", "kinds", "scores"))
    report = region_trainer.tried(region_trainer.Regions(*columns), scenes)
    pictures = SERIES["look"].chunks * CHUNK
    detector = HeadRun(epochs=HEAD_EPOCHS, pictures=pictures, cpu_seconds=round(spent, 1), report=report)
    return Training(detector=detector, nets={})


def _write_regions(tower, head, part: Part) -> None:
    from pipeline.models.regions import told
    from pipeline.models.true_regions import true_regions
    from sample_world.region_trainer import regions_of

    scenes = [row.scene for row in worlds_of(part)]
    found, vectors = regions_of(tower, head, part)
    true = true_regions(scenes, head)
    arrays = {
        "found": found.features,
        "boxes": found.boxes,
        "kinds": found.kinds,
        "scores": found.scores,
        "told": told(found.features, head.names, head.hidden),
        "true": true.features,
        "boxes-true": true.boxes,
        "vectors": vectors,
    }
    for name, array in arrays.items():
        with replacing(WORK / part / f"{name}.npy") as file:
            np.save(file, array)
    write_json(WORK / part / "pictures.json", [scene.picture_id for scene in scenes])  # last: all is there


def train_net(name: str, seed: int) -> NetRun:
    """Train one net of a seed and write it."""
    import torch

    from pipeline.models import net_plans
    from pipeline.models.looking import Asked, load_net, save_net
    from pipeline.models.net_training import NetTraining, train
    from pipeline.models.question_texts import WordTable
    from pipeline.models.region_store import moments
    from sample_world import vqa_nets

    torch.set_num_threads(1)
    plan, began = net_plans.NETS[name], time.process_time()
    learn, choose, report = (vqa_nets.PartData.read(part) for part in NET_PARTS)
    stores = {part: vqa_nets.store_of(WORK / part, plan.regions) for part in NET_PARTS}
    words = WordTable.learned(question.text for question in learn.questions)
    answers = sorted({question.answer for question in learn.questions})
    shape = net_plans.shape_of(plan, words, len(answers), stores["learn"])
    base = None if plan.anew else load_net(file_of("base", seed))
    net = net_plans.new_net(shape, moments(stores["learn"]), seed, base)
    asked = Asked(net, words, ("answerable",) if plan.one else tuple(answers))
    questions = vqa_nets.question_set(learn, words, answers)
    per_epoch = len(questions.answers) / net_plans.BATCH
    steps = round(BASE_EPOCHS * per_epoch), round(MORE_EPOCHS * per_epoch)
    recipe = net_plans.recipe_of(plan, *steps, name == "base", POINTING)
    hard = _hard() if plan.pairs == "hard" else None
    criterion = net_plans.criterion(plan)

    def score(_: object) -> float:
        return vqa_nets.figures(asked, choose, stores["choose"])[criterion]

    say = partial(print, f"{name}-{seed}:", flush=True)
    trained = train(
        NetTraining(net, questions, stores["learn"], recipe, seed, hard),
        WORK / f"{name}-{seed}.pt",
        score,
        say,
    )
    save_net(file_of(name, seed), asked)
    measured = vqa_nets.figures(load_net(file_of(name, seed)), report, stores["report"])
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
    from pipeline.encoders import clip
    from pipeline.models.pseudo_pairs import hard_pairs
    from sample_world.vqa_nets import HARD, PartData

    path = WORK / "learn" / "hard.npy"
    if not path.exists():
        data = PartData.read("learn")
        texts, place = np.unique([question.text for question in data.questions], return_inverse=True)
        encoder = clip.Encoder(f"local-dir:{CLIP}", device="cpu")
        vectors = encoder.table(encoder.texts(texts.tolist(), 256), len(texts))
        pictures = np.load(WORK / "learn" / "vectors.npy")
        with replacing(path) as file:
            np.save(file, hard_pairs(pictures, vectors[place], data.pictures, HARD))
    return np.load(path)
