"""Train the Selector with torch, on questions of val, on which the answering net was not trained."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.core.errors import format_count
from pipeline.scoring.selective_prediction import risk_coverage_auc
from research.reference_models.selector import (
    GradedOutputs,
    Selector,
    compute_maxprob_logit,
    compute_selector_confidence,
)

# Maximum norm of the gradient, as in the published code.
MAX_GRADIENT_NORM = 0.25


class SelectorNet(nn.Module):
    """The net of `selector.Selector`.

    Its last layer is initialized to 0, so that the untrained net equals MaxProb.
    """

    def __init__(self, features: int, answers: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.features = nn.Linear(features, hidden)
        self.answers = nn.Linear(answers, hidden)
        self.joint = nn.Linear(2 * hidden, hidden)
        self.last = nn.Linear(hidden, 1)
        self.maxprob = nn.Parameter(torch.ones(1))
        self.dropout = nn.Dropout(dropout)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, features: torch.Tensor, answers: torch.Tensor, maxprob: torch.Tensor) -> torch.Tensor:
        first = torch.cat([self.features(features), self.answers(answers)], dim=1).relu()
        hidden = self.dropout(self.joint(first).relu())
        return self.last(hidden)[:, 0] + self.maxprob * maxprob

    def to_selector(self, centre: np.ndarray, spread: np.ndarray) -> Selector:
        """Return the current weights as a `Selector`."""
        layers = [self.features, self.answers, self.joint, self.last]
        tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias)]
        arrays = [tensor.detach().numpy().copy() for tensor in (*tensors, self.maxprob)]
        # The weights of the last layer have one row, which becomes a vector.
        arrays[6] = arrays[6][0]
        return Selector(centre, spread, *arrays)


def train_selector(
    fit: GradedOutputs,
    validation: GradedOutputs,
    *,
    hidden: int = 64,
    epochs: int = 30,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-2,
    dropout: float = 0.5,
    seed: int = 0,
) -> Selector:
    """Train the Selector, and return the weights of the epoch with the smallest area under the risk-coverage
    curve.

    The untrained state counts as an epoch. The loss is binary cross-entropy with the accuracy as target. (The
    authors use two outputs for (1 - accuracy, accuracy) with a softmax. This is equivalent to a single
    output, their difference, with a sigmoid.) On one machine, the same seed and number of threads give the
    same weights.

    Args:
        fit: Questions for training.
        validation: Questions for selecting the epoch.
        hidden: Size of the hidden layers.
        epochs: Number of epochs.
        batch_size: Number of questions in a step.
        learning_rate: Learning rate of AdamW.
        weight_decay: Weight decay of AdamW.
        dropout: Dropout rate.
        seed: Random seed.

    Raises:
        ValueError: An image is in both sets.
    """
    if both := set(fit.images) & set(validation.images):
        raise ValueError(
            f"{format_count(len(both), 'image')} in both fit and validation, for example {min(both)}"
        )
    centre, spread = fit.outputs.features.mean(0), fit.outputs.features.std(0)
    spread = np.where(spread > 1e-6, spread, 1).astype(np.float32)
    features = torch.from_numpy((fit.outputs.features - centre) / spread)
    answers = torch.from_numpy(fit.outputs.logits).softmax(dim=1)
    maxprob = torch.from_numpy(compute_maxprob_logit(fit.outputs.logits).astype(np.float32))
    targets = torch.from_numpy(np.asarray(fit.accuracy, np.float32))

    def area(selector: Selector) -> float:
        return risk_coverage_auc(
            compute_selector_confidence(validation.outputs, selector), validation.accuracy
        )

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = SelectorNet(features.shape[1], answers.shape[1], hidden, dropout)
        optimizer = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=weight_decay)
        best = net.to_selector(centre, spread)
        smallest = area(best)
        for _ in range(epochs):
            for rows in torch.randperm(len(targets)).split(batch_size):
                logits = net(features[rows], answers[rows], maxprob[rows])
                optimizer.zero_grad()
                functional.binary_cross_entropy_with_logits(logits, targets[rows]).backward()
                nn.utils.clip_grad_norm_(net.parameters(), MAX_GRADIENT_NORM)
                optimizer.step()
            selector = net.to_selector(centre, spread)
            if (value := area(selector)) < smallest:
                best, smallest = selector, value
    return best
