import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score

from pipeline.scorers import answerability_ap, answerability_f1
from pipeline.scorers.answerability import answerability_group
from pipeline.scorers.items import Options
from tests.pipeline.scorers.conftest import answered


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


def test_unanswerable_is_what_lies_below_the_threshold_of_the_options():
    # Below 0.5: u1, u3, both right; of three UQs: F1 = 2 x 2 / (2 + 3). Below 0.75 a3 and u2 too: 2 x 3 / (4 + 3).
    assert answerability_group(answered(), Options())["f1"] == pytest.approx(4 / 5)
    found = answerability_group(answered(), Options(threshold=0.75))
    assert found["f1"] == pytest.approx(6 / 7) and found["threshold"] == 0.75
    # Lowest first: u3, u1, a3, u2: precisions 1, 1 and 3/4 at the UQs.
    assert found["average_precision"] == pytest.approx(2.75 / 3)
