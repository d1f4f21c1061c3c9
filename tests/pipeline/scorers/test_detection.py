from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from pipeline.scorers import aupr, auroc, detection_error, fpr_at_tpr, realistic_scores

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
