"""Unanswerable questions that nobody wrote, to train with: a question of another image (RGQA sect. 4.2), the ones of
them that CLIP finds most alike (app. B), mixtures of two images' regions, and the weights of `Resample`.

A pair is (image of row i, question of row pairs[i]); its target is zero for every answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def sample_random_pairs(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """RP: for each row a row of another image [n], each equally likely. `images` [n] are the rows' images.

    Raises:
        ValueError: all rows are of one image.

    >>> random_pairs(np.array([7, 7, 9]), np.random.default_rng(0))[:2].tolist()
    [2, 2]
    """
    images = np.asarray(images)
    if len(images) and (images == images[0]).all():
        raise ValueError("pairs of different images need two images at least")
    order = np.argsort(images, kind="stable")
    ordered = images[order]
    first = np.searchsorted(ordered, images)
    own = np.searchsorted(ordered, images, side="right") - first
    # A lot among the rows that are not of the own image: those before it, and those after it.
    lot = rng.integers(0, len(images) - own)
    return order[np.where(lot < first, lot, lot + own)]


def find_hard_pairs(
    image_vectors: np.ndarray,
    question_vectors: np.ndarray,
    images: np.ndarray,
    max_questions: int,
    batch: int = 256,
) -> np.ndarray:
    """RP hard: for each image the `most` questions of other images that are most similar to it, best first.

    Args:
        image_vectors: [p, d]. question_vectors: [n, d]. images: [n], the place of each question's own image.

    Returns:
        int64 [p, most], rows of the questions.
    """
    if len(images) - np.bincount(images).max() < max_questions:
        raise ValueError(f"{max_questions} questions of other images for each image: there are not so many")
    best = np.empty((len(image_vectors), max_questions), np.int64)
    by_image = np.argsort(images, kind="stable")
    ends = np.searchsorted(images[by_image], np.arange(len(image_vectors) + 1))
    for start in range(0, len(image_vectors), batch):
        scores = image_vectors[start : start + batch] @ question_vectors.T
        for row in range(len(scores)):
            place = start + row
            scores[row, by_image[ends[place] : ends[place + 1]]] = -np.inf
        found = np.argpartition(-scores, max_questions - 1, axis=1)[:, :max_questions]
        order = np.argsort(-np.take_along_axis(scores, found, 1), axis=1, kind="stable")
        best[start : start + batch] = np.take_along_axis(found, order, 1)
    return best


def apply_roi_mixup(
    features: torch.Tensor,
    boxes: torch.Tensor,
    targets: torch.Tensor,
    keep_rate: float,
    rng: np.random.Generator,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """RoI Mixup: keep floor(share * M) regions of each row, at random places, and take the rest, with their boxes, from
    the same places of another row; targets times `share`.

    Args:
        features: [b, M, d], b at least 2. boxes: [b, M, 4]. targets: [b, ...]. share: lambda, drawn by `kept_share`.
    """
    import torch

    rows, regions = features.shape[:2]
    partner = (np.arange(rows) + rng.integers(1, rows, rows)) % rows  # never the row itself
    rank = rng.permuted(np.tile(np.arange(regions), (rows, 1)), axis=1)
    kept = torch.from_numpy(rank < int(keep_rate * regions)).to(features.device)[..., None]
    other = torch.from_numpy(partner).to(features.device)
    return (
        torch.where(kept, features, features[other]),
        torch.where(kept, boxes, boxes[other]),
        keep_rate * targets,
    )


def sample_keep_rate(b: float, rng: np.random.Generator) -> float:
    """lambda ~ Beta(1, b)."""
    return float(rng.beta(1.0, b))


class PairWeights:
    """Weights of a fixed set of pseudo pairs, for `Resample` (Li & Vasconcelos 2020): w = softplus(theta), drawn with
    probability ~ sqrt(w), and each loss counts sqrt(w / mean of w). The model descends the weighted loss, theta ascends it
    by SGD with momentum, so pairs that the model finds hard grow heavy.

    The two gradients are taken apart: added up in one backward pass, as in RGQA's BUTD branch, they cancel, and neither the
    model nor the weights learn from the pairs.
    """

    def __init__(
        self, pairs: int, rate: float = 100.0, momentum: float = 0.9, device: torch.device | str = "cpu"
    ) -> None:
        import torch

        self.theta = torch.zeros(pairs, requires_grad=True, device=device)
        self._optimiser = torch.optim.SGD([self.theta], lr=rate, momentum=momentum)

    def weights(self) -> torch.Tensor:
        """w [pairs], above 0."""
        import torch

        return torch.nn.functional.softplus(self.theta)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Rows [count] of the set, with probability ~ sqrt(w)."""
        chance = np.cumsum(np.sqrt(self.weights().detach().cpu().numpy().astype(np.float64)))
        return np.searchsorted(chance, rng.random(count) * chance[-1], side="right")

    def weight_losses(self, rows: np.ndarray, losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The model's loss and the weights' loss of the pairs at `rows` [b], whose losses are `losses` [b]. Each has a
        gradient for its own side alone; step the weights by `step`."""
        import torch

        weights = self.weights()
        factor = torch.sqrt(weights[torch.from_numpy(rows).to(weights.device)] / weights.mean())
        return (factor.detach() * losses).mean(), -(factor * losses.detach()).mean()

    def step(self, loss: torch.Tensor) -> None:
        """One step of the weights on their loss."""
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()

    def state_dict(self) -> dict[str, object]:
        """What a checkpoint keeps."""
        return {"theta": self.theta.detach().clone(), "optimiser": self._optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, object]) -> None:
        import torch

        with torch.no_grad():
            self.theta.copy_(state["theta"])  # pyright: ignore[reportArgumentType]
        self._optimiser.load_state_dict(state["optimiser"])  # pyright: ignore[reportArgumentType]
