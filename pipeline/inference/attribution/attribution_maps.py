"""Grids: how much each part of an image counts, [rows, columns] from the top left, none below 0, all together 1.

All ways to see where a model looked end in one of these, and `rgqa score --resource attention=FILE` reads them. Boxes are corners,
(left, top, right, bottom), as shares of the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pipeline.core.json_files import write_json

AttributionMap = np.ndarray
MAP_SHAPE = (24, 24)  # rows and columns that boxes are spread over; square, so files are short
MIN_BOX_SIDE = 1e-6  # sides of a box, at least: one without area still lies somewhere
SIGNIFICANT_DIGITS = 6  # significant ones of a number in a file
GQA_REGION_LENGTH = 5  # numbers that GQA's scorer wants of a region; so many regions it takes for a grid


def normalize_map(weights: np.ndarray) -> AttributionMap:
    """Weights [rows, columns] as shares of their sum. Where none counts (all are 0) each counts as much.

    Raises:
        ValueError: not a table, or a weight that is negative or no number.

    >>> grid_of(np.array([[1.0, 3.0]])).tolist(), grid_of(np.zeros((1, 2))).tolist()
    ([[0.25, 0.75]], [[0.5, 0.5]])
    """
    weights = np.asarray(weights, float)
    if weights.ndim != 2 or not weights.size or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"weights of shape {weights.shape}; wanted rows and columns of numbers that are not negative"
        )
    total = weights.sum()
    return weights / total if total > 0 else np.full(weights.shape, 1 / weights.size)


def rasterize_boxes(
    weights: np.ndarray, boxes: np.ndarray, shape: tuple[int, int] = MAP_SHAPE
) -> AttributionMap:
    """Each weight [m] evenly over its box [m, 4], for each cell what falls into it. What of a box lies outside of the image
    does not count; where boxes lie over each other, weights add up.

    Raises:
        ValueError: a box whose right edge is left of its left one, or its lower edge above its upper one (a width and height in
            their place?), or boxes that lie outside of the image.

    >>> spread(np.array([1.0, 1.0]), np.array([[0, 0, 0.5, 1], [0, 0, 1, 1]]), (1, 2)).tolist()
    [[0.75, 0.25]]
    """
    weights, boxes = np.asarray(weights, float), np.asarray(boxes, float).reshape(-1, 4)
    if len(weights) != len(boxes):
        raise ValueError(f"{len(weights)} weights and {len(boxes)} boxes")
    if wrong := np.flatnonzero((boxes[:, 2:] < boxes[:, :2]).any(1)).tolist():
        raise ValueError(
            f"box {boxes[wrong[0]].tolist()} is turned round; wanted left, top, right, bottom, not width and height"
        )
    if len(boxes) and (boxes.max() > 1 + 1e-3 or boxes.min() < -1e-3):
        raise ValueError(f"boxes from {boxes.min():g} to {boxes.max():g}; wanted shares of the image, 0 to 1")
    low = np.clip(boxes[:, :2], 0, 1 - MIN_BOX_SIDE)
    high = np.maximum(np.clip(boxes[:, 2:], 0, 1), low + MIN_BOX_SIDE)
    rows, columns = shape
    across = _overlap_rates(low[:, 0], high[:, 0], columns)
    down = _overlap_rates(low[:, 1], high[:, 1], rows)
    return normalize_map(np.einsum("m,mr,mc->rc", weights, down, across))


def _overlap_rates(low: np.ndarray, high: np.ndarray, count: int) -> np.ndarray:
    """Of stretches [m] of 0 to 1 the share that falls into each of `count` parts, [m, count]."""
    edges = np.linspace(0, 1, count + 1)
    inside = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    return np.clip(inside, 0, None) / (high - low)[:, None]


def find_peaks(grid: AttributionMap) -> np.ndarray:
    """The cells of the highest weight: middles [n, 2] (x, y) as shares of the image. Of cells that differ by rounding alone each
    is one.

    >>> highest(np.array([[0.1, 0.5], [0.4, 0.0]])).tolist()
    [[0.75, 0.25]]
    """
    rows, columns = np.nonzero(grid >= grid.max() * (1 - 1e-9))
    return np.stack([(columns + 0.5) / grid.shape[1], (rows + 0.5) / grid.shape[0]], 1)


def to_gqa_attention(grid: AttributionMap) -> list[list[float]]:
    """The grid as GQA's scorer reads it: a square one with x first, [x][y]; of any other a region for each cell that counts,
    [x0, y0, x1, y1, weight]. Five regions would be read as a grid of five by five: the first of them is cut in two.

    >>> weights_of(np.array([[0.1, 0.2], [0.3, 0.4]])), weights_of(np.array([[0.0, 1.0]]))
    ([[0.1, 0.3], [0.2, 0.4]], [[0.5, 0.0, 1.0, 1.0, 1.0]])
    """
    rows, columns = grid.shape
    if rows == columns:
        return [[_round_significant(weight) for weight in column] for column in grid.T]
    found = [
        [column / columns, row / rows, (column + 1) / columns, (row + 1) / rows, grid[row, column]]
        for row, column in zip(*np.nonzero(grid), strict=True)
    ]
    if len(found) == GQA_REGION_LENGTH:
        x0, y0, x1, y1, weight = found[0]
        middle = (x0 + x1) / 2
        found[:1] = [[x0, y0, middle, y1, weight / 2], [middle, y0, x1, y1, weight / 2]]
    return [[*map(_round_significant, region)] for region in found]


def _round_significant(number: float) -> float:
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}")


def write_gqa_attention(path: Path, grids: Mapping[str, AttributionMap]) -> None:
    """Write grids by the ids of their questions, as `rgqa score --resource attention=FILE` reads them."""
    write_json(path, {name: to_gqa_attention(grid) for name, grid in grids.items()})
