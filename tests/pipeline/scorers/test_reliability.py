import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scorers import best_effective_reliability, choose_threshold, effective_reliability

ITEMS = st.lists(
    st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.75]), st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0])),
    min_size=1,
    max_size=40,
)


def columns(items):
    return (np.array(column) for column in zip(*items, strict=True))


@given(ITEMS, st.sampled_from([1, 10, 100]))
def test_lemma_1_a_model_that_abstains_exactly_where_it_is_wrong_earns_its_accuracy(items, cost):
    _, accuracy = columns(items)
    knows = (accuracy > 0).astype(float)
    assert effective_reliability(knows, accuracy, cost=cost, threshold=0.5) == pytest.approx(accuracy.mean())
    assert best_effective_reliability(accuracy) == pytest.approx(accuracy.mean())


@given(ITEMS, st.sampled_from([0, 1, 10]))
def test_the_chosen_threshold_is_the_lowest_of_the_best(items, cost):
    confidence, accuracy = columns(items)
    options = [*np.unique(confidence), np.inf]
    earned = [effective_reliability(confidence, accuracy, cost=cost, threshold=t) for t in options]
    best = max(earned)
    assert (
        choose_threshold(confidence, accuracy, cost=cost)
        == options[[e >= best - 1e-12 for e in earned].index(True)]
    )


def test_phi_is_worked_out_by_hand():
    # answered: 1, 0.3, and one all wrong at cost 10: (1 + 0.3 - 10 + 0) / 4.
    found = effective_reliability([0.9, 0.8, 0.7, 0.1], [1, 0.3, 0, 1], cost=10, threshold=0.5)
    assert found == pytest.approx(-8.7 / 4)


def test_when_every_answer_is_wrong_it_is_best_to_answer_nothing():
    assert choose_threshold([0.9, 0.1], [0, 0], cost=1) == np.inf
