"""Which cells of a map speak for an answer: Grad-CAM (Selvaraju et al., ICCV 2017), and cell by cell, HiResCAM (Draelos and Carin,
2020)."""

from __future__ import annotations

import numpy as np

from pipeline.inference.attribution.attribution_maps import AttributionMap, normalize_map


def compute_grad_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """ReLU(sum over c of (mean over cells of slope_c) * A_c), equations 1 and 2, as shares of its sum. Where nothing speaks for the
    answer (all is 0 after ReLU) each cell counts as much.

    Args:
        maps: A, [C, rows, columns]. slope: the gradient of the answer's logit by A, of the same shape.

    Raises:
        ValueError: the shapes differ.

    >>> grad_cam(np.array([[[1.0, 3.0]], [[0.0, 9.0]]]), np.array([[[2.0, 2.0]], [[0.0, 0.0]]])).tolist()
    [[0.25, 0.75]]
    """
    _check_shapes(maps, gradient)
    return normalize_map(np.maximum(np.einsum("c,crk->rk", gradient.mean((1, 2)), maps), 0))


def compute_hires_cam(maps: np.ndarray, gradient: np.ndarray) -> AttributionMap:
    """ReLU(sum over c of slope_c * A_c), each cell by its own slope: where a model reads single cells, as a region head does, the
    mean of Grad-CAM lends a cell the slope of others. Else as `grad_cam`.

    >>> hires_cam(np.array([[[1.0, 3.0]], [[0.0, 9.0]]]), np.array([[[3.0, 1.0]], [[0.0, 0.0]]])).tolist()
    [[0.5, 0.5]]
    """
    _check_shapes(maps, gradient)
    return normalize_map(np.maximum((gradient * maps).sum(0), 0))


def _check_shapes(maps: np.ndarray, slope: np.ndarray) -> None:
    if maps.ndim != 3 or maps.shape != slope.shape:
        raise ValueError(f"maps {maps.shape} and slopes {slope.shape}; wanted the same [C, rows, columns]")
