"""Nets of graded strength beside the sample's own: trained for less time, on fewer pictures, or blind in part.

The board's rows are mostly one net with several confidences; these show whether a benchmark ranks nets by how good they are.
They learn from the first worlds of part `learn`, which are drawn if they are not there, with the sample's own detector; the row of
each is MSP. What is there already stays, and a training that was killed goes on.

Writes  OUT/NAME.safetensors          a net, in float16
        OUT/learn.npz, choose.npz     regions of the drawn worlds
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline.core.atomic_files import replacing
from pipeline.core.parallel import ordered_map, threads
from pipeline.core.progress import track
from research.synthetic_world import train_vqa, vqa_worlds
from research.synthetic_world.vqa_regions import CLIP
from research.synthetic_world.vqa_worlds import DrawnWorld, Part, draw_chunk

if TYPE_CHECKING:
    from research.reference_models.region_stores import ArrayStore
    from research.synthetic_world.vqa_training_data import PartData

SEED = 0
BATCH = 32  # pictures that the detector sees at once


class Grade(NamedTuple):
    """How a net is trained: so many units of CHUNK pictures, epochs, with random pairs or without; `seen`: it sees so many of
    the regions that score best, and not the picture as a whole (0: all of them, and the whole)."""

    chunks: int
    epochs: float
    pairs: Literal["none", "random"] = "random"
    seen: int = 0


GRADES: dict[str, Grade] = {
    "first_epoch": Grade(2, 1),
    "few_pictures": Grade(1, 6),
    "third_epoch": Grade(2, 3),
    "short_plain": Grade(2, 4, "none"),
    "half_blind": Grade(2, 4, seen=4),
    "short": Grade(2, 6),
}


class GradedNet(NamedTuple):
    """A net's file, and how many regions it sees (0: all)."""

    path: Path
    seen: int


def graded_nets(out: Path, grades: Mapping[str, Grade] = GRADES) -> dict[str, GradedNet]:
    """The nets by name, trained if they are not there: about five CPU minutes."""
    nets = {name: GradedNet(out / f"{name}.safetensors", grade.seen) for name, grade in grades.items()}
    due = [(name, grades[name]) for name, net in nets.items() if not net.path.exists()]
    if due:
        drawn("learn", max(grade.chunks for _, grade in due), out)
        drawn("choose", 1, out)
        side_by_side = min(threads(), len(due))
        for _ in track(
            ordered_map(train_graded, due, partial(Path, out), side_by_side, 1), "train", len(due), "net"
        ):
            pass
    return nets


def drawn(part: Part, chunks: int, out: Path) -> tuple[PartData, ArrayStore]:
    """The first worlds of a part with their questions and regions, drawn and found if they are not there.

    Raises:
        UserError: the sample's detector or its CLIP cannot be read.
    """
    from research.reference_models.region_stores import ArrayStore
    from research.synthetic_world.vqa_training_data import PartData

    vqa_worlds.WORK.mkdir(parents=True, exist_ok=True)
    for number in track(range(chunks), f"draw {part}", chunks, "chunk"):
        draw_chunk(part, number)
    files = [vqa_worlds.WORK / f"{part}-{number:03d}.json" for number in range(chunks)]
    rows = [row for path in files for row in msgspec.json.decode(path.read_bytes(), type=list[DrawnWorld])]
    ids = [row.scene.picture_id for row in rows]
    path = out / f"{part}.npz"
    if not path.exists() or len(_loaded(path)[0]) < len(ids):
        _find(part, chunks, path)
    features, boxes = (array[: len(ids)] for array in _loaded(path))
    scenes = {row.scene.picture_id: row.scene for row in rows}
    questions = [question for row in rows for question in row.questions]
    place_of = {picture: place for place, picture in enumerate(ids)}
    return PartData(questions, scenes, place_of), ArrayStore(ids, features, boxes)


def _loaded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as arrays:
        return arrays["features"], arrays["boxes"]


def _find(part: Part, chunks: int, path: Path) -> None:
    """Find the regions of the first worlds of a part."""
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.inference import one_thread
    from research.reference_models.region_head import find_regions, load_head

    tower, head, found = ClipTower(CLIP), load_head(train_vqa.TARGET / "regions.safetensors"), []
    with one_thread():
        for number in track(range(chunks), f"regions of {part}", chunks, "chunk"):
            pixels = np.load(vqa_worlds.WORK / f"{part}-{number:03d}.npy", mmap_mode="r")
            found += [
                find_regions(tower, head, pixels[at : at + BATCH]) for at in range(0, len(pixels), BATCH)
            ]
    features, boxes, *_ = (np.concatenate(column) for column in zip(*found, strict=True))
    with replacing(path) as file:
        np.savez(file, features=features, boxes=boxes)


def best_regions(store: ArrayStore, seen: int) -> ArrayStore:
    """Of each picture the `seen` regions that score best, without the picture as a whole; 0: the store as it is."""
    from research.reference_models.region_stores import ArrayStore

    if not seen:
        return store
    return ArrayStore([*store.place_of], store.features[:, :seen], store.boxes[:, :seen])


def train_graded(out: Path, named: tuple[str, Grade]) -> None:
    """Train one net and write it."""
    import torch

    from research.reference_models import net_configs
    from research.reference_models.inference import Asked, save_net
    from research.reference_models.net_training import NetTraining, Recipe, train
    from research.reference_models.region_stores import moments
    from research.reference_models.tokenization import WordTable
    from research.synthetic_world import vqa_training_data

    torch.set_num_threads(1)
    name, grade = named
    (learn, store), (choose, others) = drawn("learn", grade.chunks, out), drawn("choose", 1, out)
    store, others = best_regions(store, grade.seen), best_regions(others, grade.seen)
    plan = net_configs.NetPlan(name, pairs=grade.pairs, anew=True)
    words = WordTable.learned(question.text for question in learn.questions)
    answers = sorted({question.answer for question in learn.questions})
    shape = net_configs.shape_of(plan, words, len(answers), store)
    net = net_configs.new_net(shape, moments(store), SEED)
    asked = Asked(net, words, tuple(answers))
    questions = vqa_training_data.question_set(learn, words, answers)
    steps = max(1, round(grade.epochs * len(questions.answers) / net_configs.BATCH))
    recipe = Recipe(steps, grade.pairs, batch=net_configs.BATCH, pointing=train_vqa.POINTING, tries=1)
    criterion = net_configs.criterion(plan)

    def score(_: object) -> float:
        return vqa_training_data.figures(asked, choose, others)[criterion]

    say = partial(print, f"{name}:", flush=True, file=sys.stderr)
    training = NetTraining(net, questions, store, recipe, SEED)
    train(training, out / f"{name}.pt", score, say)
    save_net(out / f"{name}.safetensors", asked)
