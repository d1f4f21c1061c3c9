"""The training loop of all nets: AdamW, a one-cycle learning rate, and binary cross-entropy summed over
answers.

Random numbers depend only on the seed and the step, so a killed run resumes from its last checkpoint and ends
with the same weights. All configurations have the same number of answerable questions in a step. If pseudo
pairs are used, a step has in addition one pseudo pair (the image of one question with the question of
another) for each answerable question. Meanwhile another thread reads the regions of the next steps. In the
last quarter of the run, several checkpoints are evaluated, and the best one is kept.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.randomness import make_generator
from research.reference_models.match_net import MatchNet
from research.reference_models.net_losses import compute_item_losses, compute_pointing_loss, make_targets
from research.reference_models.prefetch import prefetch
from research.reference_models.pseudo_pairs import (
    PairWeights,
    apply_roi_mixup,
    sample_keep_rate,
    sample_random_pairs,
)
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import trim_padding


class QuestionSet(NamedTuple):
    """n answerable questions as arrays.

    Attributes:
        tokens: Token ids [n, L].
        image_indices: Index [n] of the image of each question in the store.
        answers: Index [n] of the correct answer of each question.
        target_boxes: The box that each glance (attention step of `MatchNet`) should attend to, [n, glances,
            4]; NaN for no box. None if there are no target boxes.
    """

    tokens: np.ndarray
    image_indices: np.ndarray
    answers: np.ndarray
    target_boxes: np.ndarray | None = None


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run.

    Attributes:
        num_steps: Number of steps.
        pseudo_pairs: How the question of a pseudo pair is chosen. none: there are no pseudo pairs. random: a
            question about a random other image. hard: a question in `hard_pairs`. weighted: random with
            learned weights (Resample).
        mixup_beta: Parameter b of the distribution Beta(1, b) of RoI Mixup; 0 for no mixup.
        batch_size: Number of answerable questions in a step.
        learning_rate: The maximum learning rate.
        pointing_weight: Weight of the pointing loss; 0 to ignore the annotated boxes.
        num_evaluations: Number of checkpoints that are evaluated.
        checkpoint_interval: Number of steps between two checkpoints on disk.
    """

    num_steps: int
    pseudo_pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup_beta: float = 0.0
    batch_size: int = 256
    learning_rate: float = 3e-3
    pointing_weight: float = 0.0
    num_evaluations: int = 3
    checkpoint_interval: int = 500


class TrainingBatch(NamedTuple):
    """The inputs of a step that another thread can prepare in advance.

    Attributes:
        rows: Rows [b] of the answerable questions of the step in the `QuestionSet`.
        paired_rows: For each of all n questions, the row of the question that is paired with its image, [n].
        regions: Features and boxes of the images of `rows`; None for a text-only net.
    """

    rows: np.ndarray
    paired_rows: np.ndarray
    regions: tuple[Tensor, Tensor] | None


class TrainingResult(NamedTuple):
    """Scores of the evaluated checkpoints (step -> score), and the CPU seconds of the run."""

    scores: dict[int, float]
    cpu_seconds: float


