import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.auditing.clip_histograms import BINS, histograms


@pytest.mark.parametrize(
    ("aqs", "uqs", "area", "distance"),
    [
        # 50 bins from 0 to 1, each 0.02 wide: 0 lies in bin 0, 0.5 in bin 25, 1 in bin 49 (the last has its upper edge).
        # Shares of AQ 1/2, 1/4, 1/4, of UQ 1/4, 1/2, 1/4: 1/4 + 1/4 + 1/4 = 3/4. Means 1.5/4 and 2/4.
        ([0, 0, 0.5, 1], [0, 0.5, 0.5, 1], 0.75, -0.125),
        ([0, 0.1, 1], [0, 0.1, 1], 1.0, 0.0),
        ([0.9, 1.0], [0.0, 0.1], 0.0, 0.9),
        # 0.501 and 0.519 share bin 25 (0.50 to 0.52), 0.521 lies in bin 26. The bins from 0 to 1: AQ 1/3 each in 0, 25
        # and 49; UQ 1/2 each in 25 and 26. Overlap 1/3. Means 1.501/3 and 1.04/2.
        ([0, 0.501, 1], [0.519, 0.521], 1 / 3, 1.501 / 3 - 0.52),
    ],
)
def test_overlap_and_distance_are_those_of_arithmetic(aqs, uqs, area, distance):
    drawn = histograms(aqs, uqs)
    assert (drawn.area, drawn.distance) == (pytest.approx(area, abs=1e-4), pytest.approx(distance, abs=1e-6))


SCORES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=30)


@given(SCORES, SCORES)
def test_what_is_drawn_is_what_is_counted(aqs, uqs):
    drawn = histograms(aqs, uqs)
    assert (len(drawn.aq), len(drawn.uq), len(drawn.edges)) == (BINS, BINS, BINS + 1)
    assert sum(drawn.aq) == pytest.approx(1) and sum(drawn.uq) == pytest.approx(1)
    assert drawn.area == pytest.approx(sum(map(min, drawn.aq, drawn.uq)), abs=1e-4)
    assert drawn.distance == pytest.approx(drawn.aq_mean - drawn.uq_mean, abs=1e-6)


@pytest.mark.parametrize(("aqs", "uqs"), [([], [0.1]), ([0.1], []), ([], [])])
def test_without_scores_of_both_kinds_there_is_no_histogram(aqs, uqs):
    assert histograms(aqs, uqs) is None
