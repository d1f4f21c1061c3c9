"""Minimum cost circulation and random streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core import min_cost_circulation
from pipeline.core.min_cost_circulation import MAX_SIMPLEX_ARCS, solve_min_cost_circulation
from pipeline.core.randomness import make_generator

# Minimum cost circulation


@pytest.fixture(params=[0, MAX_SIMPLEX_ARCS], ids=["cost scaling", "simplex"], scope="module")
def solver(request):
    """Use either solver for any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(min_cost_circulation, "MAX_SIMPLEX_ARCS", request.param)
        yield


def flow(*arcs):
    """Solve a network of arcs (tail, head, capacity, cost)."""
    (found,) = solve_min_cost_circulation(tuple(np.array(column) for column in zip(*arcs, strict=True)))
    return found.tolist()


def test_the_largest_circulation_of_a_small_graph(solver):
    # The cycles 0 -> 1 -> 2 -> 0 and 0 <-> 1 share the arc 0 -> 1, and 2 -> 3 is in no cycle. If 0 -> 1 has capacity 1, only one cycle
    # fits, and the longer one has more arcs.
    assert flow((0, 1, 1, -1), (1, 2, 1, -1), (2, 0, 1, -1), (1, 0, 1, -1), (2, 3, 1, -1)) == [1, 1, 1, 0, 0]
    # With capacity 2, both fit.
    assert flow((0, 1, 2, -1), (1, 2, 1, -1), (2, 0, 1, -1), (1, 0, 1, -1), (2, 3, 1, -1)) == [2, 1, 1, 1, 0]


def test_the_cheaper_of_two_cycles_is_used(solver):
    assert flow((0, 1, 1, -5), (1, 0, 1, 2), (1, 0, 1, 1)) == [1, 0, 1]
    # A cycle with positive cost has no flow.
    assert flow((0, 1, 1, -1), (1, 0, 1, 2)) == [0, 0]


def test_no_arcs_carry_no_flow():
    assert [found.tolist() for found in solve_min_cost_circulation((np.zeros(0, int),) * 4)] == [[]]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_inflow_equals_outflow(solver, seed):
    rng = np.random.default_rng(seed)
    tail, head, capacity, cost = (
        rng.integers(low, high, size=25) for low, high in ((0, 6), (0, 6), (0, 4), (-9, 6))
    )
    (found,) = solve_min_cost_circulation((tail, head, capacity, cost))
    assert (np.bincount(tail, found, 6) == np.bincount(head, found, 6)).all()
    assert ((found >= 0) & (found <= capacity)).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_both_solvers_find_the_same_cost(seed):
    rng = np.random.default_rng(seed)
    ends, capacity, cost = rng.integers(0, 8, (2, 40)), rng.integers(0, 4, 40), rng.random(40) - 0.6
    flows = []
    for size in (0, MAX_SIMPLEX_ARCS):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(min_cost_circulation, "MAX_SIMPLEX_ARCS", size)
            flows += solve_min_cost_circulation((*ends, capacity, cost))
    # Costs of 120 units are rounded to half a millionth.
    assert flows[0] @ cost == pytest.approx(flows[1] @ cost, abs=1e-4)


# Randomness


def test_random_numbers_depend_on_seed_and_key_but_not_on_the_order():
    first = {key: make_generator(1, "rank", key).integers(1 << 30) for key in "abc"}
    second = {key: make_generator(1, "rank", key).integers(1 << 30) for key in "cba"}
    assert first == second
    assert len({*first.values(), *(make_generator(2, "rank", key).integers(1 << 30) for key in "abc")}) == 6
