"""Pseudo unanswerable questions for training: random pairs, hard pairs, RoI Mixup, and the weights of
Resample.

Source: RGQA, section 4.2 (random pairs) and appendix B (hard pairs). A pseudo pair consists of the image of
row i and the question of row pairs[i]. Its target is 0 for every answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def sample_random_pairs(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each row a random row with another image, [n]. RGQA calls this method RP.

    Args:
        images: Index of the image of each row, [n].
        rng: Random generator.

    Raises:
        ValueError: All rows have the same image.

    >>> sample_random_pairs(np.array([7, 7, 9]), np.random.default_rng(0))[:2].tolist()
    [2, 2]
    """
    images = np.asarray(images)
    if len(images) and (images == images[0]).all():
        raise ValueError("all rows are of one image; pairs need at least two images")
    order = np.argsort(images, kind="stable")
    ordered = images[order]
    first = np.searchsorted(ordered, images)
    own = np.searchsorted(ordered, images, side="right") - first
    # With rows sorted by image, a random position among the rows before and after those of the same image.
    position = rng.integers(0, len(images) - own)
    return order[np.where(position < first, position, position + own)]


def find_hard_pairs(
    image_vectors: np.ndarray,
    question_vectors: np.ndarray,
    images: np.ndarray,
    max_questions: int,
    batch: int = 256,
) -> np.ndarray:
    """Return for each image the most similar questions about other images, most similar first.

    RGQA calls these pairs RP hard.

    Args:
        image_vectors: Embeddings of the images [p, d].
        question_vectors: Embeddings of the questions [n, d].
        images: Index of the image of each question, [n].
        max_questions: Number of questions for each image.
        batch: Number of images that are compared at the same time.

    Returns:
        Rows of the questions, int64 [p, max_questions].

    Raises:
        ValueError: There are too few questions about other images.
    """
    if len(images) - np.bincount(images).max() < max_questions:
        raise ValueError(f"too few questions about other images; wanted {max_questions} for each image")
    best = np.empty((len(image_vectors), max_questions), np.int64)
    by_image = np.argsort(images, kind="stable")
    ends = np.searchsorted(images[by_image], np.arange(len(image_vectors) + 1))
    for start in range(0, len(image_vectors), batch):
        scores = image_vectors[start : start + batch] @ question_vectors.T
        for row in range(len(scores)):
            image = start + row
            scores[row, by_image[ends[image] : ends[image + 1]]] = -np.inf
        top = np.argpartition(-scores, max_questions - 1, axis=1)[:, :max_questions]
        order = np.argsort(-np.take_along_axis(scores, top, 1), axis=1, kind="stable")
        best[start : start + batch] = np.take_along_axis(top, order, 1)
    return best


def apply_roi_mixup(
    features: torch.Tensor,
    boxes: torch.Tensor,
    targets: torch.Tensor,
    keep_rate: float,
    rng: np.random.Generator,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Apply RoI Mixup: keep some random regions of each row, and replace the others by regions of another
    row.

    The replacements are the regions at the same positions.

    Args:
        features: Features [b, M, d], b at least 2.
        boxes: Boxes [b, M, 4].
        targets: Targets [b, ...].
        keep_rate: lambda in [0, 1] (`sample_keep_rate`): floor(lambda * M) regions are kept, and targets are
            multiplied by lambda.
        rng: Random generator.

    Returns:
        The mixed features, boxes and targets.
    """
    import torch

    rows, regions = features.shape[:2]
    # With an offset of 1 to b - 1, a row is never its own partner.
    partner = (np.arange(rows) + rng.integers(1, rows, rows)) % rows
    rank = rng.permuted(np.tile(np.arange(regions), (rows, 1)), axis=1)
    kept = torch.from_numpy(rank < int(keep_rate * regions)).to(features.device)[..., None]
    other = torch.from_numpy(partner).to(features.device)
    return (
        torch.where(kept, features, features[other]),
        torch.where(kept, boxes, boxes[other]),
        keep_rate * targets,
    )


def sample_keep_rate(b: float, rng: np.random.Generator) -> float:
    """Sample lambda ~ Beta(1, b)."""
    return float(rng.beta(1.0, b))


class PairWeights:
    """Weights of a fixed set of pseudo pairs for Resample (Li & Vasconcelos 2020).

    The weights are w = softplus(theta). A pair is sampled with a probability proportional to sqrt(w), and its
    loss has the factor sqrt(w / mean of w). The model is trained to minimize the weighted loss, and theta to
    maximize it (by SGD with momentum), so that hard pairs get larger weights.

    The two gradients are computed separately. In RGQA's BUTD branch they are added in one backward pass.
    There they cancel, so that neither the model nor the weights learn from the pairs.
    """

    def __init__(
        self, pairs: int, rate: float = 100.0, momentum: float = 0.9, device: torch.device | str = "cpu"
    ) -> None:
        import torch

        self.theta = torch.zeros(pairs, requires_grad=True, device=device)
        self._optimizer = torch.optim.SGD([self.theta], lr=rate, momentum=momentum)

    def weights(self) -> torch.Tensor:
        """Return the weights [pairs], which are above 0."""
        import torch

        return torch.nn.functional.softplus(self.theta)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Sample `count` pairs with probability proportional to sqrt(w).

        Return their indices in the set, [count].
        """
        cumulative = np.cumsum(np.sqrt(self.weights().detach().cpu().numpy().astype(np.float64)))
        return np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")

    def weight_losses(self, rows: np.ndarray, losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of the model and the loss of the weights.

        Args:
            rows: Indices of the pairs in the set, [b].
            losses: Unweighted losses of the pairs, [b].

        Returns:
            The loss of the model, which has a gradient only for the model, and the loss of the weights, which
            has a gradient only for the weights (for `step`).
        """
        import torch

        weights = self.weights()
        factor = torch.sqrt(weights[torch.from_numpy(rows).to(weights.device)] / weights.mean())
        return (factor.detach() * losses).mean(), -(factor * losses.detach()).mean()

    def step(self, loss: torch.Tensor) -> None:
        """Update the weights by their loss."""
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    def state_dict(self) -> dict[str, object]:
        return {"theta": self.theta.detach().clone(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, object]) -> None:
        import torch

        with torch.no_grad():
            self.theta.copy_(state["theta"])  # pyright: ignore[reportArgumentType]
        self._optimizer.load_state_dict(state["optimizer"])  # pyright: ignore[reportArgumentType]
