"""The cheapest circulation in a network: what flows into a node flows out of it.

Both balances of this project are circulations through pictures and texts: a picture gives questions (arcs picture ->
text) and is asked others (arcs text -> picture). Solved as a linear program by HiGHS: the constraint matrix of a
network is totally unimodular, so with whole capacities the simplex method ends at a whole flow, which is exact.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix


def cheapest_circulation(
    tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    """Flow of each arc, whole numbers: int64 [arcs].

    Args:
        tail, head: nodes, numbered from 0, that each arc leads from and to. capacity: its largest flow, whole.
        cost: of one unit; a flow that earns something has a negative one. Among flows of the same cost the order of
            the arcs decides, so callers pass them in an order that follows from their content.
    """
    arcs = len(tail)
    if arcs == 0:
        return np.zeros(0, np.int64)
    nodes = int(max(tail.max(), head.max())) + 1
    balance = csc_matrix(
        (np.repeat([1.0, -1.0], arcs), (np.concatenate([head, tail]), np.tile(np.arange(arcs), 2))),
        (nodes, arcs),
    )
    bounds = np.column_stack([np.zeros(arcs), capacity])
    solved = linprog(cost, A_eq=balance, b_eq=np.zeros(nodes), bounds=bounds, method="highs-ds")
    if not solved.success:
        raise RuntimeError(f"HiGHS found no circulation, though no flow at all is one: {solved.message}")
    flow = np.rint(solved.x).astype(np.int64)
    if np.abs(flow - solved.x).max() > 1e-6:
        raise RuntimeError("HiGHS returned a flow that is not whole")
    return flow
