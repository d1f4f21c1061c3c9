import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scorers import auaf, auroc, realistic_scores
from pipeline.scorers.items import Options
from pipeline.scorers.realistic import SCORES, realistic_group, resample_realistic
from tests.pipeline.scorers.conftest import answered

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
    assert all(0 <= scores[name] <= 1 or math.isnan(scores[name]) for name in SCORES)


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
        ([], [], [], dict.fromkeys(SCORES, math.nan)),
    ],
)
def test_degenerate_inputs(confidence, correct, answerable, expected):
    scores = realistic_scores(confidence, correct, np.array(answerable, bool))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_a_repetition_is_the_score_of_the_drawn_items():
    joined = answered()
    weights = np.array([[2, 1, 0], [1, 0, 2], [0, 0, 3]], float)
    found = resample_realistic(joined, np.array([0, 0, 1, 1, 2, 2]))(weights)
    for i, drawn in enumerate(weights.astype(int)):
        again = np.repeat(np.arange(6), np.repeat(drawn, 2))
        arguments = joined.confidence[again], joined.correct[again], joined.answerable[again]
        assert found["auaf"][i] == pytest.approx(auaf(*arguments))
        assert found["auroc"][i] == pytest.approx(auroc(arguments[0], arguments[2]))
    # Pairs p1 and p3 are handled right, p2 is not: 2 of 3 drawn, 3 of 3, 3 of 3.
    assert found["dual_accuracy"] == pytest.approx([2 / 3, 1, 1])


def test_without_pairs_there_is_no_dual_accuracy_to_repeat():
    joined = answered()
    alone = joined._replace(items=[item._replace(pair="") for item in joined.items])
    assert set(resample_realistic(alone, np.zeros(6, int))(np.ones((1, 1)))) == set(SCORES)


def test_the_mode_chooses_between_our_definitions_and_the_scripts():
    # "Dog" for "dog" is right, letter case aside, but not in the script.
    assert realistic_group(answered(), Options())["facc"] == pytest.approx(2 / 3)
    assert realistic_group(answered(), Options(mode="parity"))["facc"] == pytest.approx(1 / 3)
