import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scoring import (
    best_effective_reliability,
    choose_threshold,
    coverage_at_risk,
    effective_reliability,
    oracle_confidence,
    risk_coverage_auc,
    risk_coverage_curve,
    threshold_at_risk,
    threshold_transfer,
)
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.selective_prediction import score_selective_prediction
from tests.scoring.conftest import ROWS, answered, vqa_answered

RISKS = [0.0, 0.01, 0.05, 0.1, 0.2, 0.5]
ITEMS = st.lists(
    st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.75]), st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0])),
    min_size=1,
    max_size=40,
)


def columns(items):
    return (np.array(column) for column in zip(*items, strict=True))


@given(ITEMS)
def test_the_curve_is_coverage_and_risk_counted_threshold_by_threshold(items):
    confidence, accuracy = columns(items)
    coverage, risk, _ = risk_coverage_curve(confidence, accuracy)
    expected = [
        ((confidence >= t).mean(), 1 - accuracy[confidence >= t].mean()) for t in np.unique(confidence)[::-1]
    ]
    assert np.stack([coverage, risk], axis=1) == pytest.approx(np.array(expected))
    best = [max([c for c, r in expected if r <= limit + 1e-12], default=0.0) for limit in RISKS]
    assert coverage_at_risk(confidence, accuracy, RISKS) == pytest.approx(best)


@given(ITEMS)
def test_scores_keep_under_permutation_doubling_and_rising_maps(items):
    confidence, accuracy = columns(items)
    order = np.random.default_rng(0).permutation(len(items))

    def scores(c, a):
        return [
            *coverage_at_risk(c, a, RISKS),
            effective_reliability(c, a, cost=5, threshold=choose_threshold(c, a, cost=5)),
            risk_coverage_auc(c, a),
        ]

    expected = scores(confidence, accuracy)
    assert scores(confidence[order], accuracy[order]) == pytest.approx(expected, nan_ok=True)
    assert scores(confidence * 4 + 1, accuracy) == pytest.approx(expected, nan_ok=True)
    # The area goes from one item to the next, so it alone depends on how many there are.
    assert scores(np.tile(confidence, 2), np.tile(accuracy, 2))[:-1] == pytest.approx(expected[:-1])


@given(ITEMS)
def test_no_confidence_beats_the_best_possible(items):
    confidence, accuracy = columns(items)
    best = oracle_confidence(accuracy)
    assert not risk_coverage_auc(best, accuracy) > risk_coverage_auc(confidence, accuracy) + 1e-12
    assert (coverage_at_risk(best, accuracy, RISKS) >= coverage_at_risk(confidence, accuracy, RISKS)).all()


def test_the_area_starts_at_the_first_item():
    # Coverage 1/3, 2/3, 1 and risk 0, 0.5, 1/3: (0.5/2 + (0.5+1/3)/2) / 3.
    area = risk_coverage_auc([0.9, 0.8, 0.7], [1, 0, 1])
    assert area == pytest.approx((0.25 + (0.5 + 1 / 3) / 2) / 3)


@given(ITEMS.filter(lambda items: 2 <= len(items) <= 6))
def test_the_area_is_the_mean_over_all_orders_of_ties(items):
    confidence, accuracy = columns(items)
    orders = [list(order) for order in itertools.permutations(range(len(items)))]
    falling = [order for order in orders if (np.diff(confidence[order]) <= 0).all()]
    areas = [risk_coverage_auc(np.arange(len(items), 0, -1), accuracy[order]) for order in falling]
    assert risk_coverage_auc(confidence, accuracy) == pytest.approx(np.mean(areas))


def test_a_threshold_goes_from_validation_to_test():
    # validation: at risk 0 the two right ones above 0.7 may be answered. test: 0.9 right, 0.75 wrong are answered: risk 0.5.
    found = threshold_transfer([0.9, 0.7, 0.2], [1, 1, 0], [0.9, 0.75, 0.3, 0.1], [1, 0, 1, 0], 0.0)
    assert found == pytest.approx(
        {"threshold": 0.7, "coverage": 0.5, "risk": 0.5, "delta_risk": 0.5, "delta_coverage": 0.25}
    )
    assert threshold_at_risk([0.9], [0], 0.1) == np.inf


@pytest.mark.parametrize(
    ("confidence", "accuracy", "auc", "at_10_percent"),
    [
        ([0.5, 0.5], [1, 0], 0.25, 0.0),  # risk 1/2 at coverage 1/2 and at 1
        ([0.9, 0.1], [1, 1], 0.0, 1.0),
        ([0.9, 0.1], [0, 0], 0.5, 0.0),  # risk 1 from coverage 1/2 to 1
        ([0.3], [1], np.nan, 1.0),
        ([], [], np.nan, np.nan),
    ],
    ids=["all ties", "all right", "all wrong", "one item", "none"],
)
def test_degenerate_inputs(confidence, accuracy, auc, at_10_percent):
    assert risk_coverage_auc(confidence, accuracy) == pytest.approx(auc, nan_ok=True)
    assert coverage_at_risk(confidence, accuracy, 0.1) == pytest.approx(at_10_percent, nan_ok=True)


def test_accuracies_outside_0_and_1_are_refused():
    with pytest.raises(ValueError, match="accuracy has 1 value outside"):
        risk_coverage_curve([0.5, 0.4], [1, 30])


def test_thresholds_are_chosen_on_validation_items_and_applied_to_test_items():
    found = score_selective_prediction(answered(split="test"), ScoringOptions(costs=(10,)))
    # Of a2, u2, a3, u3 a3 is right; UQs answered are wrong.
    assert found["accuracy"] == pytest.approx(1 / 4)
    # a2 comes first and is wrong: nothing without risk; the best possible order has a3 first.
    assert found["coverage_at_risk"]["0.01"] == 0 and found["best_coverage_at_risk"]["0.01"] == 1 / 4
    # validation: a1 (0.9, right), u1 (0.2): the threshold is 0.9, above all test items: nothing is answered there.
    (at_ten,) = found["effective_reliability"].values()
    assert at_ten["threshold"] == 0.9 and at_ten["phi"] == 0.0
    # Answering all four test items at cost 10, one of them right: (1 - 30) / 4.
    assert at_ten["phi_answering_all"] == pytest.approx(-29 / 4)
    assert found["threshold_transfer"]["0.2"]["coverage"] == 0.0


def test_without_validation_items_no_threshold_is_chosen():
    test_only = [(*row[:4], "test", *row[5:]) for row in ROWS]
    found = score_selective_prediction(answered(test_only), ScoringOptions())
    assert "no items to choose a threshold on" in found["threshold_transfer"]["unavailable"]
    assert found["effective_reliability"] == found["threshold_transfer"]


def test_with_human_answers_the_accuracy_is_vqas():
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10], ["red", "dog"], [0.9, 0.1])
    found = score_selective_prediction(joined, ScoringOptions())
    assert found["accuracy"] == pytest.approx(0.45) and "unavailable" in found["threshold_transfer"]
    assert found["coverage_at_risk"]["0.1"] == 0.5
    assert (
        "no confidences"
        in score_selective_prediction(vqa_answered([["red"]], ["red"]), ScoringOptions())["unavailable"]
    )


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


def test_a_risk_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="risks has NaN"):
        coverage_at_risk([0.9, 0.1], [1, 0], [0.1, float("nan")])
    assert np.isnan(coverage_at_risk([], [], [0.1, 0.2])).all()
    assert coverage_at_risk([0.9, 0.1], [0, 1], [-1.0, 0.5]).tolist() == [0.0, 1.0]
