"""Train nets of graded quality, in addition to the nets of the sample: for less time, on fewer images, or
with fewer regions.

Most rows of the leaderboard have the same net and differ only in the confidence. Graded nets show whether a
benchmark ranks nets by quality. Graded nets are trained on the first images of subset `learn` (rendered if needed).
Regions come from the sample's own detector. The confidence of graded nets is MSP. Existing files are kept, and
an interrupted training continues.

Writes  OUT/NAME.safetensors          a net, in float16
        OUT/learn.npz, choose.npz     regions of the images
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline.core.atomic_files import atomic_write
from pipeline.core.parallel import num_local_workers, ordered_map
from pipeline.core.progress import track
from research.synthetic_world import train_vqa, vqa_worlds
from research.synthetic_world.vqa_regions import CLIP_DIR
from research.synthetic_world.vqa_worlds import SyntheticImage, WorldSubset, render_chunk

if TYPE_CHECKING:
    from research.reference_models.region_stores import ArrayStore
    from research.synthetic_world.vqa_training_data import SubsetData

SEED = 0
# Number of images in a batch of the detector.
BATCH_SIZE = 32


class TrainingGrade(NamedTuple):
    """How a net is trained.

    Attributes:
        chunks: Number of chunks of CHUNK_SIZE images.
        epochs: Number of passes over the questions about these images.
        pairs: Kind of pseudo pairs (`TrainingConfig.pseudo_pairs`).
        num_regions: Number of regions (those with the best scores) that the net sees, without the whole
            image. 0 means all regions and the whole image.
    """

    chunks: int
    epochs: float
    pairs: Literal["none", "random"] = "random"
    num_regions: int = 0


GRADES: dict[str, TrainingGrade] = {
    "first_epoch": TrainingGrade(2, 1),
    "few_images": TrainingGrade(1, 6),
    "third_epoch": TrainingGrade(2, 3),
    "short_plain": TrainingGrade(2, 4, "none"),
    "half_blind": TrainingGrade(2, 4, num_regions=4),
    "short": TrainingGrade(2, 6),
}


class GradedModel(NamedTuple):
    """The file of a net, and the number of regions that the net sees (0: all)."""

    path: Path
    num_regions: int


def get_graded_models(out: Path, grades: Mapping[str, TrainingGrade] = GRADES) -> dict[str, GradedModel]:
    """Return name -> net. Missing nets are trained, which takes about five CPU minutes."""
    nets = {
        name: GradedModel(out / f"{name}.safetensors", grade.num_regions) for name, grade in grades.items()
    }
    due = [(name, grades[name]) for name, net in nets.items() if not net.path.exists()]
    if due:
        prepare_worlds("learn", max(grade.chunks for _, grade in due), out)
        prepare_worlds("choose", 1, out)
        num_workers = min(num_local_workers(), len(due))
        for _ in track(
            ordered_map(train_graded_model, due, partial(Path, out), num_workers, 1),
            "train",
            len(due),
            "net",
        ):
            pass
    return nets


def prepare_worlds(part: WorldSubset, chunks: int, out: Path) -> tuple[SubsetData, ArrayStore]:
    """Return the first images of a subset with their questions and regions. These are made if needed.

    Raises:
        UserError: The detector or the CLIP model of the sample cannot be read.
    """
    from research.reference_models.region_stores import ArrayStore
    from research.synthetic_world.vqa_training_data import SubsetData

    vqa_worlds.WORK_DIR.mkdir(parents=True, exist_ok=True)
    for number in track(range(chunks), f"render {part}", chunks, "chunk"):
        render_chunk(part, number)
    files = [vqa_worlds.WORK_DIR / f"{part}-{number:03d}.json" for number in range(chunks)]
    rows = [
        row for path in files for row in msgspec.json.decode(path.read_bytes(), type=list[SyntheticImage])
    ]
    ids = [row.scene.image_id for row in rows]
    path = out / f"{part}.npz"
    if not path.exists() or len(_load_regions(path)[0]) < len(ids):
        _detect_regions(part, chunks, path)
    features, boxes = (array[: len(ids)] for array in _load_regions(path))
    scenes = {row.scene.image_id: row.scene for row in rows}
    questions = [question for row in rows for question in row.questions]
    place_of = {image: place for place, image in enumerate(ids)}
    return SubsetData(questions, scenes, place_of), ArrayStore(ids, features, boxes)


def _load_regions(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as arrays:
        return arrays["features"], arrays["boxes"]


def _detect_regions(part: WorldSubset, chunks: int, path: Path) -> None:
    """Detect the regions of the first images of a subset."""
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.inference import single_threaded
    from research.reference_models.region_head import find_regions, load_head

    tower, head, found = ClipTower(CLIP_DIR), load_head(train_vqa.OUTPUT_DIR / "regions.safetensors"), []
    with single_threaded():
        for number in track(range(chunks), f"regions of {part}", chunks, "chunk"):
            pixels = np.load(vqa_worlds.WORK_DIR / f"{part}-{number:03d}.npy", mmap_mode="r")
            found += [
                find_regions(tower, head, pixels[at : at + BATCH_SIZE])
                for at in range(0, len(pixels), BATCH_SIZE)
            ]
    features, boxes, *_ = (np.concatenate(column) for column in zip(*found, strict=True))
    with atomic_write(path) as file:
        np.savez(file, features=features, boxes=boxes)


def keep_best_regions(store: ArrayStore, num_regions: int) -> ArrayStore:
    """Keep the `num_regions` best-scored regions of each image, without the whole image. 0 keeps everything."""
    from research.reference_models.region_stores import ArrayStore

    if not num_regions:
        return store
    return ArrayStore([*store.index_of], store.features[:, :num_regions], store.boxes[:, :num_regions])


def train_graded_model(out: Path, named: tuple[str, TrainingGrade]) -> None:
    """Train one net and write it."""
    import torch

    from research.reference_models import net_configs
    from research.reference_models.inference import LoadedModel, save_net
    from research.reference_models.net_training import NetTraining, TrainingConfig, train
    from research.reference_models.region_stores import compute_feature_moments
    from research.reference_models.tokenization import WordVocabulary
    from research.synthetic_world import vqa_training_data

    torch.set_num_threads(1)
    name, grade = named
    (learn, store), (choose, others) = (
        prepare_worlds("learn", grade.chunks, out),
        prepare_worlds("choose", 1, out),
    )
    store, others = keep_best_regions(store, grade.num_regions), keep_best_regions(others, grade.num_regions)
    plan = net_configs.NetConfig(name, pseudo_pairs=grade.pairs, trains_from_scratch=True)
    words = WordVocabulary.from_texts(question.text for question in learn.questions)
    answers = sorted({question.answer for question in learn.questions})
    shape = net_configs.make_shape(plan, words, len(answers), store)
    net = net_configs.initialize_net(shape, compute_feature_moments(store), SEED)
    asked = LoadedModel(net, words, tuple(answers))
    questions = vqa_training_data.encode_questions(learn, words, answers)
    steps = max(1, round(grade.epochs * len(questions.answers) / net_configs.TRAIN_BATCH_SIZE))
    recipe = TrainingConfig(
        steps,
        grade.pairs,
        batch_size=net_configs.TRAIN_BATCH_SIZE,
        pointing_weight=train_vqa.POINTING_WEIGHT,
        num_evaluations=1,
    )
    criterion = net_configs.selection_metric(plan)

    def score(_: object) -> float:
        return vqa_training_data.compute_metrics(asked, choose, others)[criterion]

    say = partial(print, f"{name}:", flush=True, file=sys.stderr)
    training = NetTraining(net, questions, store, recipe, SEED)
    train(training, out / f"{name}.pt", score, say)
    save_net(out / f"{name}.safetensors", asked)
