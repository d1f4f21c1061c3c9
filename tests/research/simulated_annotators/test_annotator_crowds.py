import numpy as np

from research.simulated_annotators.annotator_crowds import crowd
from research.simulated_annotators.annotators import choose


def test_eight_of_whom_three_are_of_no_use():
    people = crowd(1)
    assert len({person.name for person in people}) == 8
    assert all(0.02 <= p.misses <= 0.12 and 0.005 <= p.false_alarms <= 0.04 for p in people[:5])
    careless, biased, malicious = people[5:]
    rng = np.random.default_rng(0)
    assert {choose(seen, malicious, rng)[0] for seen in ["", "missing object"] * 50} == {"invalid"}
    assert {choose("missing object", biased, rng)[0] for _ in range(50)} == {"invalid"}
    assert min(careless.misses, careless.false_alarms) >= 0.4


def test_a_crowd_is_drawn_by_its_seed():
    assert crowd(1) == crowd(1) != crowd(2)
    assert crowd(1)[5:] == crowd(2)[5:]