def learning_rate_at(step: int, num_steps: int, max_rate: float) -> float:
    """Return the one-cycle learning rate of a step.

    During the first 5 % of the steps, it rises linearly from 4 % of `max_rate` to `max_rate`. Then it falls
    to 0.1 % of `max_rate`, as a cosine.
    """
    warmup = max(1, num_steps // 20)
    if step < warmup:
        return max_rate * (0.04 + 0.96 * step / warmup)
    return max_rate * (
        1e-3 + 0.5 * (1 - 1e-3) * (1 + math.cos(math.pi * (step - warmup) / max(1, num_steps - warmup)))
    )


class NetTraining:
    """A net in training, with the state that a checkpoint needs.

    Args:
        net: The net.
        questions: The training questions.
        store: Regions of the images.
        config: Settings of the training run.
        seed: Random seed.
        hard_pairs: For each image, the rows of the k questions that are hard for this image, [p, k]
            (`find_hard_pairs`). Required for `pseudo_pairs="hard"`, else None.
    """

    def __init__(
        self,
        net: MatchNet,
        questions: QuestionSet,
        store: RegionStore,
        config: TrainingConfig,
        seed: int,
        hard_pairs: np.ndarray | None = None,
    ) -> None:
        self.net, self.questions, self.store = net, questions, store
        self.config, self.seed, self.hard_pairs = config, seed, hard_pairs
        decayed = [p for p in net.parameters() if p.ndim > 1]
        others = [p for p in net.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
            lr=config.learning_rate,
        )
        is_weighted = config.pseudo_pairs == "weighted"
        self.pair_weights = PairWeights(len(questions.answers), device=net.device) if is_weighted else None
        self._epoch, self._order, self._paired_rows = -1, np.zeros(0, int), np.zeros(0, int)

    def make_batch(self, step: int) -> TrainingBatch:
        """Return the inputs of a step. Call this for the steps in their order, from one thread."""
        rows, paired_rows = self._sample_rows(step)
        return TrainingBatch(rows, paired_rows, self._load_regions(rows))

    def step(self, step: int, batch: TrainingBatch | None = None) -> float:
        """Train for one step and return its loss. `batch` is the result of `make_batch(step)`."""
        return float(self.train_step(step, batch or self.make_batch(step)))

    def train_step(self, step: int, batch: TrainingBatch) -> Tensor:
        """Train for one step and return its loss as a tensor on the device."""
        rng = make_generator(self.seed, "step", str(step))
        pairs = self._make_pairs(batch, rng)
        loss, weights_loss = self._compute_loss(batch.rows, pairs, batch.regions, rng)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(step, self.config.num_steps, self.config.learning_rate)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimizer.step()
        if self.pair_weights is not None and weights_loss is not None:
            self.pair_weights.step(weights_loss)
        return loss.detach()

    def _sample_rows(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a step, each at most once per epoch, and the paired rows of all questions in the
        epoch.

        Each epoch uses only complete batches, so the last `n mod batch_size` questions of its random order
        are not used.
        """
        count, batch = len(self.questions.answers), self.config.batch_size
        per_epoch = max(1, count // batch)
        epoch, position = divmod(step, per_epoch)
        if epoch != self._epoch:
            rng = make_generator(self.seed, "epoch", str(epoch))
            self._epoch, self._order = epoch, rng.permutation(count)
            if self.config.pseudo_pairs != "none":
                # Weighted pairs are the same in all epochs, because their weights could not be learned
                # otherwise.
                pair_rng = rng if self.config.pseudo_pairs == "random" else make_generator(self.seed, "pairs")
                self._paired_rows = sample_random_pairs(self.questions.image_indices, pair_rng)
        return self._order[position * batch : (position + 1) * batch], self._paired_rows

    def _make_pairs(self, batch: TrainingBatch, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the pseudo pairs of a step, as two arrays: rows whose images are used, and rows whose
        questions are used.
        """
        rows = batch.rows
        if self.config.pseudo_pairs == "none":
            return rows[:0], rows[:0]
        if self.config.pseudo_pairs == "hard":
            assert self.hard_pairs is not None
            column = rng.integers(0, self.hard_pairs.shape[1], len(rows))
            return rows, self.hard_pairs[self.questions.image_indices[rows], column]
        if self.pair_weights is not None:
            rows = self.pair_weights.sample(len(rows), rng)
        return rows, batch.paired_rows[rows]

    def _load_regions(self, rows: np.ndarray) -> tuple[Tensor, Tensor] | None:
        if self.net.shape.blind:
            return None
        features, boxes = self.store.get_regions(self.questions.image_indices[rows])
        return self._to_device(features), self._to_device(boxes)

    def _to_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.net.device)

    def _compute_loss(
        self,
        rows: np.ndarray,
        pairs: tuple[np.ndarray, np.ndarray],
        regions: tuple[Tensor, Tensor] | None,
        rng: np.random.Generator,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the loss of the net, and the loss of the pair weights (None without weights)."""
        tokens = self._to_device(trim_padding(self.questions.tokens[np.concatenate([rows, pairs[1]])]))
        if regions is not None and len(pairs[0]):
            pair_regions = regions if pairs[0] is rows else self._load_regions(pairs[0])
            assert pair_regions is not None
            regions = (
                torch.cat([regions[0], pair_regions[0]]),
                torch.cat([regions[1], pair_regions[1]]),
            )
        targets = make_targets(self.net, self.questions.answers[rows], len(pairs[0]))
        output = self.net(tokens, *(regions or ()))
        losses = compute_item_losses(self.net, output, targets, len(rows))
        own, pseudo = losses[: len(rows)], losses[len(rows) :]
        loss, weights_loss = own.mean(), None
        if self.pair_weights is not None:
            weighted, weights_loss = self.pair_weights.weight_losses(pairs[0], pseudo)
            loss = loss + weighted
        elif len(pseudo):
            loss = loss + pseudo.mean()
        if self.config.pointing_weight and output.attention is not None and regions is not None:
            target_boxes = self.questions.target_boxes
            assert target_boxes is not None
            targets_here = self._to_device(target_boxes[rows].astype(np.float32))
            loss = loss + self.config.pointing_weight * compute_pointing_loss(
                output.attention[: len(rows)], regions[1][: len(rows)], targets_here
            )
        if self.config.mixup_beta and regions is not None:
            features, boxes, mixed_targets = apply_roi_mixup(
                *regions, targets, sample_keep_rate(self.config.mixup_beta, rng), rng
            )
            mixed = compute_item_losses(self.net, self.net(tokens, features, boxes), mixed_targets, len(rows))
            loss = loss + mixed[: len(rows)].mean() + (mixed[len(rows) :].mean() if len(pseudo) else 0)
        return loss, weights_loss

    def state_dict(self) -> dict[str, Any]:
        weights = self.pair_weights.state_dict() if self.pair_weights else {}
        return {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "weights": weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.pair_weights:
            self.pair_weights.load_state_dict(state["weights"])


class Trainable(Protocol):
    """The part of the interface of `NetTraining` that `train` needs. `net` is an `nn.Module`."""

    net: Any
    config: TrainingConfig

    def make_batch(self, step: int) -> Any: ...
    def step(self, step: int, batch: Any) -> float: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def train(
    run: Trainable,
    path: Path,
    score: Callable[[Any], float],
    log: Callable[[str], None] = lambda text: None,
) -> TrainingResult:
    """Train to the last step, and load the weights of the best checkpoint into the net.

    Args:
        run: The net in training.
        path: File of the checkpoint. If it exists, the training resumes from this checkpoint.
        score: Returns the score of the net; higher is better. It must not use the data for which results are
            reported.
        log: Called with a line of progress.

    Raises:
        UserError: The loss is not finite.
    """
    config, started_at = run.config, time.process_time()
    # The evaluations are spread over the last quarter of the steps.
    evaluation_steps = {
        config.num_steps - config.num_steps * i // (4 * config.num_evaluations)
        for i in range(config.num_evaluations)
    }
    first_step, cpu_before, scores, best, recent = 0, 0.0, {}, {}, []
    if path.exists():
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if saved["config"] == repr(config):
            run.load_state_dict(saved)
            first_step, cpu_before, scores, best = (
                saved[key] for key in ("step", "cpu_seconds", "scores", "best")
            )
    for step, batch in prefetch(run.make_batch, range(first_step, config.num_steps)):
        recent.append(run.step(step, batch))
        if step + 1 in evaluation_steps:
            scores[step + 1] = score(run.net.eval())
            run.net.train()
            if scores[step + 1] >= max(scores.values()):
                best = copy.deepcopy(run.net.state_dict())
        if (step + 1) % config.checkpoint_interval == 0 or step + 1 == config.num_steps:
            if not np.isfinite(recent).all():
                raise UserError(
                    f"{path.stem}: the loss is not finite at step {step + 1}; lower the learning rate"
                )
            cpu_seconds = cpu_before + time.process_time() - started_at
            evaluations = "".join(f", {value:.4f} at {at}" for at, value in scores.items())
            log(
                f"step {step + 1} of {config.num_steps}, loss {np.mean(recent):.3f}, {cpu_seconds:.0f} CPU-s{evaluations}"
            )
            recent.clear()
            progress = {
                "config": repr(config),
                "step": step + 1,
                "cpu_seconds": cpu_seconds,
                "scores": scores,
                "best": best,
            }
            with atomic_write(path) as file:
                torch.save({**run.state_dict(), **progress}, file)
    if best:
        run.net.load_state_dict(best)
    run.net.eval()
    return TrainingResult(scores, cpu_before + time.process_time() - started_at)
