import math

import numpy as np
import pytest

from pipeline.scoring.model_comparison import (
    ModelComparison,
    ScoreDifference,
    compare_models,
    describe_difference,
    flatten_scores,
    get_score_title,
    lower_is_better,
    select_compared_scores,
)


def test_every_model_is_compared_with_every_one_before_it_on_the_same_samples():
    drawn = np.array([0.1, 0.2, 0.3])
    models = [
        (
            name,
            {"x": {"auroc": value, "ff95": 1 - value}},
            {"x": {"auroc": drawn + value, "ff95": 1 - drawn - value}},
        )
        for name, value in (("a", 0.25), ("b", 0.5), ("c", 0.0))
    ]
    found = compare_models(models)
    assert [(pair.model, pair.baseline) for pair in found] == [("b", "a"), ("c", "a"), ("c", "b")]
    # Drawn together, b is 0.25 above a in each repetition; alone each varies.
    auroc = found[0].scores["x"]["auroc"]
    assert auroc.interval == pytest.approx((0.25, 0.25)) and (auroc.difference, auroc.proportion_better) == (
        0.25,
        1.0,
    )
    assert found[0].scores["x"]["ff95"].proportion_better == 1.0  # lower, in every repetition
    assert found[1].scores["x"]["auroc"].proportion_better == 0.0
    assert compare_models(models[:1]) == []


@pytest.mark.parametrize(("name", "better"), [("auroc", 0.25), ("ff95", 0.5)])
def test_the_proportion_better_excludes_ties(name, better):
    # Against 0.5 in each of four repetitions: one is higher, one equal, two are lower.
    models = [("a", {"x": {name: 0.5}}, {"x": {name: np.full(4, 0.5)}})]
    models += [("b", {"x": {name: 0.5}}, {"x": {name: np.array([0.75, 0.5, 0.25, 0.0])}})]
    assert compare_models(models)[0].scores["x"][name].proportion_better == better


def test_without_replicates_there_is_only_the_difference():
    models = [("a", {"x": {"auaf": 0.5}}, {}), ("b", {"x": {"auaf": 0.75}}, {})]
    assert compare_models(models)[0].scores == {"x": {"auaf": ScoreDifference(0.25)}}


def test_dual_accuracy_and_selective_scores_are_compared():
    groups = {
        "counts": {"items": 3},
        "realistic": {"auaf": 0.5, "fpr81.4": 0.25},
        "pairs": {"pairs": 3, "dual_accuracy": 0.5, "threshold": 0.1, "threshold_source": "validation"},
        "selective": {
            "auc": 0.25,
            "coverage_at_risk": {"0.01": 0.75},
            "best_coverage_at_risk": {"0.01": 1.0},
            "effective_reliability": {"10": {"phi": -0.5, "threshold": 0.5}},
        },
        "calibration": {"correct": {"ece": 0.125}, "items": 3},
    }
    assert select_compared_scores(groups) == {
        "auaf": 0.5,
        "fpr81.4": 0.25,
        "dual_accuracy": 0.5,
        "auc": 0.25,
        "coverage_at_risk/0.01": 0.75,
        "effective_reliability/10/phi": -0.5,
        "correct/ece": 0.125,
    }
    assert select_compared_scores({"pairs": {"unavailable": "no pairs"}}) == {}


def test_scores_are_named_and_the_better_way_is_known():
    names = {
        "coverage_at_risk/0.01": "coverage at risk 0.01",
        "effective_reliability/10/phi": "effective reliability 10",
        "correct/ece": "ECE correct",
        "ff95": "FF95",
        "effective_reliability": "effective reliability",
    }
    assert {name: get_score_title(name) for name in names} == names
    assert [lower_is_better(name) for name in names] == [False, False, True, True, False]


def test_numbers_have_their_path_and_strings_are_omitted():
    assert flatten_scores({"a": {"b": 1, "c": "x"}, "d": (0.5, 1.0)}) == [("a/b", 1.0)]


@pytest.mark.parametrize(
    ("place", "name", "change", "expected"),
    [
        (
            "mean", "auaf", ScoreDifference(0.031, (0.012, 0.05)),
            "b is better than a: 3.1 points of mean AUAF, 95 % interval 1.2 to 5.0, images resampled",
        ),
        (
            "mean", "auaf", ScoreDifference(-0.031, (-0.05, -0.012)),
            "a is better than b: 3.1 points of mean AUAF, 95 % interval 1.2 to 5.0, images resampled",
        ),
        (
            "x", "ff95", ScoreDifference(-0.2, (-0.3, -0.1)),
            "b is better than a: 20.0 points of FF95 on x (lower is better), 95 % interval 10.0 to 30.0, images resampled",
        ),
        (
            "x", "ff95", ScoreDifference(0.2, (-0.1, 0.5)),
            "statistically indistinguishable: a is ahead of b by 20.0 points of FF95 on x (lower is better), "
            "95 % interval -10.0 to 50.0, images resampled",
        ),
        (
            "x", "auroc", ScoreDifference(0.0, (0.0, 0.0)),
            "statistically indistinguishable: b and a have the same AUROC on x, 95 % interval 0.0 to 0.0, images resampled",
        ),
        (
            "x", "auroc", ScoreDifference(0.01, (0.0003, 0.02)),
            "b is better than a: 1.0 points of AUROC on x, 95 % interval 0.03 to 2.0, images resampled",
        ),
        (  # 0.05 points read 0.1, less would read 0.0
            "x", "auroc", ScoreDifference(0.0004, (0.0003, 0.0005)),
            "b is better than a: 0.04 points of AUROC on x, 95 % interval 0.03 to 0.1, images resampled",
        ),
        (
            "x", "auroc", ScoreDifference(0.01),
            "b is ahead of a by 1.0 points of AUROC on x; without an interval this may be by chance",
        ),
        ("x", "ff95", ScoreDifference(math.nan, (0.0, 0.0)), "b and a cannot be compared: FF95 on x is undefined for one of them"),
        (
            "x", "ff95", ScoreDifference(0.5, (math.nan, math.nan)),
            "no difference can be established: FF95 on x of a or b is undefined in too many bootstrap replicates",
        ),
    ],
)  # fmt: skip
def test_a_difference_in_words_names_the_better_model_first(place, name, change, expected):
    assert describe_difference(ModelComparison("b", "a", {place: {name: change}}), place, name) == expected
