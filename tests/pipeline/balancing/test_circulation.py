import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.balancing.circulation import cheapest_circulation


def flow(*arcs):
    """Each arc: tail, head, capacity, cost."""
    (found,) = cheapest_circulation(tuple(np.array(column) for column in zip(*arcs, strict=True)))
    return found.tolist()


def test_the_largest_circulation_of_a_small_graph():
    # 0 -> 1 -> 2 -> 0 is a cycle, 0 <-> 1 another that shares 0 -> 1; 2 -> 3 leads nowhere. With every arc used once
    # at most and 0 -> 1 there once, only one of the cycles fits: the longer one has more arcs.
    assert flow((0, 1, 1, -1), (1, 2, 1, -1), (2, 0, 1, -1), (1, 0, 1, -1), (2, 3, 1, -1)) == [1, 1, 1, 0, 0]
    # With 0 -> 1 twice, both do.
    assert flow((0, 1, 2, -1), (1, 2, 1, -1), (2, 0, 1, -1), (1, 0, 1, -1), (2, 3, 1, -1)) == [2, 1, 1, 1, 0]


def test_of_two_ways_round_the_cheaper_one_is_taken():
    assert flow((0, 1, 1, -5), (1, 0, 1, 2), (1, 0, 1, 1)) == [1, 0, 1]
    assert flow((0, 1, 1, -1), (1, 0, 1, 2)) == [0, 0]  # what costs more than it earns stays empty


def test_no_arcs_carry_no_flow():
    assert [found.tolist() for found in cheapest_circulation((np.zeros(0, int),) * 4)] == [[]]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_what_flows_in_flows_out(seed):
    rng = np.random.default_rng(seed)
    tail, head, capacity, cost = (
        rng.integers(low, high, size=25) for low, high in ((0, 6), (0, 6), (0, 4), (-9, 6))
    )
    (found,) = cheapest_circulation((tail, head, capacity, cost))
    assert (np.bincount(tail, found, 6) == np.bincount(head, found, 6)).all()
    assert ((found >= 0) & (found <= capacity)).all()
