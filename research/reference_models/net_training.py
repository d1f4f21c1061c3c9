"""One training loop for all nets: AdamW, a rate that warms up and falls to nothing, binary cross-entropy summed over answers.

What is drawn depends on the seed and the step alone, so a run that was killed goes on from its last checkpoint to the same
weights. A step has the same number of answerable questions whatever the recipe; pseudo pairs come on top, one for each.
A thread reads the regions of the next steps meanwhile. Everything is computed where the net's weights lie.
Checkpoints are tried over the last part of the run, on whatever `score` looks at, and the best is kept.
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
    """n answerable questions: tokens [n, L]; images [n], their places in the store; answers [n], the right one's number;
    seats [n, glances, 4], the box that each glance is to rest on, not a number where that is open."""

    tokens: np.ndarray
    image_indices: np.ndarray
    answers: np.ndarray
    target_boxes: np.ndarray | None = None


@dataclass(frozen=True)
class TrainingConfig:
    """What a net is trained on beside answerable questions.

    Attributes:
        pairs: pseudo unanswerable questions: none, of a random other image, of the list `hard`, or weighted (Resample).
        mixup: b of RoI Mixup's Beta(1, b); 0: none.
        steps, batch: batches, and answerable questions in each. rate: the greatest learning rate.
        pointing: weight of the loss of glances that rest elsewhere than the questions' annotations say; 0: they are not used.
        tries: checkpoints that are compared. every: steps from one checkpoint on the disk to the next.
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
    """What is known of a step before its time: rows [b] of its answerable questions, the row [n] that each question's image
    is paired with, and the regions of the rows' images (none for a blind net)."""

    rows: np.ndarray
    paired_rows: np.ndarray
    regions: tuple[Tensor, Tensor] | None


class TrainingResult(NamedTuple):
    """What `train` says of a run: the score of each checkpoint that was tried, by its step, and the CPU seconds it took."""

    scores: dict[int, float]
    cpu_seconds: float


