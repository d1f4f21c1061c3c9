"""The nets of the leaderboard rows: how each net is built and trained, and the metric that selects its
checkpoint.

Most nets start from the net `base`, which is trained on answerable questions (nets whose regions come from
their own tower start from `own_base`). After that, all nets see the same number of answerable questions. Nets
with other regions or without regions are trained from scratch on as many questions in total.
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

# Nets from which other nets start. They have no leaderboard row.
BASE_NETS = ("base", "own_base")
# Number that is added to the seed of a run.
BASE_SEED = 2023
NUM_GLANCES = 3
# Number of answerable questions in a training step.
TRAIN_BATCH_SIZE = 256


@dataclass(frozen=True)
class NetConfig:
    """How a net is built and trained.

    Attributes:
        title: A short description.
        pseudo_pairs: Pseudo unanswerable questions (`TrainingConfig`).
        mixup_beta: B of RoI Mixup's Beta(1, b); 0 for no mixup.
        head: Name of an extra head in `EXTRA_HEADS`; "" for none.
        has_single_output: Whether the net has a single output, which says whether the question is answerable.
        is_text_only: Whether the net has no regions.
        region_source: Where the regions of the net come from.
        trains_from_scratch: Whether the net starts from random weights instead of a base net.
    """

    title: str
    pseudo_pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup_beta: float = 0.0
    head: str = ""
    has_single_output: bool = False
    is_text_only: bool = False
    region_source: RegionSource = "detected"
    trains_from_scratch: bool = False

    @property
    def base_net(self) -> str:
        """Return the name of the net from which this net starts; "" for none."""
        return "" if self.trains_from_scratch else "own_base" if self.region_source == "own_tower" else "base"


NET_CONFIGS: dict[str, NetConfig] = {
    "base": NetConfig("answerable questions, the starting point of the others", trains_from_scratch=True),
    "blind": NetConfig("the question only", is_text_only=True, trains_from_scratch=True),
    "vanilla": NetConfig("answerable questions"),
    "rp": NetConfig("random pairs", pseudo_pairs="random"),
    "k_plus_1": NetConfig("random pairs, one additional answer", pseudo_pairs="random", head="k_plus_1"),
    "branched": NetConfig("random pairs, a branch", pseudo_pairs="random", head="branch"),
    "mix": NetConfig("random pairs and RoI Mixup", pseudo_pairs="random", mixup_beta=0.7),
    "rp_hard": NetConfig("pairs that are similar for CLIP", pseudo_pairs="hard"),
    "resample": NetConfig("random pairs, hard ones with larger weights", pseudo_pairs="weighted"),
    "separated": NetConfig("random pairs, a separate net", pseudo_pairs="random", has_single_output=True),
    "multi_branched": NetConfig(
        "random pairs, a branch from every glance", pseudo_pairs="random", head="multi_branch"
    ),
    "true_regions": NetConfig(
        "ground-truth regions (reference)", region_source="ground_truth", trains_from_scratch=True
    ),
    "caption_match": NetConfig(
        "Q-C: whether the question matches a caption",
        pseudo_pairs="random",
        has_single_output=True,
        region_source="caption",
        trains_from_scratch=True,
    ),
    "own_base": NetConfig("`base` with its own tower", region_source="own_tower", trains_from_scratch=True),
    "own_vanilla": NetConfig("`vanilla` with a tower that is independent of CLIP", region_source="own_tower"),
    "own_rp": NetConfig(
        "`rp` with a tower that is independent of CLIP", pseudo_pairs="random", region_source="own_tower"
    ),
}


def make_shape(
    config: NetConfig, words: WordVocabulary, num_answers: int, store: RegionStore, use_match: bool = True
) -> NetShape:
    """Return the sizes of a net."""
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
    """Return a net to train. Its weights are those of the base net where the shapes are equal, else random.

    Args:
        shape: Sizes of the net.
        moments: Mean and standard deviation of the features of the training regions
            (`compute_feature_moments`).
        seed: Random seed.
        base: The base net; None to train from scratch.
    """
    torch.manual_seed(BASE_SEED + seed)
    net = MatchNet(shape, *moments)
    if base is not None:
        state = net.state_dict()
        for key, value in base.net.state_dict().items():
            if key in state and state[key].shape == value.shape:
                state[key] = value
            # The classifier has an additional answer, so only its first rows can be copied.
            elif key in state and shape.head == "k_plus_1":
                state[key][: len(value)] = value
        net.load_state_dict(state)
    return net


def make_training_config(
    config: NetConfig, base_steps: int, extra_steps: int, is_base: bool, pointing_weight: float
) -> TrainingConfig:
    """Return the training configuration of a net.

    A base net is trained for `base_steps`, a net that starts from a base net for `extra_steps`, and any other
    net for the sum of both.
    """
    pointing_weight = 0.0 if config.is_text_only or config.has_single_output else pointing_weight
    steps = base_steps if is_base else base_steps + extra_steps if config.trains_from_scratch else extra_steps
    rate = 3e-3 if config.trains_from_scratch else 1.5e-3
    return TrainingConfig(
        steps, config.pseudo_pairs, config.mixup_beta, TRAIN_BATCH_SIZE, rate, pointing_weight
    )


def compute_confidence(
    model: LoadedModel, logits: np.ndarray, head_logits: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the confidences [n] that questions are answerable, from the extra head or else from the answers."""
    head = model.net.shape.head
    if head == "k_plus_1":
        return -head_logits[head]
    return head_logits[head] if head else logits.max(1)


def compute_selection_metrics(
    confidence: np.ndarray, answerable: np.ndarray, is_correct: np.ndarray | None
) -> dict[str, float]:
    """Return the metrics by which checkpoints are selected.

    The metrics are AUROC and, if the net has answers, AUAF and the accuracy on answerable questions.

    Args:
        confidence: Confidences [n].
        answerable: Whether each question is answerable, bool [n].
        is_correct: Whether each answer is correct, bool [n]; False for unanswerable questions. None for a net
            without answers.
    """
    metrics = {"auroc": auroc(confidence, answerable)}
    if is_correct is not None:
        metrics["auaf"] = auaf(confidence, is_correct.astype(float), answerable)
        metrics["accuracy"] = float(is_correct[answerable].mean())
    return metrics


def selection_metric(config: NetConfig) -> str:
    """Return the name of the metric by which the checkpoint of a net is selected."""
    return "auroc" if config.has_single_output else "accuracy" if config.pseudo_pairs == "none" else "auaf"
