import math
from math import comb
from unittest.mock import ANY

import numpy as np
import pytest
from scipy.stats import binomtest

from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.subgroups import bounded_mean_interval, has_too_few_items, score_subgroups
from tests.scoring.conftest import answered, model


def test_uqs_of_a_category_are_compared_with_all_aqs():
    # By confidence: a1, a2, u2, a3, u1, u3. "missing object" is u1 and u3: all AQs are above both.
    slices = score_subgroups(answered(), ScoringOptions())["category"]
    assert list(slices) == ["missing object", "wrong attribute"]
    assert slices["missing object"]["auroc"] == 1.0
    assert (slices["missing object"]["aqs"], slices["missing object"]["uqs"]) == (3, 2)
    # "wrong attribute" is u2, above a3 and below the others: 2 of 3.
    assert slices["wrong attribute"]["auroc"] == 2 / 3 and slices["wrong attribute"]["uqs"] == 1


def test_uqs_of_a_difficulty_are_compared_with_all_aqs():
    items = [
        BenchmarkItem("a", "n", {"red": 1.0}),
        BenchmarkItem("u", "n", {}, difficulty="adversarial"),
        BenchmarkItem("v", "n", {}, difficulty="random"),
    ]
    said = model({"a": ("red", 0.4), "u": ("red", 0.5), "v": ("red", 0.1)})
    slices = score_subgroups(
        join_predictions(Items.from_rows(items), said, ScoringOptions()), ScoringOptions()
    )["difficulty"]
    assert {kind: (row["auroc"], row["aqs"], row["uqs"]) for kind, row in slices.items()} == {
        "adversarial": (0.0, 1, 1),
        "random": (1.0, 1, 1),
    }


def test_an_edit_counts_where_it_is_one_of_several_and_a_question_type_for_both_kinds():
    items = [
        BenchmarkItem("a", "n", {"red": 1.0}, edits=("object",), structural="query"),
        BenchmarkItem("b", "n", {"red": 1.0}, structural="verify"),
        BenchmarkItem("u", "n", {}, edits=("attribute", "object"), structural="query"),
        BenchmarkItem("v", "n", {}, edits=("attribute",), structural="query"),
    ]
    said = model({"a": ("red", 0.4), "b": ("red", 0.9), "u": ("red", 0.5), "v": ("red", 0.1)})
    slices = score_subgroups(
        join_predictions(Items.from_rows(items), said, ScoringOptions()), ScoringOptions()
    )
    assert {kind: row["uqs"] for kind, row in slices["edit"].items()} == {"attribute": 2, "object": 1}
    # An AQ's own edits play no part: "object" is u against both AQs, of which one is above it.
    assert slices["edit"]["object"]["auroc"] == 0.5 and slices["edit"]["object"]["aqs"] == 2
    # "query": a against u and v.
    assert slices["structural"]["query"] == {
        "auaf": 0.5, "ff95": 0.5, "facc": 1.0, "auroc": 0.5, "aqs": 1, "uqs": 2,
        "intervals": ANY,
    }  # fmt: skip
    assert slices["structural"]["verify"]["uqs"] == 0 and "category" not in slices


def test_a_benchmark_without_grouping_fields_has_no_subgroups():
    items = [BenchmarkItem("a", "n", {"red": 1.0}), BenchmarkItem("u", "n", {})]
    joined = join_predictions(
        Items.from_rows(items), model({"a": ("red", 1.0), "u": ("red", 0.0)}), ScoringOptions()
    )
    assert "has no fields to group its items by" in score_subgroups(joined, ScoringOptions())["unavailable"]


@pytest.mark.parametrize("count", [1, 3, 11, 19])
def test_where_all_or_none_are_right_the_interval_is_clopper_and_pearsons(count):
    exact = binomtest(count, count).proportion_ci(0.95, "exact")
    assert bounded_mean_interval(1.0, count) == pytest.approx((exact.low, 1.0), abs=1e-9)
    assert bounded_mean_interval(0.0, count) == pytest.approx((0.0, 1 - exact.low), abs=1e-9)


