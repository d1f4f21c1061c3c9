"""Targets and losses of nets: binary cross-entropy over answers, the loss of branches, and the pointing loss
of glances.

A glance is one attention step of a net (see `MatchNet`). A pseudo pair combines the image of one question with
the question of another image, and is treated as unanswerable. The pointing loss teaches a glance to attend to
the region that the question is about.
All tensors are on the device of the net.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from research.reference_models.match_net import MatchNet, Output


def make_targets(net: MatchNet, answers: np.ndarray, num_pairs: int) -> Tensor:
    """Return targets [b + num_pairs, K], or [b + num_pairs, K + 1] for a net with the head `k_plus_1`.

    The target of the correct answer is 1. For pseudo pairs, all targets are 0, except the target of the
    answer "unanswerable". The target of a net with a single output is whether the question is answerable.

    Args:
        net: The net.
        answers: Index of the correct answer of each answerable question, [b].
        num_pairs: Number of pseudo pairs.
    """
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
    """Return the loss of each item [n]: binary cross-entropy summed over answers.

    If the net has a branch, only the first `num_answerable` items have a loss over answers. The branch is
    trained to classify which items are answerable.
    """
    logits, head = output.logits, net.shape.head
    if head == "k_plus_1":
        logits = torch.cat([logits, output.head_logits[head][:, None]], 1)
    losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(1)
    if head in ("branch", "multi_branch"):
        first = (torch.arange(len(losses), device=losses.device) < num_answerable).float()
        branch = functional.binary_cross_entropy_with_logits(
            output.head_logits[head], first, reduction="none"
        )
        losses = losses * first + branch
    return losses


def compute_pointing_loss(attention: Tensor, boxes: Tensor, target_boxes: Tensor) -> Tensor:
    """Return the mean of -log of the attention to the regions that match the target boxes.

    A region matches a target box if their IoU (intersection over union) is at least 0.8 times the best IoU of
    all regions. Glances without a target box, or without any region of IoU 0.3 or more, are not counted.

    Args:
        attention: Attention [b, glances, M].
        boxes: Boxes of the regions [b, M, 4].
        target_boxes: Target boxes [b, glances, 4], NaN for none.
    """
    has_target = torch.isfinite(target_boxes).all(-1)
    iou = box_iou(boxes[:, None], torch.nan_to_num(target_boxes)[:, :, None])  # [b, glances, M]
    best = iou.amax(-1, keepdim=True)
    matches = (iou >= 0.8 * best).float()
    counted = (has_target & (best[..., 0] >= 0.3)).float()
    hit = (attention * matches).sum(-1).clamp(min=1e-4)
    return -(hit.log() * counted).sum() / counted.sum().clamp(min=1)


def box_iou(first: Tensor, second: Tensor) -> Tensor:
    """Return the intersection over union [...] of boxes [..., 4]."""
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(box[..., 2:] - box[..., :2]).clamp(min=0).prod(-1) for box in (first, second)]
    return shared / (areas[0] + areas[1] - shared).clamp(min=1e-9)
