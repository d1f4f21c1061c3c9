"""Prepare training and evaluation data of the sample's VQA models (`research.reference_models.net_configs`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.core.json_files import read_json
from pipeline.core.randomness import make_generator
from pipeline.core.records import SceneGraph
from research.reference_models.ground_truth_regions import get_relative_box
from research.reference_models.inference import LoadedModel, predict
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_configs import compute_confidence, compute_selection_metrics
from research.reference_models.net_files import RegionSource
from research.reference_models.net_training import QuestionSet
from research.reference_models.pseudo_pairs import sample_random_pairs
from research.reference_models.region_stores import ArrayStore
from research.reference_models.tokenization import WordVocabulary
from research.synthetic_world.questions import SampleQuestion
from research.synthetic_world.vqa_worlds import SEED, WorldSubset, read_worlds

# Number of questions about other images for each image, for hard pairs (RP hard). RGQA uses 1,000 of 943,000
# questions; in proportion, this is about 160 to 170 of the 164,000 questions here.
NUM_HARD_NEGATIVES = 160


@dataclass(frozen=True)
class SubsetData:
    """Questions of a subset, image id -> scene, and image id -> index in the region stores."""

    questions: list[SampleQuestion]
    scenes: dict[str, SceneGraph]
    image_index: dict[str, int]

    @classmethod
    def read(cls, part: WorldSubset) -> SubsetData:
        rows = read_worlds(part)
        place_of = {row.scene.image_id: place for place, row in enumerate(rows)}
        scenes = {row.scene.image_id: row.scene for row in rows}
        return cls([question for row in rows for question in row.questions], scenes, place_of)

    @property
    def image_indices(self) -> np.ndarray:
        """Return the index of the image of each question, [n]."""
        return np.array([self.image_index[question.image_id] for question in self.questions])


def open_regions(folder: Path, kind: RegionSource) -> ArrayStore:
    """Open the regions of a subset that `train_vqa` wrote."""
    ids = read_json(folder / "images.json", list[str])
    features = np.load(
        folder / ("detected-own_tower.npy" if kind == "own_tower" else f"{kind}.npy"), mmap_mode="r"
    )
    placed = np.load(
        folder / (f"boxes-{kind}.npy" if kind in ("own_tower", "ground_truth") else "boxes.npy"),
        mmap_mode="r",
    )
    # Captions have no positions, so all boxes are 0.
    if kind == "caption":
        placed = np.zeros_like(placed)
    return ArrayStore(ids, features, placed)


def encode_questions(data: SubsetData, words: WordVocabulary, answers: Sequence[str]) -> QuestionSet:
    """Encode the questions of a subset as arrays. An answer that is not in `answers` is -1."""
    number = {answer: place for place, answer in enumerate(answers)}
    return QuestionSet(
        words.encode([question.text for question in data.questions]).astype(np.int16),
        data.image_indices,
        np.array([number.get(question.answer, -1) for question in data.questions]),
        np.array([get_attention_targets(q, data.scenes[q.image_id]) for q in data.questions], np.float16),
    )


def get_attention_targets(question: SampleQuestion, scene: SceneGraph) -> list[tuple[float, ...]]:
    """Return the boxes that three glances should attend to, from the question's annotations.

    The first box is that of the object that the question names last, the second that of the object that it
    names first, and the third that of the object that is the answer (or again of the first object). A box
    without an annotation is NaN. The order is reversed because questions are solved from their end: for "What
    is the cup on the left of the dog made of?", first find the dog, then the cup.
    """
    named = sorted(question.annotations.items(), key=lambda row: int(row[0].split(":")[0]))
    answer = list(question.answer_annotations.values())
    ids = (
        [named[-1][1], named[0][1], (answer or [named[0][1]])[0]]
        if named
        else [*[""] * 2, *(answer or [""])[:1]]
    )
    items = {item.object_id: item for item in scene.objects}
    return [get_relative_box(items[i], scene) if i in items else (np.nan,) * 4 for i in ids]


def compute_metrics(asked: LoadedModel, data: SubsetData, store: ArrayStore) -> dict[str, float]:
    """Return the accuracy for each of GQA's structural types, and AUAF and AUROC of the questions against
    random pairs.

    There are as many random pairs as questions. About a fifth of the random pairs is answerable.
    """
    pairs = sample_random_pairs(data.image_indices, make_generator(SEED, "val pairs"))
    own = [VqaQuery(q.image_id, q.text) for q in data.questions]
    pseudo = [
        VqaQuery(q.image_id, data.questions[j].text) for q, j in zip(data.questions, pairs, strict=True)
    ]
    seen = predict(asked, own + pseudo, store)
    answerable = np.arange(len(own) + len(pseudo)) < len(own)
    confidence = compute_confidence(asked, seen.logits, dict(seen.head_logits))
    if asked.net.shape.answers == 1:
        return compute_selection_metrics(confidence, answerable, None)
    said = np.array(seen.answers)[seen.logits[: len(own)].argmax(1)]
    right = said == np.array([q.answer for q in data.questions])
    kinds = np.array([q.structural for q in data.questions])
    by_kind = {str(kind): float(right[kinds == kind].mean()) for kind in sorted(set(kinds))}
    return by_kind | compute_selection_metrics(
        confidence, answerable, np.concatenate([right, np.zeros(len(pseudo), bool)])
    )
