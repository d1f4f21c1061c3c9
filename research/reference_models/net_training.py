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

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import UserError
from pipeline.core.randomness import generator
from research.reference_models.match_net import MatchNet
from research.reference_models.net_losses import item_losses, pointing_loss, target_of
from research.reference_models.prefetch import ahead
from research.reference_models.pseudo_pairs import PairWeights, kept_share, random_pairs, roi_mixup
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import cut


class QuestionSet(NamedTuple):
    """n answerable questions: tokens [n, L]; pictures [n], their places in the store; answers [n], the right one's number;
    seats [n, glances, 4], the box that each glance is to rest on, not a number where that is open."""

    tokens: np.ndarray
    pictures: np.ndarray
    answers: np.ndarray
    seats: np.ndarray | None = None


@dataclass(frozen=True)
class Recipe:
    """What a net is trained on beside answerable questions.

    Attributes:
        pairs: pseudo unanswerable questions: none, of a random other picture, of the list `hard`, or weighted (Resample).
        mixup: b of RoI Mixup's Beta(1, b); 0: none.
        steps, batch: batches, and answerable questions in each. rate: the greatest learning rate.
        pointing: weight of the loss of glances that rest elsewhere than the questions' annotations say; 0: they are not used.
        tries: checkpoints that are compared. every: steps from one checkpoint on the disk to the next.
    """

    steps: int
    pairs: Literal["none", "random", "hard", "weighted"] = "none"
    mixup: float = 0.0
    batch: int = 256
    rate: float = 3e-3
    pointing: float = 0.0
    tries: int = 3
    every: int = 500


class Batch(NamedTuple):
    """What is known of a step before its time: rows [b] of its answerable questions, the row [n] that each question's picture
    is paired with, and the regions of the rows' pictures (none for a blind net)."""

    rows: np.ndarray
    partners: np.ndarray
    regions: tuple[Tensor, Tensor] | None


class Trained(NamedTuple):
    """What `train` says of a run: the score of each checkpoint that was tried, by its step, and the CPU seconds it took."""

    scores: dict[int, float]
    cpu_seconds: float


