"""Attention rollout (Abnar and Zuidema, ACL 2020): how much of each token arrives at each token after all layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.inference.attribution.attribution_maps import AttributionMap, normalize_map


def compute_rollout(layers: Sequence[np.ndarray]) -> np.ndarray:
    """[T, T], row t: what of each token is in token t at the end; rows sum to 1.

    A layer's attention is averaged over its heads; a token also keeps itself (the residual connection), so the identity is added
    and rows are made to sum to 1 again: A' = (A + I) / 2. The product of all is A'_L ... A'_1 (section 3, with 0.5 A + 0.5 I).

    Args:
        layers: attention [H, T, T] of each layer, that next to the input first; rows sum to 1.

    Raises:
        ValueError: no layers, or shapes that differ.

    >>> rollout([np.array([[[0.0, 1.0], [0.0, 1.0]]])]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    shapes = sorted({layer.shape[1:] for layer in layers})
    if len(shapes) != 1 or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(f"attention of shapes {shapes}; wanted [heads, T, T] of every layer")
    total = np.eye(shapes[0][0])
    for layer in layers:
        mixed = np.asarray(layer, float).mean(0) + np.eye(len(total))
        total = mixed / mixed.sum(1, keepdims=True) @ total
    return total


def place_on_patches(
    weights: np.ndarray, patch_positions: np.ndarray, shape: tuple[int, int]
) -> AttributionMap:
    """Weights [P] of patches where they lie: `places` [P, 2] (row, column) of each. ViLT takes them in an order that it draws by
    lot at each forward, and where there are more than it takes, not all: those it did not see count nothing.

    Raises:
        ValueError: as many places as weights are wanted, each once and inside.

    >>> on_patches(np.array([0.2, 0.6]), np.array([[0, 1], [0, 0]]), (1, 3)).round(2).tolist()
    [[0.75, 0.25, 0.0]]
    """
    patch_positions = np.asarray(patch_positions)
    inside = ((patch_positions >= 0) & (patch_positions < shape)).all()
    if (
        patch_positions.shape != (len(weights), 2)
        or not inside
        or len(np.unique(patch_positions, axis=0)) < len(patch_positions)
    ):
        raise ValueError(
            f"{len(weights)} patches at places of shape {patch_positions.shape} do not fit a grid of {shape}"
        )
    grid = np.zeros(shape)
    grid[patch_positions[:, 0], patch_positions[:, 1]] = weights
    return normalize_map(grid)
