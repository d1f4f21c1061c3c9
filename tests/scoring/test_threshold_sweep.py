import numpy as np
import pytest

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
