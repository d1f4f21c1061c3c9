"""Compute attention rollout (Abnar and Zuidema, ACL 2020): how much each input token contributes to each
output token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.inference.attribution.attribution_maps import AttributionMap, normalize_map


def compute_rollout(layers: Sequence[np.ndarray]) -> np.ndarray:
    """Return the contributions [T, T] of the input tokens (columns) to the output tokens (rows).

    Rows sum to 1.

    The attention A of a layer is averaged over its heads. The residual connection is taken into account by
    adding the identity and normalizing rows: A' = 0.5 A + 0.5 I. The result is the product A'_L ... A'_1 over
    the L layers (section 3).

    Args:
        layers: Attention [heads, T, T] of each layer, from input to output, for T tokens. Rows sum to 1.

    Raises:
        ValueError: There are no layers, or their shapes differ.

    >>> compute_rollout([np.array([[[0.0, 1.0], [0.0, 1.0]]])]).tolist()
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
    """Arrange the weights of patches in a map, normalized to sum 1.

    ViLT shuffles the patches of an image in each forward pass. If there are too many patches, ViLT uses only
    a random sample of them. Patches that are not in the sample get weight 0.

    Args:
        weights: Weight of each patch, [P].
        patch_positions: Row and column of each patch, [P, 2].
        shape: Number of rows and columns of the map.

    Raises:
        ValueError: The numbers of weights and positions differ, or a position is outside of the map or occurs
            twice.

    >>> place_on_patches(np.array([0.2, 0.6]), np.array([[0, 1], [0, 0]]), (1, 3)).round(2).tolist()
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
            f"{len(weights)} patches at positions of shape {patch_positions.shape} do not fit a map of shape {shape}"
        )
    grid = np.zeros(shape)
    grid[patch_positions[:, 0], patch_positions[:, 1]] = weights
    return normalize_map(grid)
