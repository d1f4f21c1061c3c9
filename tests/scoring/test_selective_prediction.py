"""Selective prediction, thresholds and calibration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from pipeline.scoring import (
    best_effective_reliability,
    brier_score,
    choose_threshold,
    coverage_at_risk,
    effective_reliability,
    expected_calibration_error,
    oracle_confidence,
    reliability_table,
    risk_coverage_auc,
    risk_coverage_curve,
    threshold_at_risk,
    threshold_transfer,
)
from pipeline.scoring.calibration import score_calibration
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.selective_prediction import score_selective_prediction
from pipeline.scoring.threshold_sweep import (
    BLOCK_SIZE,
    area_under_curve,
    lowest_detection_error,
    lowest_fpr,
    nan_mean,
    rank_items,
    safe_divide,
    safe_divide_arrays,
    sweep_thresholds,
)
from tests.scoring.conftest import ROWS, answered, vqa_answered

# Selective prediction


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


# Threshold sweep


CONFIDENCE = np.array([0.5, 0.9, 0.5, 0.1, 0.9])
CORRECT = np.array([1.0, 0.5, 1.0, 1.0, 1.0])
ANSWERABLE = np.array([True, True, False, True, False])


def test_items_of_equal_confidence_are_accepted_together():
    by = rank_items(CONFIDENCE, CORRECT, ANSWERABLE)
    assert (
        by.thresholds.tolist() == [0.9, 0.5, 0.1]
        and by.tie_ends is not None
        and by.tie_ends.tolist() == [0, 2, 4, 5]
    )
    assert sorted(by.rows[:2].tolist()) == [1, 4] and sorted(by.rows[2:4].tolist()) == [0, 2]
    assert by.confidence.tolist() == [0.9, 0.9, 0.5, 0.5, 0.1]


def test_where_no_two_are_equal_every_place_is_a_threshold():
    by = rank_items(np.array([0.1, 0.7, 0.4]), np.ones(3), np.array([True, False, True]))
    assert by.tie_ends is None and by.thresholds.tolist() == [0.7, 0.4, 0.1]
    assert by.sweep().aqs.tolist() == [0, 0, 1, 2] and by.sweep().accepted.tolist() == [0, 1, 2, 3]


def test_a_sweep_counts_what_is_accepted_at_each_threshold():
    # At 0.9: the AQ half right and a UQ; at 0.5: one more of each; at 0.1: the last AQ.
    swept = sweep_thresholds(CONFIDENCE, CORRECT, ANSWERABLE)
    assert swept.correct.tolist() == [0, 0.5, 1.5, 2.5]
    assert swept.aqs.tolist() == [0, 1, 2, 3] and swept.uqs.tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("correct", [CORRECT == 1, (CORRECT == 1).astype(float), (CORRECT == 1).astype(int)])
def test_zeros_and_ones_are_counted_in_whole_numbers(correct):
    by = rank_items(CONFIDENCE, correct, ANSWERABLE)
    assert by.sweep().correct.dtype == np.int64 and by.sweep().correct.tolist() == [0, 0, 1, 2]
    assert rank_items(CONFIDENCE, CORRECT, ANSWERABLE).sweep().correct.dtype == float


def test_without_items_nothing_is_accepted():
    swept = sweep_thresholds([], [], [])
    assert [swept.correct.tolist(), swept.aqs.tolist(), swept.uqs.tolist()] == [[0], [0], [0]]
    assert not len(rank_items(*np.zeros((3, 0))).thresholds)


@pytest.mark.parametrize("confidence", [CONFIDENCE, np.array([0.5, 0.9, 0.4, 0.1, 0.8])])
def test_an_item_of_weight_two_counts_twice_and_one_of_none_not_at_all(confidence):
    by, weights = rank_items(confidence, CORRECT, ANSWERABLE), np.array([2, 0, 1, 1, 3])
    again = np.repeat(np.arange(5), weights)
    weighted, plain = (
        by.sweep(weights[by.rows]),
        sweep_thresholds(confidence[again], CORRECT[again], ANSWERABLE[again]),
    )
    # A threshold that only items without weight have adds nothing to the one before.
    kept = np.append(True, np.diff(weighted.accepted) > 0)
    for column, expected in zip(weighted, plain, strict=True):
        assert column[kept].tolist() == expected.tolist()
    assert (by.sweep(np.ones(5, int)).correct == by.sweep().correct).all()


def test_the_area_of_a_diagonal_is_a_half():
    swept = sweep_thresholds([0.5, 0.5], [1, 0], [True, False])
    assert area_under_curve(swept) == area_under_curve(swept, count_all_accepted=True) == 0.5
    assert np.isnan(area_under_curve(sweep_thresholds([0.5], [1], [True])))


@pytest.mark.parametrize(
    ("gain", "uqs", "expected"),
    [
        ([0, 1, 2], [0, 0, 4], 0.9),  # 1.9 of 2 lies at 0.9 of the way from (0, 1) to (4, 2): FPR 3.6 of 4
        ([0, 19, 20], [0, 1, 4], 0.25),  # 19 is 0.95 of 20: the point itself
        ([0, 0], [0, 4], np.nan),
        ([0, 1], [0, 0], np.nan),
    ],
)
def test_the_lowest_fpr_is_read_between_points(gain, uqs, expected):
    assert lowest_fpr(np.array(gain, float), np.array(uqs, float), 0.95) == pytest.approx(
        expected, nan_ok=True
    )


def test_a_proportion_and_a_mean_of_nothing_are_undefined():
    assert safe_divide_arrays(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()[0] == 0.25
    assert np.isnan(safe_divide_arrays(np.array([1.0]), np.array([0.0]))).all()
    assert safe_divide(1, 4) == 0.25 and np.isnan(safe_divide(1, 0))
    assert nan_mean(np.array([1.0, np.nan, 0.0])) == 0.5 and np.isnan(nan_mean(np.array([np.nan])))


def test_many_blocks_are_one_sweep():
    # 2.4 blocks, ties on their borders and elsewhere; the sums by NumPy at once.
    rng = np.random.default_rng(0)
    count = 3 * BLOCK_SIZE
    confidence, answerable = rng.integers(0, 2 * count, count), rng.random(count) < 0.5
    correct, weights = rng.random(count), rng.integers(0, 3, count)
    by = rank_items(confidence, correct, answerable)
    swept, thresholds = by.sweep(weights[by.rows]), np.unique(confidence)[::-1]
    assert len(thresholds) > 2 * BLOCK_SIZE and by.tie_ends is not None
    counted = {
        "correct": weights * correct * answerable,
        "aqs": weights * answerable,
        "uqs": weights * ~answerable,
    }
    for name, each in counted.items():
        of_threshold = np.bincount(np.searchsorted(thresholds[::-1], confidence), each)[::-1]
        assert getattr(swept, name) == pytest.approx(np.append(0, np.cumsum(of_threshold)))
    heights = swept.aqs / swept.aqs[-1]
    assert area_under_curve(swept, count_all_accepted=True) == pytest.approx(
        np.trapezoid(heights, swept.uqs / swept.uqs[-1])
    )


@pytest.mark.parametrize("first", [True, False])
def test_the_least_error_of_many_blocks_is_that_of_the_best_of_them(first):
    # Ten AQs and 2 * BLOCK UQs. Surest first, they are parted without an error, in the first block; the other way round
    # nothing is better than to accept nobody, by which ten of all are mistaken.
    answerable = np.arange(2 * BLOCK_SIZE + 10) < 10
    confidence = -np.arange(2.0 * BLOCK_SIZE + 10) * (1 if first else -1)
    swept = sweep_thresholds(confidence, answerable, answerable)
    assert lowest_detection_error(swept, 0) == pytest.approx(0 if first else 10 / (2 * BLOCK_SIZE + 10))


# Calibration


CALIBRATION_ITEMS = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60)


@given(CALIBRATION_ITEMS)
def test_bins_and_brier_are_scikit_learns(items):
    confidence, correct = (np.array(column) for column in zip(*items, strict=True))
    table = reliability_table(confidence, correct, num_bins=10)
    right, meant = calibration_curve(
        np.append(correct, [True, False]), np.append(confidence, [1.0, 1.0]), n_bins=10
    )
    ours = reliability_table(
        np.append(confidence, [1.0, 1.0]), np.append(correct, [True, False]), num_bins=10
    )
    assert ours[:, 1] == pytest.approx(meant) and ours[:, 2] == pytest.approx(right)
    assert table[:, 0].sum() == len(items)
    assert brier_score(confidence, correct) == pytest.approx(
        brier_score_loss(np.append(correct, [0, 1]), np.append(confidence, [0.0, 1.0]))
        * (len(items) + 2)
        / len(items)
    )


def test_ece_is_worked_out_by_hand():
    # bins (0.0, 0.1], ..., (0.9, 1.0]: {0.1, 0.1}: |0.1 - 0.5| = 0.4; {0.95}: |0.95 - 1| = 0.05. (2 x 0.4 + 0.05) / 3
    assert expected_calibration_error([0.1, 0.1, 0.95], [1, 0, 1], num_bins=10) == pytest.approx(0.85 / 3)
    # two bins of equal mass: {0.1, 0.2}: |0.15 - 0| ; {0.3, 0.9}: |0.6 - 1| -> (0.15 + 0.4) / 2
    assert expected_calibration_error(
        [0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1], num_bins=2, binning="equal_mass"
    ) == pytest.approx(0.275)


@given(CALIBRATION_ITEMS, st.sampled_from(["equal_width", "equal_mass"]))
def test_ece_keeps_under_permutation_and_doubling(items, binning):
    confidence, correct = (np.array(column) for column in zip(*items, strict=True))
    score = expected_calibration_error(confidence, correct, binning=binning)
    order = np.random.default_rng(0).permutation(len(items))
    assert expected_calibration_error(confidence[order], correct[order], binning=binning) == pytest.approx(
        score
    )
    assert expected_calibration_error(
        np.tile(confidence, 2), np.tile(correct, 2), binning=binning
    ) == pytest.approx(score)
    assert 0 <= score <= 1


def test_no_items_have_no_ece():
    assert np.isnan(expected_calibration_error([], [])) and np.isnan(brier_score([], []))


def test_a_logit_is_no_probability():
    with pytest.raises(ValueError, match="confidence has 1 value outside"):
        expected_calibration_error([1.5, 0.2], [1, 0])


def test_confidence_is_held_against_answerable_and_against_right():
    found = score_calibration(answered(), ScoringOptions())
    # AQs 0.9, 0.8, 0.6; UQs 0.2, 0.7, 0.1: (0.01 + 0.04 + 0.16 + 0.04 + 0.49 + 0.01) / 6.
    assert found["answerable"]["brier"] == pytest.approx(0.75 / 6)
    # Right are a1 and a3 alone: the 0.04 of a2 becomes 0.64.
    assert found["correct"]["brier"] == pytest.approx(1.35 / 6) and found["items"] == 6


def test_missing_predictions_are_excluded_and_logits_are_not_probabilities():
    joined = answered()
    missing = joined._replace(missing=np.array([True] + [False] * 5))
    assert score_calibration(missing, ScoringOptions())["items"] == 5
    logits = answered([(*row[:-1], 10 * row[-1]) for row in ROWS])
    assert "not probabilities" in score_calibration(logits, ScoringOptions())["unavailable"]


def test_with_human_answers_the_most_frequent_one_is_correct():
    joined = vqa_answered([["red"] * 3 + ["blue"] * 7, ["cat"] * 10], ["red", "cat"], [0.8, 0.6])
    found = score_calibration(joined, ScoringOptions())
    assert found["correct"]["brier"] == pytest.approx((0.64 + 0.16) / 2) and "answerable" not in found
    assert (
        "no confidences"
        in score_calibration(vqa_answered([["red"]], ["red"]), ScoringOptions())["unavailable"]
    )
