"""The cheapest circulation in a network: what flows into a node flows out of it.

Both balances of this project are circulations through images and texts: an image gives questions (arcs image ->
text) and is asked others (arcs text -> image). Both solvers are exact, whole capacities given: OR-Tools' cost scaling, and
for small networks HiGHS, as the constraint matrix of a network is totally unimodular, so that the simplex method ends at
a whole flow. Of flows of the same cost they may find different ones: small data sets keep the one they always had, and
`rgqa audit` needs no OR-Tools for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csc_matrix

MAX_SIMPLEX_ARCS = (
    100_000  # arcs, up to which HiGHS takes seconds; the draws and balances of the sample have 67,000 at most
)
COST_SCALE = 10**6  # cost scaling counts costs in whole millionths


def solve_min_cost_circulation(*arcs: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]) -> list[np.ndarray]:
    """Flow of each arc, whole numbers: int64, an array for each group of arcs.

    Args:
        arcs: groups of (tail, head, capacity, cost), arrays or one value for all of a group. Tail and head are nodes,
            numbered from 0, that each arc leads from and to; the capacity is its largest flow, whole; the cost is that
            of one unit, negative for a flow that earns something. Among flows of the same cost the order of the arcs
            decides, so callers pass them in an order that follows from their content.
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
    signs, places = np.repeat([1.0, -1.0], len(tail)), np.tile(np.arange(len(tail)), 2)
    balance = csc_matrix((signs, (np.concatenate([head, tail]), places)), shape)
    bounds = np.column_stack([np.zeros(len(tail)), capacity])
    solved = linprog(cost, A_eq=balance, b_eq=np.zeros(shape[0]), bounds=bounds, method="highs-ds")
    if not solved.success:
        raise RuntimeError(f"HiGHS found no circulation, though no flow at all is one: {solved.message}")
    flow = np.rint(solved.x).astype(np.int64)
    if np.abs(flow - solved.x).max() > 1e-6:
        raise RuntimeError("HiGHS returned a flow that is not whole")
    return flow


def _solve_cost_scaling(
    tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow  # of the extra `build`

    # Any: the stubs ask for other arrays than numpy gives. Supplies are 0 unless said.
    network: Any = SimpleMinCostFlow()
    in_parts = np.rint(cost * COST_SCALE).astype(np.int64)
    ends = tail.astype(np.int32, copy=False), head.astype(np.int32, copy=False)
    whole = capacity.astype(np.int64, copy=False)
    arcs = network.add_arcs_with_capacity_and_unit_cost(*ends, whole, in_parts)
    status = network.solve()
    if status != network.OPTIMAL:
        raise RuntimeError(f"OR-Tools found no circulation, though no flow at all is one: {status}")
    return network.flows(arcs)
