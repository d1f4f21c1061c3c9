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
from research.reference_models.inference import LoadedModel
from research.reference_models.match_net import MatchNet, NetShape
from research.reference_models.net_files import RegionSource
from research.reference_models.net_training import TrainingConfig
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import WordVocabulary

BASE_NETS = ("base", "own_base")  # of which no row is made
BASE_SEED = 2023  # beside a run's own
NUM_GLANCES = 3
TRAIN_BATCH_SIZE = 256  # answerable questions of a step


@dataclass(frozen=True)
class NetConfig:
    """How a net differs from a plain one. `one`: a single output, is there an answer? `anew`: it starts from nothing."""

    title: str
    pseudo_pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup_beta: float = 0.0
    head: str = ""
    has_single_output: bool = False
    is_text_only: bool = False
    region_source: RegionSource = "found"
    trains_from_scratch: bool = False

    @property
    def base_net(self) -> str:
        """The net that it starts from; "" for none."""
        return "" if self.trains_from_scratch else "own_base" if self.region_source == "own" else "base"


NET_CONFIGS: dict[str, NetConfig] = {
    "base": NetConfig("answerable questions, the start of the others", trains_from_scratch=True),
    "blind": NetConfig("the question alone", is_text_only=True, trains_from_scratch=True),
    "vanilla": NetConfig("answerable questions"),
    "rp": NetConfig("random pairs", pseudo_pairs="random"),
    "k_plus_1": NetConfig("random pairs, one more answer", pseudo_pairs="random", head="k_plus_1"),
    "branched": NetConfig("random pairs, a branch", pseudo_pairs="random", head="branch"),
    "mix": NetConfig("random pairs and RoI Mixup", pseudo_pairs="random", mixup_beta=0.7),
    "rp_hard": NetConfig("pairs that CLIP finds alike", pseudo_pairs="hard"),
    "resample": NetConfig("random pairs, hard ones heavier", pseudo_pairs="weighted"),
    "separated": NetConfig("random pairs, a net of its own", pseudo_pairs="random", has_single_output=True),
    "multi_branched": NetConfig(
        "random pairs, a branch from every glance", pseudo_pairs="random", head="multi_branch"
    ),
    "true_regions": NetConfig(
        "regions of the truth (reference)", region_source="true", trains_from_scratch=True
    ),
    "caption_match": NetConfig(
        "Q-C: does the question fit a caption?",
        pseudo_pairs="random",
        has_single_output=True,
        region_source="told",
        trains_from_scratch=True,
    ),
    "own_base": NetConfig("`base` with a tower of its own", region_source="own", trains_from_scratch=True),
    "own_vanilla": NetConfig("`vanilla` with a tower that never saw the CLIP", region_source="own"),
    "own_rp": NetConfig(
        "`rp` with a tower that never saw the CLIP", pseudo_pairs="random", region_source="own"
    ),
}


def make_shape(
    config: NetConfig, words: WordVocabulary, num_answers: int, store: RegionStore, use_match: bool = True
) -> NetShape:
    """What a plan's net is built for."""
    return NetShape(
        words=len(words),
        answers=1 if config.has_single_output else num_answers,
        region=store.shape[1],
        head=config.head,
        blind=config.is_text_only,
        match=use_match,
        glances=NUM_GLANCES,
    )


def initialize_net(
    shape: NetShape, moments: tuple[np.ndarray, np.ndarray], seed: int, base: LoadedModel | None = None
) -> MatchNet:
    """A net to train: random weights by the seed, or the base's as far as the two are built alike. `moments`: of the regions
    that it is trained on (`region_store.moments`)."""
    torch.manual_seed(BASE_SEED + seed)
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


def make_training_config(
    config: NetConfig, base_steps: int, extra_steps: int, is_base: bool, pointing_weight: float
) -> TrainingConfig:
    """Steps and rate: the base's, those after it, or both for a net from nothing."""
    pointing_weight = 0.0 if config.is_text_only or config.has_single_output else pointing_weight
    steps = base_steps if is_base else base_steps + extra_steps if config.trains_from_scratch else extra_steps
    rate = 3e-3 if config.trains_from_scratch else 1.5e-3
    return TrainingConfig(
        steps, config.pseudo_pairs, config.mixup_beta, TRAIN_BATCH_SIZE, rate, pointing_weight
    )


def compute_confidence(
    model: LoadedModel, logits: np.ndarray, head_logits: dict[str, np.ndarray]
) -> np.ndarray:
    """What a net's shape says of answerability [n], higher is answerable."""
    head = model.net.shape.head
    if head == "k_plus_1":
        return -head_logits[head]
    return head_logits[head] if head else logits.max(1)


def compute_selection_metrics(
    confidence: np.ndarray, answerable: np.ndarray, is_correct: np.ndarray | None
) -> dict[str, float]:
    """The figures by which nets are chosen, of n questions: AUROC, and where there are answers, right or wrong, AUAF and the
    accuracy on the answerable ones. `right` [n] is 0 where there is no answer."""
    found = {"auroc": auroc(confidence, answerable)}
    if is_correct is not None:
        found["auaf"] = auaf(confidence, is_correct.astype(float), answerable)
        found["accuracy"] = float(is_correct[answerable].mean())
    return found


def selection_metric(config: NetConfig) -> str:
    """The figure by which a net's checkpoint is chosen."""
    return "auroc" if config.has_single_output else "accuracy" if config.pseudo_pairs == "none" else "auaf"