def rate_at(step: int, steps: int, highest: float) -> float:
    """One cycle: up from a 25th in the first twentieth of the steps, then down a cosine to nearly nothing."""
    warm = max(1, steps // 20)
    if step < warm:
        return highest * (0.04 + 0.96 * step / warm)
    return highest * (
        1e-3 + 0.5 * (1 - 1e-3) * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
    )


class NetTraining:
    """A net in training on questions, with all that a checkpoint needs.

    Args:
        hard: [p, most] rows of questions for each picture, for pairs "hard" (`pseudo_pairs.hard_pairs`).
    """

    def __init__(
        self,
        net: MatchNet,
        questions: QuestionSet,
        store: RegionStore,
        recipe: Recipe,
        seed: int,
        hard: np.ndarray | None = None,
    ) -> None:
        self.net, self.questions, self.store = net, questions, store
        self.recipe, self.seed, self.hard = recipe, seed, hard
        decayed = [p for p in net.parameters() if p.ndim > 1]
        others = [p for p in net.parameters() if p.ndim <= 1]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
            lr=recipe.rate,
        )
        weighted = recipe.pairs == "weighted"
        self.weights = PairWeights(len(questions.answers), device=net.device) if weighted else None
        self._epoch, self._order, self._partners = -1, np.zeros(0, int), np.zeros(0, int)

    def batch(self, number: int) -> Batch:
        """What step `number` learns from; to be asked for in the order of the steps, by one thread."""
        rows, partners = self._rows(number)
        return Batch(rows, partners, self._regions(rows))

    def step(self, number: int, batch: Batch | None = None) -> float:
        """One step; returns its loss. `batch` is what `self.batch(number)` said."""
        return float(self.learn(number, batch or self.batch(number)))

    def learn(self, number: int, batch: Batch) -> Tensor:
        """One step; returns its loss as it lies on the device."""
        rng = generator(self.seed, "step", str(number))
        pairs = self._pairs(batch, rng)
        loss, of_weights = self._loss(batch.rows, pairs, batch.regions, rng)
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(number, self.recipe.steps, self.recipe.rate)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimiser.step()
        if self.weights is not None and of_weights is not None:
            self.weights.step(of_weights)
        return loss.detach()

    def _rows(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The answerable questions of a step, each once an epoch, and the partners of all of them in this epoch."""
        count, batch = len(self.questions.answers), self.recipe.batch
        per_epoch = max(1, count // batch)
        epoch, place = divmod(number, per_epoch)
        if epoch != self._epoch:
            rng = generator(self.seed, "epoch", str(epoch))
            self._epoch, self._order = epoch, rng.permutation(count)
            if self.recipe.pairs != "none":
                # Weighted pairs stay the same, so that their weights can learn.
                again = rng if self.recipe.pairs == "random" else generator(self.seed, "pairs")
                self._partners = random_pairs(self.questions.pictures, again)
        return self._order[place * batch : (place + 1) * batch], self._partners

    def _pairs(self, batch: Batch, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Pseudo pairs of a step: rows whose picture, and rows whose question they have."""
        rows = batch.rows
        if self.recipe.pairs == "none":
            return rows[:0], rows[:0]
        if self.recipe.pairs == "hard":
            assert self.hard is not None
            lot = rng.integers(0, self.hard.shape[1], len(rows))
            return rows, self.hard[self.questions.pictures[rows], lot]
        if self.weights is not None:
            rows = self.weights.draw(len(rows), rng)
        return rows, batch.partners[rows]

    def _regions(self, rows: np.ndarray) -> tuple[Tensor, Tensor] | None:
        if self.net.shape.blind:
            return None
        features, boxes = self.store.take(self.questions.pictures[rows])
        return self._placed(features), self._placed(boxes)

    def _placed(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.net.device)

    def _loss(
        self,
        rows: np.ndarray,
        pairs: tuple[np.ndarray, np.ndarray],
        regions: tuple[Tensor, Tensor] | None,
        rng: np.random.Generator,
    ) -> tuple[Tensor, Tensor | None]:
        """The model's loss, and that of the pairs' weights where they have one."""
        tokens = self._placed(cut(self.questions.tokens[np.concatenate([rows, pairs[1]])]))
        if regions is not None and len(pairs[0]):
            same = pairs[0] is rows
            more = regions if same else self._regions(pairs[0])
            assert more is not None
            regions = (torch.cat([regions[0], more[0]]), torch.cat([regions[1], more[1]]))
        targets = target_of(self.net, self.questions.answers[rows], len(pairs[0]))
        output = self.net(tokens, *(regions or ()))
        losses = item_losses(self.net, output, targets, len(rows))
        own, pseudo = losses[: len(rows)], losses[len(rows) :]
        loss, of_weights = own.mean(), None
        if self.weights is not None:
            weighted, of_weights = self.weights.losses(pairs[0], pseudo)
            loss = loss + weighted
        elif len(pseudo):
            loss = loss + pseudo.mean()
        if self.recipe.pointing and output.attention is not None and regions is not None:
            seats = self.questions.seats
            assert seats is not None
            where = self._placed(seats[rows].astype(np.float32))
            loss = loss + self.recipe.pointing * pointing_loss(
                output.attention[: len(rows)], regions[1][: len(rows)], where
            )
        if self.recipe.mixup and regions is not None:
            features, boxes, mixed = roi_mixup(*regions, targets, kept_share(self.recipe.mixup, rng), rng)
            again = item_losses(self.net, self.net(tokens, features, boxes), mixed, len(rows))
            loss = loss + again[: len(rows)].mean() + (again[len(rows) :].mean() if len(pseudo) else 0)
        return loss, of_weights

    def state(self) -> dict[str, Any]:
        weights = self.weights.state() if self.weights else {}
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict(), "weights": weights}

    def restore(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.weights:
            self.weights.restore(state["weights"])


class InTraining(Protocol):
    """What `train` runs: `NetTraining`, or anything else of that form. `batch` says what a step learns from."""

    net: Any  # nn.Module
    recipe: Recipe

    def batch(self, number: int) -> Any: ...
    def step(self, number: int, batch: Any) -> float: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...


def train(
    run: InTraining,
    path: Path,
    score: Callable[[Any], float],
    say: Callable[[str], None] = lambda text: None,
) -> Trained:
    """Train to the end, from the checkpoint at `path` if there is one; the net then has the weights of the best try.

    Args:
        score: higher is better; must not look at what is reported.
    """
    recipe, began = run.recipe, time.process_time()
    tries = {
        recipe.steps - recipe.steps * i // (4 * recipe.tries) for i in range(recipe.tries)
    }  # in the last quarter
    done, spent, scores, best, recent = 0, 0.0, {}, {}, []
    if path.exists():
        saved = torch.load(path, weights_only=True, map_location="cpu")
        if saved["recipe"] == repr(recipe):
            run.restore(saved)
            done, spent, scores, best = (saved[key] for key in ("done", "spent", "scores", "best"))
    for number, batch in ahead(run.batch, range(done, recipe.steps)):
        recent.append(run.step(number, batch))
        if number + 1 in tries:
            scores[number + 1] = score(run.net.eval())
            run.net.train()
            if scores[number + 1] >= max(scores.values()):
                best = copy.deepcopy(run.net.state_dict())
        if (number + 1) % recipe.every == 0 or number + 1 == recipe.steps:
            if not np.isfinite(recent).all():
                raise UserError(f"{path.stem}: the loss is no number by step {number + 1}; lower the rate")
            cpu = spent + time.process_time() - began
            tried = "".join(f", {value:.4f} at {at}" for at, value in scores.items())
            say(f"step {number + 1} of {recipe.steps}, loss {np.mean(recent):.3f}, {cpu:.0f} CPU-s{tried}")
            recent.clear()
            rest = {"recipe": repr(recipe), "done": number + 1, "spent": cpu, "scores": scores, "best": best}
            with replacing(path) as file:
                torch.save({**run.state(), **rest}, file)
    if best:
        run.net.load_state_dict(best)
    run.net.eval()
    return Trained(scores, spent + time.process_time() - began)
