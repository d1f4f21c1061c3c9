"""The cheapest circulation in a network: what flows into a node flows out of it.

Both balances of this project are circulations through pictures and texts: a picture gives questions (arcs picture ->
text) and is asked others (arcs text -> picture). Solved as a linear program by HiGHS: the constraint matrix of a
network is totally unimodular, so with whole capacities the simplex method ends at a whole flow, which is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csc_matrix


def cheapest_circulation(*arcs: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]) -> list[np.ndarray]:
    """Flow of each arc, whole numbers: int64, an array for each group of arcs.

    Args:
        arcs: groups of (tail, head, capacity, cost), arrays or one value for all of a group. Tail and head are nodes,
            numbered from 0, that each arc leads from and to; the capacity is its largest flow, whole; the cost is that
            of one unit, negative for a flow that earns something. Among flows of the same cost the order of the arcs
            decides, so callers pass them in an order that follows from their content.
    """
    groups = [np.broadcast_arrays(*group) for group in arcs]
    tail, head, capacity, cost = (np.concatenate(column) for column in zip(*groups, strict=True))
    if not len(tail):
        return [np.zeros(0, np.int64) for _ in groups]
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
    return np.split(flow, np.cumsum([len(group[0]) for group in groups])[:-1])
