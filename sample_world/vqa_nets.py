"""The sample's answer nets: which there are, how each is trained, what it is tried on.

All start from one net of answerable questions, `base`, and see as many answerable questions afterwards; a net that sees
other regions, or none, is trained as long from nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from pipeline.core.files import read_json
from pipeline.core.randomness import generator
from pipeline.core.records import Scene
from pipeline.models.looking import Asked, look
from pipeline.models.match_net import MatchNet, NetShape
from pipeline.models.net_training import QuestionSet, Recipe
from pipeline.models.protocol import Ask
from pipeline.models.pseudo_pairs import random_pairs
from pipeline.models.question_texts import WordTable
from pipeline.models.region_store import ArrayStore, moments
from pipeline.models.true_regions import box_of
from pipeline.scorers.realistic import auaf, auroc
from sample_world.questions import SampleQuestion
from sample_world.vqa_worlds import SEED, Part, worlds_of

Kind = Literal["found", "told", "true"]  # regions: of the detector, as a caption tells them, of the truth
GLANCES = 3
BATCH = 256  # answerable questions of a step
HARD = 160  # questions of other pictures for each, for RP hard: the paper's 1,000 of 943,000 are as many of 164,000


@dataclass(frozen=True)
class NetPlan:
    """How a net differs from a plain one. `one`: a single output, is there an answer? `anew`: it does not start from `base`."""

    title: str
    pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup: float = 0.0
    head: str = ""
    one: bool = False
    blind: bool = False
    regions: Kind = "found"
    anew: bool = False


NETS: dict[str, NetPlan] = {
    "base": NetPlan("answerable questions, the start of the others", anew=True),
    "blind": NetPlan("the question alone", blind=True, anew=True),
    "vanilla": NetPlan("answerable questions"),
    "rp": NetPlan("random pairs", pairs="random"),
    "k_plus_1": NetPlan("random pairs, one more answer", pairs="random", head="k_plus_1"),
    "branched": NetPlan("random pairs, a branch", pairs="random", head="branch"),
    "mix": NetPlan("random pairs and RoI Mixup", pairs="random", mixup=0.7),
    "rp_hard": NetPlan("pairs that CLIP finds alike", pairs="hard"),
    "resample": NetPlan("random pairs, hard ones heavier", pairs="weighted"),
    "separated": NetPlan("random pairs, a net of its own", pairs="random", one=True),
    "multi_branched": NetPlan(
        "random pairs, a branch from every glance", pairs="random", head="multi_branch"
    ),
    "true_regions": NetPlan("regions of the truth (reference)", regions="true", anew=True),
    "caption_match": NetPlan(
        "Q-C: does the question fit a caption?", pairs="random", one=True, regions="told", anew=True
    ),
}


@dataclass(frozen=True)
class PartData:
    """A part's questions and where its pictures lie in its stores."""

    questions: list[SampleQuestion]
    scenes: dict[str, Scene]
    place_of: dict[str, int]

    @classmethod
    def read(cls, part: Part) -> PartData:
        rows = worlds_of(part)
        place_of = {row.scene.picture_id: place for place, row in enumerate(rows)}
        scenes = {row.scene.picture_id: row.scene for row in rows}
        return cls([question for row in rows for question in row.questions], scenes, place_of)

    @property
    def pictures(self) -> np.ndarray:
        """The place of each question's picture."""
        return np.array([self.place_of[question.picture_id] for question in self.questions])


def store_of(folder: Path, kind: Kind) -> ArrayStore:
    """The regions of a part as `train_vqa` wrote them."""
    ids = read_json(folder / "pictures.json", list[str])
    boxes = "boxes-true.npy" if kind == "true" else "boxes.npy"
    features = np.load(folder / f"{kind}.npy", mmap_mode="r")
    placed = np.load(folder / boxes, mmap_mode="r")
    if kind == "told":  # a caption has no places
        placed = np.zeros_like(placed)
    return ArrayStore(ids, features, placed)


def question_set(data: PartData, words: WordTable, answers: Sequence[str]) -> QuestionSet:
    """A part's questions as numbers. An answer that is unknown is -1."""
    number = {answer: place for place, answer in enumerate(answers)}
    return QuestionSet(
        words.numbers([question.text for question in data.questions]).astype(np.int16),
        data.pictures,
        np.array([number.get(question.answer, -1) for question in data.questions]),
        np.array([seats_of(q, data.scenes[q.picture_id]) for q in data.questions], np.float16),
    )


