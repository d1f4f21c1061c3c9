import numpy as np
import pytest

from pipeline.scorers.sweep import area, lowest_fpr, mean_defined, order, share, sweep, weighted_sweep

CONFIDENCE = np.array([0.5, 0.9, 0.5, 0.1, 0.9])
CORRECT = np.array([1.0, 0.5, 1.0, 1.0, 1.0])
ANSWERABLE = np.array([True, True, False, True, False])


def test_items_of_equal_confidence_are_accepted_together():
    by = order(CONFIDENCE)
    assert by.thresholds.tolist() == [0.9, 0.5, 0.1] and by.last.tolist() == [1, 3, 4]
    assert sorted(by.rows[:2].tolist()) == [1, 4] and sorted(by.rows[2:4].tolist()) == [0, 2]


def test_a_sweep_counts_what_is_accepted_at_each_threshold():
    # At 0.9: the AQ half right and a UQ; at 0.5: one more of each; at 0.1: the last AQ.
    swept = sweep(CONFIDENCE, CORRECT, ANSWERABLE)
    assert swept.right.tolist() == [0, 0.5, 1.5, 2.5]
    assert swept.aqs.tolist() == [0, 1, 2, 3] and swept.uqs.tolist() == [0, 1, 2, 2]


def test_booleans_are_counted_in_whole_numbers():
    swept = sweep(CONFIDENCE, CORRECT == 1, ANSWERABLE)
    assert swept.right.dtype == np.int64 and swept.right.tolist() == [0, 0, 1, 2]


def test_without_items_nothing_is_accepted():
    swept = sweep([], [], [])
    assert [swept.right.tolist(), swept.aqs.tolist(), swept.uqs.tolist()] == [[0], [0], [0]]
    assert not len(order(np.array([])).thresholds)


def test_weights_of_one_are_the_plain_sweep_and_weights_of_two_count_twice():
    plain, by = sweep(CONFIDENCE, CORRECT, ANSWERABLE), order(CONFIDENCE)
    cluster = np.array([0, 0, 1, 1, 1])
    weights = np.array([[1.0, 1.0], [2.0, 0.0]])
    weighted = weighted_sweep(by, CORRECT, ANSWERABLE, cluster, weights)
    assert [weighted.right[0].tolist(), weighted.uqs[0].tolist()] == [
        plain.right.tolist(),
        plain.uqs.tolist(),
    ]
    # Items 0 and 1 twice, the others never: two AQs of 0.5 and 1 at thresholds 0.9 and 0.5.
    assert weighted.right[1].tolist() == [0, 1, 3, 3] and weighted.aqs[1].tolist() == [0, 2, 4, 4]


def test_the_area_of_a_diagonal_is_a_half():
    swept = sweep([0.5, 0.5], [1, 0], [True, False])
    assert area(swept.aqs, swept) == 0.5
    assert np.isnan(area(swept.aqs, sweep([0.5], [1], [True])))


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
    assert lowest_fpr(np.array(gain), np.array(uqs), 0.95) == pytest.approx(expected, nan_ok=True)


def test_a_share_of_nothing_and_a_mean_of_nothing_are_undefined():
    assert share(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()[0] == 0.25
    assert np.isnan(share(np.array([1.0]), np.array([0.0]))).all()
    assert mean_defined(np.array([1.0, np.nan, 0.0])) == 0.5 and np.isnan(mean_defined(np.array([np.nan])))
