"""Compute Grad-CAM (Selvaraju et al., ICCV 2017) and HiResCAM (Draelos and Carin, 2020) from feature maps and
gradients.
"""

from __future__ import annotations

import numpy as np

from pipeline.inference.attribution.attribution_maps import AttributionMap, normalize_map


def compute_grad_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """Return the Grad-CAM map: ReLU(sum over c of (mean over cells of gradient_c) * A_c), normalized to sum
    1.

    Source: equations 1 and 2 of Selvaraju et al.; c is the channel.

    If all cells are 0 after ReLU, the map is uniform.

    Args:
        maps: Feature maps A, [channels, rows, columns].
        gradient: Gradient of the answer's logit with respect to A, [channels, rows, columns].

    Raises:
        ValueError: The shapes differ.

    >>> compute_grad_cam(np.array([[[1.0, 3.0]], [[0.0, 9.0]]]), np.array([[[2.0, 2.0]], [[0.0, 0.0]]])).tolist()
    [[0.25, 0.75]]
    """
    _check_shapes(maps, gradient)
    return normalize_map(np.maximum(np.einsum("c,crk->rk", gradient.mean((1, 2)), maps), 0))


def compute_hires_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """Return the HiResCAM map: ReLU(sum over channels c of gradient_c * A_c), normalized to sum 1.

    Unlike Grad-CAM, HiResCAM uses the gradient of each cell instead of the mean over cells. It suits models
    that read single cells, such as a region head: there, the mean would give a cell the gradient of other
    cells. The arguments and errors are the same as in `compute_grad_cam`.

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
