import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from pipeline.scorers import aupr, auroc, detection_error, fpr_at_tpr, realistic_scores
from pipeline.scorers.realistic import NAMES

ROWS = st.lists(
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


@given(ROWS)
def test_areas_are_scikit_learns(rows):
    confidence, _, answerable = columns(rows)
    assert auroc(confidence, answerable) == pytest.approx(roc_auc_score(answerable, confidence))
    assert aupr(confidence, answerable) == pytest.approx(average_precision_score(answerable, confidence))
    out = realistic_scores(confidence, answerable, answerable)["aupr_out"]
    assert out == pytest.approx(average_precision_score(~answerable, -confidence))
    assert aupr(-confidence, ~answerable) == pytest.approx(out)


@given(ROWS)
def test_fpr_at_tpr_is_the_lowest_fpr_on_scikit_learns_roc_curve(rows):
    confidence, _, answerable = columns(rows)
    fpr, tpr, _ = roc_curve(answerable, confidence, drop_intermediate=False)
    # The curve as a dense set of points between neighbours; the lowest FPR where TPR >= 0.95 lies within a step of it.
    steps = np.linspace(0, 1, 2001)
    x = np.concatenate([a + steps * (b - a) for a, b in pairwise(fpr)])
    y = np.concatenate([a + steps * (b - a) for a, b in pairwise(tpr)])
    assert fpr_at_tpr(confidence, answerable) == pytest.approx(x[y >= 0.95 - 1e-12].min(), abs=1e-3)


@given(ROWS)
def test_detection_error_is_the_least_over_thresholds_that_keep_95_percent(rows):
    confidence, _, answerable = columns(rows)
    errors = []
    for threshold in np.unique(confidence):
        accepted = confidence >= threshold
        if accepted[answerable].mean() >= 0.95:
            errors.append((accepted != answerable).mean())
    assert detection_error(confidence, answerable) == pytest.approx(min(errors))


@given(ROWS)
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
    assert all(0 <= scores[name] <= 1 or math.isnan(scores[name]) for name in NAMES)


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
        ([], [], [], dict.fromkeys(NAMES, math.nan)),
    ],
)
def test_degenerate_inputs(confidence, correct, answerable, expected):
    scores = realistic_scores(confidence, correct, np.array(answerable, bool))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, nan_ok=True)
