"""Dual accuracy and the scores of realistic VQA."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score, roc_curve

from pipeline.scoring import (
    acc_fpr_curve,
    answerability_ap,
    answerability_f1,
    auaf,
    aupr,
    auroc,
    detection_error,
    dual_accuracy,
    facc,
    ff95,
    fpr_at_tpr,
    realistic_scores,
)
from pipeline.scoring.dual_accuracy import choose_dual_threshold, score_pairs
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.realistic_vqa import REALISTIC_SCORES, score_answerability, score_realistic_vqa
from tests.scoring.conftest import ROWS, answered

# Dual accuracy


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


# Realistic VQA


VQA_ROWS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.floats(0, 1, width=32)),
        st.booleans(),
        st.booleans(),
    ),
    min_size=2,
    max_size=60,
).filter(lambda rows: len({row[2] for row in rows}) == 2)


def columns(rows):
    return (np.array(column) for column in zip(*rows, strict=True))


@given(VQA_ROWS)
def test_every_score_keeps_under_permutation_doubling_and_rising_maps(rows):
    confidence, correct, answerable = columns(rows)
    scores = realistic_scores(confidence, correct, answerable)
    order = np.random.default_rng(0).permutation(len(rows))
    for other in (
        realistic_scores(confidence[order], correct[order], answerable[order]),
        realistic_scores(np.tile(confidence, 3), np.tile(correct, 3), np.tile(answerable, 3)),
        realistic_scores(
            confidence * 8, correct, answerable
        ),  # exact in floating point: ties stay ties, others apart
    ):
        assert other == pytest.approx(scores, nan_ok=True)
    assert all(0 <= scores[name] <= 1 or math.isnan(scores[name]) for name in REALISTIC_SCORES)


@pytest.mark.parametrize(
    ("confidence", "correct", "answerable", "expected"),
    [
        # All ties: the curve is one line; precision is the share of AQs; all but the AQs are errors.
        (
            [0.5] * 4,
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            {
                "auaf": 1 / 3,
                "ff95": 0.95,
                "facc": 2 / 3,
                "auroc": 0.5,
                "aupr_in": 0.75,
                "aupr_out": 0.25,
                "fpr95": 0.95,
                "detection_error": 0.25,
            },
        ),
        # Perfect: every AQ above every UQ and right.
        (
            [0.9, 0.8, 0.1],
            [1, 1, 0],
            [1, 1, 0],
            {
                "auaf": 1,
                "ff95": 0,
                "facc": 1,
                "auroc": 1,
                "aupr_in": 1,
                "aupr_out": 1,
                "fpr95": 0,
                "detection_error": 0,
            },
        ),
        # Nothing right: an area of 0 is a measurement, FF95 is not defined.
        ([0.9, 0.1], [0, 0], [1, 0], {"auaf": 0, "ff95": math.nan, "facc": 0, "auroc": 1}),
        # One AQ alone: scores that need UQs are not defined.
        (
            [0.9],
            [1],
            [1],
            {
                "auaf": math.nan,
                "ff95": math.nan,
                "facc": 1,
                "auroc": math.nan,
                "aupr_in": 1,
                "aupr_out": math.nan,
                "fpr95": math.nan,
                "detection_error": math.nan,
            },
        ),
        (
            [0.9],
            [1],
            [0],
            {
                "auaf": math.nan,
                "facc": math.nan,
                "aupr_in": math.nan,
                "aupr_out": 1,
                "detection_error": math.nan,
            },
        ),
        ([], [], [], dict.fromkeys(REALISTIC_SCORES, math.nan)),
    ],
)
def test_degenerate_inputs(confidence, correct, answerable, expected):
    scores = realistic_scores(confidence, correct, np.array(answerable, bool))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_the_mode_chooses_between_our_definitions_and_the_scripts():
    # "Dog" for "dog" is right, letter case aside, but not in the script.
    assert score_realistic_vqa(answered(), ScoringOptions())["facc"] == pytest.approx(2 / 3)
    assert score_realistic_vqa(answered(), ScoringOptions(mode="published"))["facc"] == pytest.approx(1 / 3)


TIED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans(), st.booleans()), min_size=2, max_size=40
).filter(lambda rows: len({row[2] for row in rows}) == 2)


@given(TIED)
def test_with_every_answer_right_the_area_is_the_area_under_the_roc_curve(rows):
    # RGQA, section 3.3: "the ROC curve is the special case of the ACC-FPR curve with FACC = 1".
    confidence, _, answerable = map(np.array, zip(*rows, strict=True))
    expected = roc_auc_score(answerable, confidence)
    assert auaf(confidence, np.ones(len(rows)), answerable) == pytest.approx(expected)
    assert auroc(confidence, answerable) == pytest.approx(expected)


@given(TIED)
def test_the_area_keeps_under_permutation_doubling_and_monotone_maps(rows):
    confidence, correct, answerable = map(np.array, zip(*rows, strict=True))
    score = auaf(confidence, correct, answerable)
    order = np.random.default_rng(0).permutation(len(rows))
    assert auaf(confidence[order], correct[order], answerable[order]) == pytest.approx(score)
    assert auaf(np.tile(confidence, 2), np.tile(correct, 2), np.tile(answerable, 2)) == pytest.approx(score)
    assert auaf(np.exp(confidence), correct, answerable) == pytest.approx(score)
    assert 0 <= score <= facc(confidence, correct, answerable) <= 1


def test_ff95_is_read_on_the_straight_line_between_points():
    # One threshold for all: the curve is the line (0, 0) - (1, 1), so 95 % of FACC is reached at FPR 0.95.
    assert ff95([0.5, 0.5], [1, 0], [True, False]) == pytest.approx(0.95)
    # 10 AQs above every UQ, all right: 0.95 of FACC lies on the vertical start of the curve.
    assert ff95([1.0] * 10 + [0.0], [1] * 10 + [0], [True] * 10 + [False]) == 0.0


@pytest.mark.parametrize(
    ("answerable", "undefined"),
    [([True, True], ("auaf", "ff95", "auroc")), ([False, False], ("auaf", "ff95", "facc", "auroc"))],
)
def test_without_one_kind_of_item_scores_are_nan(answerable, undefined):
    found = {
        "auaf": auaf([1, 0], [1, 1], answerable),
        "ff95": ff95([1, 0], [1, 1], answerable),
        "facc": facc([1, 0], [1, 1], answerable),
        "auroc": auroc([1, 0], answerable),
    }
    assert {name for name, value in found.items() if math.isnan(value)} == set(undefined)


def test_nothing_right_has_no_ff95():
    assert math.isnan(ff95([1.0, 0.0], [0, 0], [True, False]))


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        ([0.1, float("nan")], "1 NaN or infinite"),
        ([0.1], "lengths differ"),
        ([["a"]], "2 dimensions"),
        (["a", "b"], "expected numbers"),
    ],
)
def test_invalid_arrays_are_refused_with_their_values(confidence, expected):
    with pytest.raises(ValueError, match=expected):
        acc_fpr_curve(confidence, [1, 1], [True, False])


@given(VQA_ROWS)
def test_areas_are_scikit_learns(rows):
    confidence, _, answerable = columns(rows)
    assert auroc(confidence, answerable) == pytest.approx(roc_auc_score(answerable, confidence))
    assert aupr(confidence, answerable) == pytest.approx(average_precision_score(answerable, confidence))
    out = realistic_scores(confidence, answerable, answerable)["aupr_out"]
    assert out == pytest.approx(average_precision_score(~answerable, -confidence))
    assert aupr(-confidence, ~answerable) == pytest.approx(out)


@given(VQA_ROWS)
def test_fpr_at_tpr_is_the_lowest_fpr_on_scikit_learns_roc_curve(rows):
    confidence, _, answerable = columns(rows)
    fpr, tpr, _ = roc_curve(answerable, confidence, drop_intermediate=False)
    # The curve as a dense set of points between neighbours; the lowest FPR where TPR >= 0.95 lies within a step of it.
    steps = np.linspace(0, 1, 2001)
    x = np.concatenate([a + steps * (b - a) for a, b in pairwise(fpr)])
    y = np.concatenate([a + steps * (b - a) for a, b in pairwise(tpr)])
    assert fpr_at_tpr(confidence, answerable) == pytest.approx(x[y >= 0.95 - 1e-12].min(), abs=1e-3)


@given(VQA_ROWS)
def test_detection_error_is_the_least_over_thresholds_that_keep_95_percent(rows):
    confidence, _, answerable = columns(rows)
    errors = []
    for threshold in np.unique(confidence):
        accepted = confidence >= threshold
        if accepted[answerable].mean() >= 0.95:
            errors.append((accepted != answerable).mean())
    assert detection_error(confidence, answerable) == pytest.approx(min(errors))


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=40))
def test_answerability_is_scikit_learns_f1_and_average_precision_of_unanswerable(rows):
    confidence, answerable = (np.array(column) for column in zip(*rows, strict=True))
    expected = f1_score(~answerable, 1 - confidence > 0.5, zero_division=np.nan)
    assert answerability_f1(confidence, answerable) == pytest.approx(expected, nan_ok=True)
    if not answerable.all():
        assert answerability_ap(confidence, answerable) == pytest.approx(
            average_precision_score(~answerable, -confidence)
        )
    else:
        assert math.isnan(answerability_ap(confidence, answerable))


def test_unanswerable_is_what_is_below_the_threshold_of_the_options():
    # Below 0.5: u1, u3, both right; of three UQs: F1 = 2 x 2 / (2 + 3). Below 0.75 a3 and u2 too: 2 x 3 / (4 + 3).
    assert score_answerability(answered(), ScoringOptions())["f1"] == pytest.approx(4 / 5)
    found = score_answerability(answered(), ScoringOptions(threshold=0.75))
    assert found["f1"] == pytest.approx(6 / 7) and found["threshold"] == 0.75
    # Lowest first: u3, u1, a3, u2: precisions 1, 1 and 3/4 at the UQs.
    assert found["average_precision"] == pytest.approx(2.75 / 3)