def seats_of(question: SampleQuestion, scene: Scene) -> list[tuple[float, ...]]:
    """Where glances are to rest, by the question's annotations: on the thing that it names last, on the one that it names
    first, and on the one that is the answer (else the first again); not a number where nothing is annotated.

    "What is the cup on the left of the dog made of?" is read from its end: find the dog, then the cup.
    """
    named = sorted(question.annotations.items(), key=lambda row: int(row[0].split(":")[0]))
    answer = list(question.answer_annotations.values())
    ids = (
        [named[-1][1], named[0][1], (answer or [named[0][1]])[0]]
        if named
        else [*[""] * 2, *(answer or [""])[:1]]
    )
    items = {item.object_id: item for item in scene.objects}
    return [box_of(items[i], scene) if i in items else (np.nan,) * 4 for i in ids]


def shape_of(plan: NetPlan, words: WordTable, answers: int, store: ArrayStore) -> NetShape:
    return NetShape(
        words=len(words),
        answers=1 if plan.one else answers,
        region=store.shape[1],
        head=plan.head,
        blind=plan.blind,
        glances=GLANCES,
    )


def new_net(name: str, shape: NetShape, store: ArrayStore, seed: int, base: Asked | None = None) -> MatchNet:
    """A net to train: random weights by the seed, or the base's as far as the two are built alike."""
    torch.manual_seed(SEED + seed)
    net = MatchNet(shape, *moments(store))
    if base is not None:
        here, there = net.state_dict(), base.net.state_dict()
        for key, value in there.items():
            if key in here and here[key].shape == value.shape:
                here[key] = value
            elif key in here and shape.head == "k_plus_1":  # one answer more
                here[key][: len(value)] = value
        net.load_state_dict(here)
    return net


def recipe_of(plan: NetPlan, base_steps: int, more_steps: int, is_base: bool, pointing: float) -> Recipe:
    """Steps and rate: the base's, those after it, or both for a net from nothing."""
    pointing = 0.0 if plan.blind or plan.one else pointing
    steps = base_steps if is_base else base_steps + more_steps if plan.anew else more_steps
    rate = 3e-3 if plan.anew else 1.5e-3
    return Recipe(steps, plan.pairs, plan.mixup, BATCH, rate, pointing)


def confidence_of(asked: Asked, logits: np.ndarray, extra: dict[str, np.ndarray]) -> np.ndarray:
    """What a net's shape says of answerability [n], higher is answerable."""
    head = asked.net.shape.head
    if head == "k_plus_1":
        return -extra[head]
    return extra[head] if head else logits.max(1)


def figures(asked: Asked, data: PartData, store: ArrayStore) -> dict[str, float]:
    """Accuracy by GQA's structural types, and AUAF and AUROC against as many random pairs, a fifth of which has an answer."""
    pairs = random_pairs(data.pictures, generator(SEED, "val pairs"))
    own = [Ask(q.picture_id, q.text) for q in data.questions]
    pseudo = [Ask(q.picture_id, data.questions[j].text) for q, j in zip(data.questions, pairs, strict=True)]
    seen = look(asked, own + pseudo, store)
    answerable = np.arange(len(own) + len(pseudo)) < len(own)
    confidence = confidence_of(asked, seen.logits, dict(seen.extra))
    measured = {"auroc": auroc(confidence, answerable)}
    if asked.net.shape.answers > 1:
        said = np.array(seen.answers)[seen.logits[: len(own)].argmax(1)]
        right = said == np.array([q.answer for q in data.questions])
        kinds = np.array([q.structural for q in data.questions])
        measured |= {str(kind): float(right[kinds == kind].mean()) for kind in sorted(set(kinds))}
        measured["accuracy"] = float(right.mean())
        measured["auaf"] = auaf(confidence, np.concatenate([right, np.zeros(len(pseudo))]), answerable)
    return measured


def criterion(plan: NetPlan) -> str:
    """The figure by which a net's checkpoint is chosen."""
    return "auroc" if plan.one else "accuracy" if plan.pairs == "none" else "auaf"
