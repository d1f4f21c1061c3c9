import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from pipeline.scoring import brier_score, expected_calibration_error, reliability_table
from pipeline.scoring.calibration import score_calibration
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import ROWS, answered, vqa_answered

ITEMS = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60)


@given(ITEMS)
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


@given(ITEMS, st.sampled_from(["equal_width", "equal_mass"]))
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
