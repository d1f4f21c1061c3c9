"""Attribution maps: how much each cell of an image contributed to an answer.

A map is an array [rows, columns] of weights, from the top left of the image. The weights are non-negative,
and their sum is 1. All attribution methods return maps, and `rgqa score --resource attention=FILE` reads
maps. Boxes are (left, top, right, bottom) as fractions of the image size.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pipeline.core.json_files import write_json

AttributionMap = np.ndarray
# Default rows and columns of maps made from boxes. The map is square, because GQA's file format is shorter
# for square maps.
MAP_SHAPE = (24, 24)
# Minimum length of the sides of a box, as a fraction of the image, so that every box has an area.
MIN_BOX_SIDE = 1e-6
# Number of significant digits of a weight in a file.
SIGNIFICANT_DIGITS = 6
# Number of values of a region in GQA's format. A list of five regions would be read as a map of five by five
# cells.
GQA_REGION_LENGTH = 5


def normalize_map(weights: np.ndarray) -> AttributionMap:
    """Divide weights [rows, columns] by their sum. If all weights are 0, the map is uniform.

    Raises:
        ValueError: The weights do not have two dimensions, or a weight is negative or not finite.

    >>> normalize_map(np.array([[1.0, 3.0]])).tolist(), normalize_map(np.zeros((1, 2))).tolist()
    ([[0.25, 0.75]], [[0.5, 0.5]])
    """
    weights = np.asarray(weights, float)
    if weights.ndim != 2 or not weights.size or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"weights of shape {weights.shape}; wanted finite, non-negative weights [rows, columns]"
        )
    total = weights.sum()
    return weights / total if total > 0 else np.full(weights.shape, 1 / weights.size)


def rasterize_boxes(
    weights: np.ndarray, boxes: np.ndarray, shape: tuple[int, int] = MAP_SHAPE
) -> AttributionMap:
    """Spread each weight evenly over its box, and return the sum of the weights in each cell, normalized to
    sum 1.

    Args:
        weights: Weight of each box, [m].
        boxes: Boxes [m, 4] as fractions of the image size.
        shape: Number of rows and columns of the map.

    Raises:
        ValueError: The numbers of weights and boxes differ, a right or lower edge comes before the left or
            upper edge (the box may have width and height instead of edges), or a box is outside of the image.

    >>> rasterize_boxes(np.array([1.0, 1.0]), np.array([[0, 0, 0.5, 1], [0, 0, 1, 1]]), (1, 2)).tolist()
    [[0.75, 0.25]]
    """
    weights, boxes = np.asarray(weights, float), np.asarray(boxes, float).reshape(-1, 4)
    if len(weights) != len(boxes):
        raise ValueError(f"{len(weights)} weights and {len(boxes)} boxes")
    if wrong := np.flatnonzero((boxes[:, 2:] < boxes[:, :2]).any(1)).tolist():
        raise ValueError(
            f"box {boxes[wrong[0]].tolist()} has its right or lower edge first; wanted left, top, right, bottom, not width and height"
        )
    if len(boxes) and (boxes.max() > 1 + 1e-3 or boxes.min() < -1e-3):
        raise ValueError(
            f"boxes from {boxes.min():g} to {boxes.max():g}; wanted fractions of the image, 0 to 1"
        )
    low = np.clip(boxes[:, :2], 0, 1 - MIN_BOX_SIDE)
    high = np.maximum(np.clip(boxes[:, 2:], 0, 1), low + MIN_BOX_SIDE)
    rows, columns = shape
    across = _overlap_rates(low[:, 0], high[:, 0], columns)
    down = _overlap_rates(low[:, 1], high[:, 1], rows)
    return normalize_map(np.einsum("m,mr,mc->rc", weights, down, across))


def _overlap_rates(low: np.ndarray, high: np.ndarray, count: int) -> np.ndarray:
    """Return the proportion of each interval (low, high) that is in each of `count` equal bins of [0, 1], [m,
    count].
    """
    edges = np.linspace(0, 1, count + 1)
    inside = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    return np.clip(inside, 0, None) / (high - low)[:, None]


def find_peaks(grid: AttributionMap) -> np.ndarray:
    """Return the centers (x, y) of the cells with the highest weight, [n, 2], as fractions of the image size.

    Weights that differ only by a rounding error count as equal.

    >>> find_peaks(np.array([[0.1, 0.5], [0.4, 0.0]])).tolist()
    [[0.75, 0.25]]
    """
    rows, columns = np.nonzero(grid >= grid.max() * (1 - 1e-9))
    return np.stack([(columns + 0.5) / grid.shape[1], (rows + 0.5) / grid.shape[0]], 1)


def to_gqa_attention(grid: AttributionMap) -> list[list[float]]:
    """Convert a map to the format of GQA's scorer.

    A square map becomes a list of columns, [x][y]. Any other map becomes a list of regions [x0, y0, x1, y1,
    weight], one for each cell with a weight above 0. The scorer would read a list of five regions as a map of
    five by five cells. Therefore, if there are five regions, the first region is split into two.

    >>> to_gqa_attention(np.array([[0.1, 0.2], [0.3, 0.4]])), to_gqa_attention(np.array([[0.0, 1.0]]))
    ([[0.1, 0.3], [0.2, 0.4]], [[0.5, 0.0, 1.0, 1.0, 1.0]])
    """
    rows, columns = grid.shape
    if rows == columns:
        return [[_round_significant(weight) for weight in column] for column in grid.T]
    regions = [
        [column / columns, row / rows, (column + 1) / columns, (row + 1) / rows, grid[row, column]]
        for row, column in zip(*np.nonzero(grid), strict=True)
    ]
    if len(regions) == GQA_REGION_LENGTH:
        x0, y0, x1, y1, weight = regions[0]
        middle = (x0 + x1) / 2
        regions[:1] = [[x0, y0, middle, y1, weight / 2], [middle, y0, x1, y1, weight / 2]]
    return [[*map(_round_significant, region)] for region in regions]


def _round_significant(number: float) -> float:
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}")


def write_gqa_attention(path: Path, grids: Mapping[str, AttributionMap]) -> None:
    """Write maps (question id -> map) to a file for `rgqa score --resource attention=FILE`."""
    write_json(path, {name: to_gqa_attention(grid) for name, grid in grids.items()})
