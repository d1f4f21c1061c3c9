"""The nets that rows are made of (`net_rows`): how each is built and trained, and the figure by which its checkpoint is chosen.

All start from one net of answerable questions, `base`, and see as many answerable questions afterwards (those on regions of
the own tower from `own_base`); a net that sees other regions, or none, is trained as long from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from pipeline.scoring.realistic_vqa import auaf, auroc
from research.reference_models.inference import Asked
from research.reference_models.match_net import MatchNet, NetShape
from research.reference_models.net_files import Kind
from research.reference_models.net_training import Recipe
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import WordTable

BASES = ("base", "own_base")  # of which no row is made
SEED = 2023  # beside a run's own
GLANCES = 3
BATCH = 256  # answerable questions of a step


@dataclass(frozen=True)
class NetPlan:
    """How a net differs from a plain one. `one`: a single output, is there an answer? `anew`: it starts from nothing."""

    title: str
    pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup: float = 0.0
    head: str = ""
    one: bool = False
    blind: bool = False
    regions: Kind = "found"
    anew: bool = False

    @property
    def base(self) -> str:
        """The net that it starts from; "" for none."""
        return "" if self.anew else "own_base" if self.regions == "own" else "base"


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
    "own_base": NetPlan("`base` with a tower of its own", regions="own", anew=True),
    "own_vanilla": NetPlan("`vanilla` with a tower that never saw the CLIP", regions="own"),
    "own_rp": NetPlan("`rp` with a tower that never saw the CLIP", pairs="random", regions="own"),
}


def shape_of(
    plan: NetPlan, words: WordTable, answers: int, store: RegionStore, match: bool = True
) -> NetShape:
    """What a plan's net is built for."""
    return NetShape(
        words=len(words),
        answers=1 if plan.one else answers,
        region=store.shape[1],
        head=plan.head,
        blind=plan.blind,
        match=match,
        glances=GLANCES,
    )


def new_net(
    shape: NetShape, moments: tuple[np.ndarray, np.ndarray], seed: int, base: Asked | None = None
) -> MatchNet:
    """A net to train: random weights by the seed, or the base's as far as the two are built alike. `moments`: of the regions
    that it is trained on (`region_store.moments`)."""
    torch.manual_seed(SEED + seed)
    net = MatchNet(shape, *moments)
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


def judged(confidence: np.ndarray, answerable: np.ndarray, right: np.ndarray | None) -> dict[str, float]:
    """The figures by which nets are chosen, of n questions: AUROC, and where there are answers, right or wrong, AUAF and the
    accuracy on the answerable ones. `right` [n] is 0 where there is no answer."""
    found = {"auroc": auroc(confidence, answerable)}
    if right is not None:
        found["auaf"] = auaf(confidence, right.astype(float), answerable)
        found["accuracy"] = float(right[answerable].mean())
    return found


def criterion(plan: NetPlan) -> str:
    """The figure by which a net's checkpoint is chosen."""
    return "auroc" if plan.one else "accuracy" if plan.pairs == "none" else "auaf"
