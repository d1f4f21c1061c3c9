import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scoring import dual_accuracy
from pipeline.scoring.dual_accuracy import choose_dual_threshold, score_pairs
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import ROWS, answered

AQ_UQ = np.array([True, False])


@pytest.mark.parametrize(
    ("aq", "right", "uq", "own", "at_half"),
    [
        (0.9, 1, 0.1, 1, 1),
        (0.9, 0, 0.1, 0, 0),
        (0.9, 1, 0.8, 1, 0),
        (0.3, 1, 0.1, 1, 0),
        (0.4, 1, 0.4, 0, 0),
        (0.5, 1, 0.4, 1, 1),
        (0.9, 1, 0.5, 1, 0),
    ],
)
def test_a_pair_counts_when_the_aq_is_answered_right_and_the_uq_rejected(aq, right, uq, own, at_half):
    assert dual_accuracy([aq, uq], [right, 0], AQ_UQ, ["p", "p"]) == own
    assert dual_accuracy([aq, uq], [right, 0], AQ_UQ, ["p", "p"], threshold=0.5) == at_half


def test_uqs_that_share_an_aq_are_a_pair_each_and_one_without_is_none():
    found = dual_accuracy(
        [0.5, 0.1, 0.9, 0.0], [1, 0, 0, 0], [True, False, False, False], ["p", "p", "p", "alone"]
    )
    assert found == 0.5
    assert math.isnan(dual_accuracy([0.5], [1], [True], ["p"]))


PAIRS = st.lists(
    st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.booleans(), st.booleans(), st.sampled_from("pqr")),
    min_size=2,
    max_size=20,
)


@given(PAIRS)
def test_the_chosen_threshold_is_the_lowest_of_the_best(rows):
    confidence, correct, answerable, pair = (np.array(column) for column in zip(*rows, strict=True))
    chosen = choose_dual_threshold(confidence, correct, answerable, pair)
    options = np.unique(confidence)
    values = [dual_accuracy(confidence, correct, answerable, pair, threshold=t) for t in options]
    if math.isnan(values[0]):
        assert math.isnan(chosen)
    else:
        assert chosen == options[[value >= max(values) - 1e-12 for value in values].index(True)]


def times(count, rows=ROWS):
    """The same pairs so many times."""
    return [
        (f"{i}.{n}", image, answer, f"{pair}.{n}" if pair else "", *rest)
        for n in range(count)
        for i, image, answer, pair, *rest in rows
    ]


def test_one_threshold_for_all_pairs_is_chosen_on_validation_and_applied_to_test():
    # validation is p1: a1 0.9 right, u1 0.2: the lowest threshold that splits them is 0.9. At 0.9 no test pair is handled.
    found = score_pairs(answered(times(10), split="test"), ScoringOptions(threshold=0.4))
    assert (found["pairs"], found["threshold"], found["threshold_source"]) == (20, 0.9, "validation")
    # Each pair by itself: a2 is wrong, a3 right and above u3.
    assert found["dual_accuracy"] == 0.5 and found["dual_accuracy_at_threshold"] == 0.0


@pytest.mark.parametrize(("threshold", "source", "right"), [(0.5, "default", 2 / 3), (0.85, "option", 1 / 3)])
def test_without_validation_items_the_fixed_threshold_is_used(threshold, source, right):
    # At 0.5: p1 and p3 are handled right, p2's answer is wrong. At 0.85 p1 alone is.
    rows = [(*row[:4], "", *row[5:]) for row in times(7)]
    found = score_pairs(answered(rows), ScoringOptions(threshold=threshold))
    assert (found["threshold"], found["threshold_source"]) == (threshold, source)
    assert found["dual_accuracy_at_threshold"] == pytest.approx(right)


def test_fewer_than_twenty_pairs_have_no_score():
    rows = [(*row[:4], "", *row[5:]) for row in times(10)]
    pairs = [row for row in rows if not row[0].startswith("a1")]  # 30 UQs, of which 20 have their AQ
    assert score_pairs(answered(pairs), ScoringOptions())["dual_accuracy"] == 0.5
    found = score_pairs(answered([row for row in pairs if row[0] != "a3.0"]), ScoringOptions())
    assert (
        found.keys() == {"pairs", "unavailable"} and found["pairs"] == 19 and "(19)" in found["unavailable"]
    )


def test_a_benchmark_that_names_no_pairs_has_no_dual_accuracy():
    rows = [(*row[:3], "", *row[4:]) for row in ROWS]
    assert "name the pairs of AQs and UQs" in score_pairs(answered(rows), ScoringOptions())["unavailable"]


def test_without_a_pair_dual_accuracy_is_undefined_and_numpy_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(dual_accuracy([0.9, 0.1], [1, 0], [True, False], ["a", "b"]))
