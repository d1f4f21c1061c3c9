"""Compute Grad-CAM (Selvaraju et al., ICCV 2017) and HiResCAM (Draelos and Carin, 2020), which weight the gradient cell by cell."""

from __future__ import annotations

import numpy as np

from pipeline.inference.attribution.attribution_maps import AttributionMap, normalize_map


def compute_grad_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """Return ReLU(sum over c of (mean over cells of gradient_c) * A_c), equations 1 and 2, normalized to sum 1.

    If all cells are 0 after ReLU, the map is uniform.

    Args:
        maps: Feature maps A, [C, rows, columns].
        gradient: Gradient of the answer's logit with respect to A, [C, rows, columns].

    Raises:
        ValueError: The shapes differ.

    >>> compute_grad_cam(np.array([[[1.0, 3.0]], [[0.0, 9.0]]]), np.array([[[2.0, 2.0]], [[0.0, 0.0]]])).tolist()
    [[0.25, 0.75]]
    """
    _check_shapes(maps, gradient)
    return normalize_map(np.maximum(np.einsum("c,crk->rk", gradient.mean((1, 2)), maps), 0))


def compute_hires_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """Return ReLU(sum over c of gradient_c * A_c), with the gradient of each cell, normalized to sum 1.

    For a model that reads single cells, as a region head does, the mean in Grad-CAM gives a cell the gradient of other cells.
    Arguments and errors are those of `compute_grad_cam`.

    >>> compute_hires_cam(np.array([[[1.0, 3.0]], [[0.0, 9.0]]]), np.array([[[3.0, 1.0]], [[0.0, 0.0]]])).tolist()
    [[0.5, 0.5]]
    """
    _check_shapes(maps, gradient)
    return normalize_map(np.maximum((gradient * maps).sum(0), 0))


def _check_shapes(maps: np.ndarray, gradient: np.ndarray) -> None:
    if maps.ndim != 3 or maps.shape != gradient.shape:
        raise ValueError(
            f"maps {maps.shape} and gradient {gradient.shape}; wanted the same [C, rows, columns]"
        )
