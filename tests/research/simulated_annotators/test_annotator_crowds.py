import numpy as np

from research.simulated_annotators.annotator_crowds import make_crowd
from research.simulated_annotators.annotators import choose_verdict


def test_a_crowd_has_eight_annotators_of_whom_three_are_unreliable():
    people = make_crowd(1)
    assert len({person.name for person in people}) == 8
    assert all(0.02 <= p.miss_rate <= 0.12 and 0.005 <= p.false_alarm_rate <= 0.04 for p in people[:5])
    careless, biased, malicious = people[5:]
    rng = np.random.default_rng(0)
    assert {choose_verdict(seen, malicious, rng)[0] for seen in ["", "missing object"] * 50} == {"invalid"}
    assert {choose_verdict("missing object", biased, rng)[0] for _ in range(50)} == {"invalid"}
    assert min(careless.miss_rate, careless.false_alarm_rate) >= 0.4


def test_a_crowd_depends_on_its_seed():
    assert make_crowd(1) == make_crowd(1) != make_crowd(2)
    assert make_crowd(1)[5:] == make_crowd(2)[5:]
