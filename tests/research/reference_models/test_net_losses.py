"""Targets and losses, by hand."""

import math

import numpy as np
import pytest
import torch

from research.reference_models.net_losses import (
    box_iou,
    compute_item_losses,
    compute_pointing_loss,
    make_targets,
)
from tests.research.reference_models.toy_nets import COLORS, net


def test_the_target_of_an_extra_answer_and_of_a_single_output():
    answers = np.array([2, 0])
    assert make_targets(net(), answers, 1).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert make_targets(net(head="k_plus_1"), answers, 1).tolist() == [
        [0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert make_targets(net(answers=1), answers, 2).tolist() == [[1], [1], [0], [0]]


def test_with_a_branch_pairs_have_no_loss_over_answers():
    model = net(head="branch")
    output = model(torch.tensor([[2, 0], [3, 0]]), torch.zeros(2, 3, 9), torch.zeros(2, 3, 4))
    output = output._replace(logits=torch.zeros(2, COLORS), head_logits={"branch": torch.tensor([0.0, 2.0])})
    losses = compute_item_losses(model, output, make_targets(model, np.array([1]), 1), 1)
    # 4 answers of log 2 and the branch's log 2; for the pair the branch alone: -log(1 - sigmoid(2)) = log(1 + e^2)
    assert losses.tolist() == pytest.approx([5 * math.log(2), math.log(1 + math.exp(2))])


def test_the_pointing_loss_is_of_attention_to_the_matching_region():
    boxes = torch.tensor([[[0.0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    attention = torch.tensor([[[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]])
    nan = [float("nan")] * 4
    seats = torch.tensor([[[0.5, 0.5, 1, 1], nan, [0.0, 0, 0.5, 0.45]]])
    assert compute_pointing_loss(attention, boxes, seats).item() == pytest.approx(
        -(math.log(0.8) + math.log(0.5)) / 2
    )
    assert compute_pointing_loss(attention, boxes, torch.tensor([[nan, nan, nan]])) == 0
    # a box that is nowhere near any region teaches nothing
    assert compute_pointing_loss(attention, boxes, torch.tensor([[[0.6, 0.1, 0.7, 0.2]] * 3])) == 0


def test_iou_of_boxes():
    first, second = torch.tensor([0.0, 0, 2, 2]), torch.tensor([1.0, 1, 3, 3])
    assert box_iou(first, second).item() == pytest.approx(1 / 7)  # 1 of 4 + 4 - 1
