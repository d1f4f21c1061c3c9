"""Solve minimum-cost circulation problems exactly.

In a circulation, the flow into each node equals the flow out of the node. Stage `rank` and stage `balance`
describe the balance of a benchmark as a circulation through images and texts: an image supplies its own
questions (arcs image -> text) and receives questions of other images (arcs text -> image).

Small networks are solved by HiGHS. The constraint matrix is totally unimodular, so the simplex method ends at
an integer flow if the capacities are integers. Large networks are solved by the cost scaling algorithm of
OR-Tools. The two solvers may return different flows of the same cost. HiGHS is kept for small networks,
because then their results stay the same and `rgqa audit` needs no OR-Tools for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csc_matrix

# Up to this number of arcs HiGHS takes seconds. The networks of the sample have at most 67,000.
MAX_SIMPLEX_ARCS = 100_000
# Cost scaling needs integers, so costs are rounded to millionths.
COST_SCALE = 10**6


def solve_min_cost_circulation(*arcs: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]) -> list[np.ndarray]:
    """Return the flow of each arc in a circulation of minimum cost.

    Args:
        arcs: Groups of (tail, head, capacity, cost). Each entry is an array with one value per arc, or one
            value for the whole group. An arc goes from its tail to its head; tails and heads are node
            numbers, from 0. The capacity is an integer, the largest flow of an arc. The cost is per unit of
            flow and may be negative. If several flows have the minimum cost, the result depends on the order
            of the arcs. Callers therefore sort the arcs by content.

    Returns:
        One array of integer flows (int64) for each group, with one flow per arc.

    Raises:
        RuntimeError: A solver failed.

    Example:
        >>> solve_min_cost_circulation((np.array([0, 1]), np.array([1, 0]), 2, np.array([-1.0, 0.5])))
        [array([2, 2])]
    """
    groups = [np.broadcast_arrays(*group) for group in arcs]
    network = [np.concatenate(column) for column in zip(*groups, strict=True)]
    count = len(network[0])
    flow = (
        (_solve_simplex if count <= MAX_SIMPLEX_ARCS else _solve_cost_scaling)(*network)
        if count
        else np.zeros(0, np.int64)
    )
    return np.split(flow, np.cumsum([len(group[0]) for group in groups])[:-1])


def _solve_simplex(tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, cost: np.ndarray) -> np.ndarray:
    shape = int(max(tail.max(), head.max())) + 1, len(tail)
    signs, arc_indices = np.repeat([1.0, -1.0], len(tail)), np.tile(np.arange(len(tail)), 2)
    balance = csc_matrix((signs, (np.concatenate([head, tail]), arc_indices)), shape)
    bounds = np.column_stack([np.zeros(len(tail)), capacity])
    solved = linprog(cost, A_eq=balance, b_eq=np.zeros(shape[0]), bounds=bounds, method="highs-ds")
    if not solved.success:
        raise RuntimeError(f"HiGHS found no circulation, although the zero flow is one: {solved.message}")
    flow = np.rint(solved.x).astype(np.int64)
    if np.abs(flow - solved.x).max() > 1e-6:
        raise RuntimeError("HiGHS returned a flow that is not an integer")
    return flow


def _solve_cost_scaling(
    tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    # OR-Tools belongs to the extra `build`.
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    # The type is Any, because the stubs of OR-Tools reject NumPy arrays. Supplies are 0 by default.
    network: Any = SimpleMinCostFlow()
    scaled_cost = np.rint(cost * COST_SCALE).astype(np.int64)
    ends = tail.astype(np.int32, copy=False), head.astype(np.int32, copy=False)
    integer_capacity = capacity.astype(np.int64, copy=False)
    arcs = network.add_arcs_with_capacity_and_unit_cost(*ends, integer_capacity, scaled_cost)
    status = network.solve()
    if status != network.OPTIMAL:
        raise RuntimeError(f"OR-Tools found no circulation, although the zero flow is one: {status}")
    return network.flows(arcs)