@pytest.mark.parametrize("count", [1, 4, 10, 19])
def test_the_interval_holds_what_is_estimated_at_least_95_times_in_100(count):
    # The chance that it does, added up over all outcomes of `count` draws of a share p.
    intervals = [bounded_mean_interval(hits / count, count) for hits in range(count + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        chance = sum(
            comb(count, hits) * p**hits * (1 - p) ** (count - hits)
            for hits, (low, high) in enumerate(intervals)
            if low <= p <= high
        )
        assert chance >= 0.95


def test_the_interval_is_no_wider_than_it_must_be_and_undefined_with_the_mean():
    # 5 of 10: KL(0.5, p) = log(40) / 10 at p = (1 +- sqrt(1 - 40 ** (-1/5))) / 2, as -log(4 p (1 - p)) / 2 is KL.
    away = math.sqrt(1 - 40 ** (-1 / 5)) / 2
    assert bounded_mean_interval(0.5, 10) == pytest.approx((0.5 - away, 0.5 + away), abs=1e-9)
    assert all(map(math.isnan, bounded_mean_interval(math.nan, 5)))


def many(uqs, images=None):
    """30 right AQs and some UQs, all below the AQs, of a category."""
    items = [BenchmarkItem(f"a{i}", f"n{i}", {"red": 1.0}) for i in range(30)]
    items += [
        BenchmarkItem(f"u{i}", f"n{i % (images or 30)}", {}, category="missing object") for i in range(uqs)
    ]
    said = {item.id: ("red", float(bool(item.answers))) for item in items}
    return join_predictions(Items.from_rows(items), model(said), ScoringOptions())


def test_few_items_have_the_exact_interval_of_their_images():
    row = score_subgroups(many(19), ScoringOptions())["category"]["missing object"]
    assert has_too_few_items(row, "auroc") and not has_too_few_items(row, "facc")  # 19 UQs, but 30 AQs
    assert row["intervals"]["auroc"] == pytest.approx((0.025 ** (1 / 19), 1.0))
    assert "facc" not in row["intervals"]
    # Of 4 images there are 4 independent outcomes, not 19.
    row = score_subgroups(many(19, images=4), ScoringOptions())["category"]["missing object"]
    assert row["intervals"]["auroc"] == pytest.approx((0.025 ** (1 / 4), 1.0))


def test_auaf_of_few_uqs_is_at_most_facc():
    # 15 of 30 AQs are right, all above the 3 UQs: AUAF = FACC = 1/2, the interval is half of Clopper and Pearson's.
    at = many(3)
    half = at._replace(correct=at.correct * (np.arange(33) < 15))
    row = score_subgroups(half, ScoringOptions())["category"]["missing object"]
    assert (row["auaf"], row["facc"]) == (0.5, 0.5)
    assert row["intervals"]["auaf"] == pytest.approx((0.5 * 0.025 ** (1 / 3), 0.5))
    wrong = score_subgroups(at._replace(correct=at.correct * 0), ScoringOptions())["category"][
        "missing object"
    ]
    assert wrong["intervals"]["auaf"] == (0.0, 0.0)


def test_other_subgroups_have_a_bootstrap_interval_if_requested():
    assert score_subgroups(many(20), ScoringOptions())["category"]["missing object"]["intervals"] == {}
    row = score_subgroups(many(20), ScoringOptions(group_by=("category",), bootstrap=50))["category"][
        "missing object"
    ]
    # All AQs are right and above all UQs in every repetition.
    assert not has_too_few_items(row, "auroc") and row["intervals"] == {
        "auaf": (1.0, 1.0), "ff95": (0.0, 0.0), "facc": (1.0, 1.0), "auroc": (1.0, 1.0)
    }  # fmt: skip


def test_only_the_requested_subgroups_are_scored():
    assert list(score_subgroups(answered(), ScoringOptions(group_by=("category",), bootstrap=0))) == [
        "category"
    ]
