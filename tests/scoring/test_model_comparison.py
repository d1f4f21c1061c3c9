"""Comparison of models, and of models with people."""

import math

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.human_baseline import (
    compute_human_rejection,
    read_human_judgments,
    rejection_at_tpr,
    score_human_baseline,
)
from pipeline.scoring.joined_predictions import ScoringOptions
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
from tests.scoring.conftest import answered, predictions, scored, write

# Model comparison


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


# Human baseline


def test_human_rejection_and_that_of_a_model_at_their_rate():
    # People accept 3 of 4 AQs and reject 1 of 2 UQs.
    assert compute_human_rejection([1, 1, 1, 0, 0, 1], [True] * 4 + [False] * 2) == {
        "true_positive_rate": 0.75,
        "rejection_accuracy": 0.5,
        "aqs": 4,
        "uqs": 2,
    }
    # The model accepts 3 of 4 AQs (0.9, 0.8, 0.6) once it has accepted the UQ at 0.7: it rejects 1 of 2.
    confidence, answerable = [0.9, 0.8, 0.6, 0.1, 0.7, 0.2], [True] * 4 + [False] * 2
    assert rejection_at_tpr(confidence, answerable, 0.75) == 0.5
    assert rejection_at_tpr(confidence, answerable, 0.5) == 1.0
    assert rejection_at_tpr(confidence, answerable, 0.0) == 1.0
    # All tied: to accept half of the AQs half of the UQs go along.
    assert rejection_at_tpr([0.5] * 4, [True, True, False, False], 0.5) == 0.5
    assert math.isnan(compute_human_rejection([1], [True])["rejection_accuracy"]) and math.isnan(
        rejection_at_tpr([1], [True], 0.5)
    )


def test_humans_are_compared_on_the_judged_items(release, tmp_path):
    study = [
        {"question_id": "a1", "accepted": True},
        {"question_id": "a2", "accepted": True},
        {"question_id": "u2", "accepted": False},
    ]
    words = (
        "--resource",
        f"human-judgments={write(tmp_path / 'h.json', study)}",
        "--bootstrap",
        0,
        "--split",
        "all",
    )
    found = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), *words)
    people = found["models"][0]["subsets"]["clip-easy"]["human"]
    # People take all AQs and reject u2. On these items the model does too; on all, to take a3 it takes u2: 2 of 3.
    assert people["rejection_accuracy"] == 1.0 and people["model_rejection_accuracy"] == 1.0
    assert people["model_rejection_accuracy_on_all_items"] == pytest.approx(2 / 3)


def test_each_judgment_of_an_item_counts():
    # a1 is taken by one of two people, u1 rejected by one of three: 1/2 and 1/3, on 2 items of 5 judgements.
    study = {"u1": [True, False, True], "a1": [True, False], "elsewhere": [True]}
    found = score_human_baseline(answered(), ScoringOptions(human_judgments=study))
    assert (found["aqs"], found["uqs"], found["items"]) == (2, 3, 2)
    assert found["true_positive_rate"] == 0.5 and found["rejection_accuracy"] == pytest.approx(1 / 3)


def test_without_judgments_there_is_nothing_to_compare():
    assert (
        "--resource human-judgments=FILE" in score_human_baseline(answered(), ScoringOptions())["unavailable"]
    )
    study = {"elsewhere": [True]}
    assert (
        "no item of this subset"
        in score_human_baseline(answered(), ScoringOptions(human_judgments=study))["unavailable"]
    )


def test_judgments_are_collected_by_item_and_every_faulty_one_is_listed(tmp_path):
    rows = [{"question_id": 7, "accepted": True}, {"question_id": "7", "accepted": False}]
    assert read_human_judgments(write(tmp_path / "h.json", rows)) == {"7": [True, False]}
    with pytest.raises(UserError) as caught:
        read_human_judgments(
            write(tmp_path / "h.json", [*rows, 3, {"accepted": True}, {"question_id": "8", "accepted": 1}])
        )
    wanted = "expected an object with item_id (or question_id) and accepted (true or false)"
    assert caught.value.problems == [f"human study, judgment {number}: {wanted}" for number in (3, 4, 5)]
