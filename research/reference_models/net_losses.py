"""What a net is to say, and what it costs to say otherwise: targets of answerable questions and pseudo pairs, binary
cross-entropy summed over answers, the branches' part, and where glances are to rest. All tensors lie where the net does."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from research.reference_models.match_net import MatchNet, Output


def make_targets(net: MatchNet, answers: np.ndarray, num_pairs: int) -> Tensor:
    """Targets [b + pairs, K] (K + 1 with `k_plus_1`): the right answer's is 1, a pseudo pair's are all 0, but for the answer
    "unanswerable". A net of one output is asked whether there is an answer."""
    shape = net.shape
    targets = torch.zeros(len(answers) + num_pairs, shape.answers + (shape.head == "k_plus_1"))
    if shape.answers == 1:
        targets[: len(answers)] = 1
    else:
        targets[torch.arange(len(answers)), torch.from_numpy(answers).long()] = 1
    if shape.head == "k_plus_1":
        targets[len(answers) :, -1] = 1
    return targets.to(net.device)


def compute_item_losses(net: MatchNet, output: Output, targets: Tensor, num_answerable: int) -> Tensor:
    """The loss of each item [n]: binary cross-entropy summed over answers. With a branch the answers' loss is that of the
    `answerable` first items alone, and the branch tells those from the rest."""
    logits, head = output.logits, net.shape.head
    if head == "k_plus_1":
        logits = torch.cat([logits, output.head_logits[head][:, None]], 1)
    losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(1)
    if head in ("branch", "multi_branch"):
        first = (torch.arange(len(losses), device=losses.device) < num_answerable).float()
        told = functional.binary_cross_entropy_with_logits(output.head_logits[head], first, reduction="none")
        losses = losses * first + told
    return losses


def compute_pointing_loss(attention: Tensor, boxes: Tensor, target_boxes: Tensor) -> Tensor:
    """-log of the attention [b, glances, M] on the regions that fit the seats [b, glances, 4] best (their overlap is within a
    fifth of the best), mean over the glances that have a seat with such a region (overlap 0.3 at least)."""
    known = torch.isfinite(target_boxes).all(-1)
    overlap = box_iou(boxes[:, None], torch.nan_to_num(target_boxes)[:, :, None])  # [b, glances, M]
    best = overlap.amax(-1, keepdim=True)
    fits = (overlap >= 0.8 * best).float()
    counted = (known & (best[..., 0] >= 0.3)).float()
    hit = (attention * fits).sum(-1).clamp(min=1e-4)
    return -(hit.log() * counted).sum() / counted.sum().clamp(min=1)


def box_iou(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union of boxes [..., 4]."""
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(box[..., 2:] - box[..., :2]).clamp(min=0).prod(-1) for box in (first, second)]
    return shared / (areas[0] + areas[1] - shared).clamp(min=1e-9)
