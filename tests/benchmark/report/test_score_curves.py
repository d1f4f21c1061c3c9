import numpy as np
import pytest

from pipeline.benchmark.report.score_curves import (
    compute_acc_band,
    compute_acc_fpr,
    compute_auaf_by_category,
    compute_confidence_histograms,
    compute_reliability,
    compute_risk_coverage,
)
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.selective_prediction import MIN_ANSWERS
from tests.scoring.conftest import ROWS, answered, join_predictions, model

# By confidence: a1 right, a2 wrong, u2, a3 right, u1, u3; an image for each pair.


def test_the_curve_starts_with_no_answers_and_ends_with_all():
    assert np.array(
        [(row["x"], row["y"]) for row in compute_acc_fpr(answered(), ScoringOptions())]
    ) == pytest.approx(
        np.array([(0, 0), (0, 1 / 3), (0, 1 / 3), (1 / 3, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 2 / 3), (1, 2 / 3)])
    )
    assert compute_acc_fpr(answered([row for row in ROWS if row[0][0] == "a"]), ScoringOptions()) == []


def test_the_band_is_the_bootstrap_interval_of_accuracy_at_each_fpr():
    options = ScoringOptions(bootstrap=40, seed=3)
    band = compute_acc_band(answered(), options)
    assert len(band) == 101 and (band[0]["x"], band[-1]["x"]) == (0.0, 1.0)
    # At FPR 1 everything is accepted, and ACC is the proportion of right AQs, which are those of images n1 and n3.
    drawn = [np.random.default_rng([3, repetition]).integers(0, 3, 3) for repetition in range(40)]
    right = [np.isin(images, [0, 2]).mean() for images in drawn]
    low, high = np.quantile(right, [0.025, 0.975])
    assert (band[-1]["low"], band[-1]["high"]) == pytest.approx((low, high))
    assert all(row["low"] <= row["high"] for row in band)
    assert compute_acc_band(answered(), ScoringOptions(bootstrap=0)) == []


def test_risk_starts_at_the_minimum_number_of_answers():
    items = Items.from_rows(BenchmarkItem(str(i), "n", {"red": 1.0}) for i in range(100))
    # The first 20 by confidence are wrong, all others right.
    at = join_predictions(
        items, model({str(i): ("red" if i < 80 else "blue", i / 100) for i in range(100)}), ScoringOptions()
    )
    rows = compute_risk_coverage(at, ScoringOptions())
    assert (rows[0]["x"], rows[0]["y"]) == (MIN_ANSWERS / 100, 1.0) and (rows[-1]["x"], rows[-1]["y"]) == (
        1.0,
        pytest.approx(0.2),
    )
    assert (
        len(compute_risk_coverage(answered(), ScoringOptions())) == 1
    )  # With six items, only the last point is shown.


def test_reliability_is_computed_for_both_outcomes():
    rows = compute_reliability(answered(), ScoringOptions())
    right = [(row["items"], row["x"], row["y"]) for row in rows if row["outcome"] == "the answer is right"]
    # 15 bins: u3 0.1 | u1 0.2 | a3 0.6, right (0.6 is the upper edge of a bin) | u2 0.7 | a2 0.8, wrong | a1 0.9, right.
    assert np.array(right) == pytest.approx(
        np.array([(1, 0.1, 0), (1, 0.2, 0), (1, 0.6, 1), (1, 0.7, 0), (1, 0.8, 0), (1, 0.9, 1)])
    )
    assert {row["outcome"] for row in rows} == {"the answer is right", "the question is answerable"}
    high = answered([(*row[:-1], 10 * row[-1]) for row in ROWS])
    assert compute_reliability(high, ScoringOptions()) == []


def test_every_confidence_is_in_one_bin_of_its_kind():
    rows = compute_confidence_histograms(answered(), ScoringOptions())
    for kind in ("answerable (AQ)", "unanswerable (UQ)"):
        assert sum(row["items"] for row in rows if row["kind"] == kind) == 3
    last = max(row["from"] for row in rows)
    assert [row["items"] for row in rows if row["from"] == last] == [1, 0]  # a1


def test_a_category_with_few_uqs_has_only_an_interval():
    missing, wrong = compute_auaf_by_category(answered(), ScoringOptions(bootstrap=10))
    assert missing["kind"] == "missing object (2 UQs)" and wrong["kind"] == "wrong attribute (1 UQs)"
    assert missing["x"] is None and 0 <= missing["low"] < missing["high"] <= 1
    plain = answered([(*row[:5], None, *row[6:]) for row in ROWS])
    assert compute_auaf_by_category(plain, ScoringOptions()) == []