def learning_rate_at(step: int, num_steps: int, max_rate: float) -> float:
    """One cycle: up from a 25th in the first twentieth of the steps, then down a cosine to nearly nothing."""
    warm = max(1, num_steps // 20)
    if step < warm:
        return max_rate * (0.04 + 0.96 * step / warm)
    return max_rate * (
        1e-3 + 0.5 * (1 - 1e-3) * (1 + math.cos(math.pi * (step - warm) / max(1, num_steps - warm)))
    )


class NetTraining:
    """A net in training on questions, with all that a checkpoint needs.

    Args:
        hard: [p, most] rows of questions for each image, for pairs "hard" (`pseudo_pairs.hard_pairs`).
    """

    def __init__(
        self,
        net: MatchNet,
        questions: QuestionSet,
        store: RegionStore,
        recipe: TrainingConfig,
        seed: int,
        hard: np.ndarray | None = None,
    ) -> None:
        self.net, self.questions, self.store = net, questions, store
        self.config, self.seed, self.hard_pairs = recipe, seed, hard
        decayed = [p for p in net.parameters() if p.ndim > 1]
        others = [p for p in net.parameters() if p.ndim <= 1]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
            lr=recipe.learning_rate,
        )
        weighted = recipe.pseudo_pairs == "weighted"
        self.pair_weights = PairWeights(len(questions.answers), device=net.device) if weighted else None
        self._epoch, self._order, self._partners = -1, np.zeros(0, int), np.zeros(0, int)

    def make_batch(self, step: int) -> TrainingBatch:
        """What step `number` learns from; to be asked for in the order of the steps, by one thread."""
        rows, partners = self._sample_rows(step)
        return TrainingBatch(rows, partners, self._load_regions(rows))

    def step(self, step: int, batch: TrainingBatch | None = None) -> float:
        """One step; returns its loss. `batch` is what `self.make_batch(number)` said."""
        return float(self.train_step(step, batch or self.make_batch(step)))

    def train_step(self, step: int, batch: TrainingBatch) -> Tensor:
        """One step; returns its loss as it lies on the device."""
        rng = make_generator(self.seed, "step", str(step))
        pairs = self._make_pairs(batch, rng)
        loss, of_weights = self._compute_loss(batch.rows, pairs, batch.regions, rng)
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate_at(step, self.config.num_steps, self.config.learning_rate)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimiser.step()
        if self.pair_weights is not None and of_weights is not None:
            self.pair_weights.step(of_weights)
        return loss.detach()

    def _sample_rows(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The answerable questions of a step, each once an epoch, and the partners of all of them in this epoch."""
        count, batch = len(self.questions.answers), self.config.batch_size
        per_epoch = max(1, count // batch)
        epoch, place = divmod(number, per_epoch)
        if epoch != self._epoch:
            rng = make_generator(self.seed, "epoch", str(epoch))
            self._epoch, self._order = epoch, rng.permutation(count)
            if self.config.pseudo_pairs != "none":
                # Weighted pairs stay the same, so that their weights can learn.
                again = rng if self.config.pseudo_pairs == "random" else make_generator(self.seed, "pairs")
                self._partners = sample_random_pairs(self.questions.image_indices, again)
        return self._order[place * batch : (place + 1) * batch], self._partners

    def _make_pairs(self, batch: TrainingBatch, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Pseudo pairs of a step: rows whose image, and rows whose question they have."""
        rows = batch.rows
        if self.config.pseudo_pairs == "none":
            return rows[:0], rows[:0]
        if self.config.pseudo_pairs == "hard":
            assert self.hard_pairs is not None
            lot = rng.integers(0, self.hard_pairs.shape[1], len(rows))
            return rows, self.hard_pairs[self.questions.image_indices[rows], lot]
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
        """The model's loss, and that of the pairs' weights where they have one."""
        tokens = self._to_device(trim_padding(self.questions.tokens[np.concatenate([rows, pairs[1]])]))
        if regions is not None and len(pairs[0]):
            same = pairs[0] is rows
            more = regions if same else self._load_regions(pairs[0])
            assert more is not None
            regions = (torch.cat([regions[0], more[0]]), torch.cat([regions[1], more[1]]))
        targets = make_targets(self.net, self.questions.answers[rows], len(pairs[0]))
        output = self.net(tokens, *(regions or ()))
        losses = compute_item_losses(self.net, output, targets, len(rows))
        own, pseudo = losses[: len(rows)], losses[len(rows) :]
        loss, of_weights = own.mean(), None
        if self.pair_weights is not None:
            weighted, of_weights = self.pair_weights.weight_losses(pairs[0], pseudo)
            loss = loss + weighted
        elif len(pseudo):
            loss = loss + pseudo.mean()
        if self.config.pointing_weight and output.attention is not None and regions is not None:
            seats = self.questions.target_boxes
            assert seats is not None
            where = self._to_device(seats[rows].astype(np.float32))
            loss = loss + self.config.pointing_weight * compute_pointing_loss(
                output.attention[: len(rows)], regions[1][: len(rows)], where
            )
        if self.config.mixup_beta and regions is not None:
            features, boxes, mixed = apply_roi_mixup(
                *regions, targets, sample_keep_rate(self.config.mixup_beta, rng), rng
            )
            again = compute_item_losses(self.net, self.net(tokens, features, boxes), mixed, len(rows))
            loss = loss + again[: len(rows)].mean() + (again[len(rows) :].mean() if len(pseudo) else 0)
        return loss, of_weights

    def state_dict(self) -> dict[str, Any]:
        weights = self.pair_weights.state_dict() if self.pair_weights else {}
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict(), "weights": weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.pair_weights:
            self.pair_weights.load_state_dict(state["weights"])


class Trainable(Protocol):
    """What `train` runs: `NetTraining`, or anything else of that form. `batch` says what a step learns from."""

    net: Any  # nn.Module
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
    """Train to the end, from the checkpoint at `path` if there is one; the net then has the weights of the best try.

    Args:
        score: higher is better; must not look at what is reported.
    """
    recipe, began = run.config, time.process_time()
    tries = {
        recipe.num_steps - recipe.num_steps * i // (4 * recipe.num_evaluations)
        for i in range(recipe.num_evaluations)
    }  # in the last quarter
    done, spent, scores, best, recent = 0, 0.0, {}, {}, []
    if path.exists():
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if saved["recipe"] == repr(recipe):
            run.load_state_dict(saved)
            done, spent, scores, best = (saved[key] for key in ("done", "spent", "scores", "best"))
    for number, batch in prefetch(run.make_batch, range(done, recipe.num_steps)):
        recent.append(run.step(number, batch))
        if number + 1 in tries:
            scores[number + 1] = score(run.net.eval())
            run.net.train()
            if scores[number + 1] >= max(scores.values()):
                best = copy.deepcopy(run.net.state_dict())
        if (number + 1) % recipe.checkpoint_interval == 0 or number + 1 == recipe.num_steps:
            if not np.isfinite(recent).all():
                raise UserError(f"{path.stem}: the loss is no number by step {number + 1}; lower the rate")
            cpu = spent + time.process_time() - began
            tried = "".join(f", {value:.4f} at {at}" for at, value in scores.items())
            log(
                f"step {number + 1} of {recipe.num_steps}, loss {np.mean(recent):.3f}, {cpu:.0f} CPU-s{tried}"
            )
            recent.clear()
            rest = {"recipe": repr(recipe), "done": number + 1, "spent": cpu, "scores": scores, "best": best}
            with atomic_write(path) as file:
                torch.save({**run.state_dict(), **rest}, file)
    if best:
        run.net.load_state_dict(best)
    run.net.eval()
    return TrainingResult(scores, spent + time.process_time() - began)
