import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pipeline.scorers import acc_fpr_curve, auaf, auroc, facc, ff95

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans(), st.booleans()), min_size=2, max_size=40
).filter(lambda rows: len({row[2] for row in rows}) == 2)


@given(ROWS)
def test_with_every_answer_right_the_area_is_the_area_under_the_roc_curve(rows):
    # RGQA, section 3.3: "the ROC curve is the special case of the ACC-FPR curve with FACC = 1".
    confidence, _, answerable = map(np.array, zip(*rows, strict=True))
    expected = roc_auc_score(answerable, confidence)
    assert auaf(confidence, np.ones(len(rows)), answerable) == pytest.approx(expected)
    assert auroc(confidence, answerable) == pytest.approx(expected)


@given(ROWS)
def test_scores_keep_under_permutation_doubling_and_monotone_maps(rows):
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
        (["a", "b"], "wanted numbers"),
    ],
)
def test_wrong_arrays_are_refused_with_what_came(confidence, expected):
    with pytest.raises(ValueError, match=expected):
        acc_fpr_curve(confidence, [1, 1], [True, False])
