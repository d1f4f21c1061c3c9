"""The scores of a replicate are those of the repeated items, by the plain functions."""

import numpy as np
import pytest

from pipeline.scoring.answer_scores import vqa_accuracy
from pipeline.scoring.bootstrap import sample_cluster_counts
from pipeline.scoring.bootstrap_scores import (
    bootstrap_subsets,
    make_realistic_statistic,
    make_score_statistic,
)
from pipeline.scoring.calibration import brier_score, expected_calibration_error
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ReportedScore, ScoringOptions
from pipeline.scoring.realistic_vqa import REALISTIC_SCORES, realistic_scores
from pipeline.scoring.selective_prediction import (
    choose_threshold,
    coverage_at_risk,
    effective_reliability,
    risk_coverage_auc,
)
from pipeline.scoring.threshold_sweep import BLOCK_SIZE, rank_items
from tests.scoring.conftest import ROWS, answered, model, vqa_answered

RISKS, COSTS = (0.6, 0.1, 0.3, 0.0), (1, 10)
OPTIONS = ScoringOptions(risks=RISKS, costs=COSTS, split="all")

pytestmark = pytest.mark.usefixtures("few_pairs_are_enough")


def one(scores, counts):
    """The scores of a single replicate."""
    found = scores(np.array([counts]))
    assert {values.shape for values in found.values()} == {(1,)}
    return {name: float(values[0]) for name, values in found.items()}


def items_and_answers(count, levels, seed=0):
    """Half AQs, of validation and test; confidences with ties if there are few levels of them."""
    rng = np.random.default_rng(seed)
    said, items = {}, []
    for i in range(count):
        label = {"red": 1.0, "pink": 0.5} if rng.random() < 0.5 else {}
        items.append(
            BenchmarkItem(
                str(i), f"n{i % 7}", label, split="validation" if i % 3 else "test", pair_id=f"p{i // 2}"
            )
        )
        said[str(i)] = (str(rng.choice(["red", "pink", "blue"])), rng.integers(0, levels + 1) / levels)
    return Items.from_rows(items), said


@pytest.mark.parametrize("levels", [7, 10**6])
@pytest.mark.parametrize("lost", [0, 9])
@pytest.mark.parametrize("split", ["test", "all"])
def test_a_replicate_is_the_score_of_the_sampled_items(levels, lost, split):
    items, said = items_and_answers(300, levels)
    options = OPTIONS._replace(missing="wrong", split=split)
    joined = join_predictions(items, model(dict(list(said.items())[lost:])), options)
    cluster = np.array([int(image[1:]) for image in joined.items["image"]])
    scores = make_score_statistic(
        joined, cluster, options, ("realistic", "pairs", "selective", "calibration")
    )
    for drawn in np.random.default_rng(1).multinomial(7, [1 / 7] * 7, 20):
        found, again = one(scores, drawn), np.repeat(np.arange(len(cluster)), drawn[cluster])
        told_apart, correct, answerable = (column[again] for column in joined.metric_inputs)
        expected = realistic_scores(told_apart, correct, answerable)
        confidence = joined.confidence[again]
        at_risk = coverage_at_risk(confidence, correct, RISKS)
        expected |= {
            f"coverage_at_risk/{r}": c for r, c in zip(RISKS, np.ravel(at_risk).tolist(), strict=True)
        }
        expected["auc"] = risk_coverage_auc(confidence, correct)
        if joined.validation:
            for cost in COSTS:
                threshold = choose_threshold(
                    joined.validation.confidence, joined.validation.correct, cost=cost
                )
                phi = effective_reliability(confidence, correct, cost=cost, threshold=threshold)
                expected[f"effective_reliability/{cost}/phi"] = phi
        given = ~joined.missing[again]
        for outcome, true in (("answerable", answerable[given]), ("correct", correct[given])):
            expected |= {
                f"{outcome}/ece": expected_calibration_error(confidence[given], true),
                f"{outcome}/ece_equal_mass": expected_calibration_error(
                    confidence[given], true, binning="equal_mass"
                ),
            }
            expected[f"{outcome}/brier"] = brier_score(confidence[given], true)
        assert {name: found[name] for name in expected} == pytest.approx(expected, nan_ok=True, rel=1e-12)
        # Of a pair at most one item is on test.
        pairs = {"dual_accuracy", "dual_accuracy_at_threshold"} if split == "all" else set()
        assert set(found) - set(expected) == pairs


def test_pairs_are_sampled_with_their_images():
    scores = make_score_statistic(answered(), np.array([0, 0, 1, 1, 2, 2]), OPTIONS, ("pairs",))
    # Pairs p1 and p3 are handled right, p2 is not: 2 of 3 drawn, 3 of 3, 3 of 3. At 0.5 u1 and u3 are rejected, u2 is not.
    for drawn, dual in zip(np.array([[2, 1, 0], [1, 0, 2], [0, 0, 3]]), (2 / 3, 1, 1), strict=True):
        assert one(scores, drawn) == pytest.approx(
            {"dual_accuracy": dual, "dual_accuracy_at_threshold": dual}
        )


def test_a_correct_pair_counts_if_its_uq_has_less_confidence():
    # p1: the AQ at 0.9, the UQ at 0.2; p2: at 0.6 and 0.7, so in the wrong order, and 0.5 accepts both.
    rows = [("a1", "n1", "red", "p1", "", None, "red", 0.9), ("u1", "n1", "UQ", "p1", "", None, "", 0.2)]
    rows += [("a2", "n2", "red", "p2", "", None, "red", 0.6), ("u2", "n2", "UQ", "p2", "", None, "", 0.7)]
    scores = make_score_statistic(answered(rows), np.array([0, 0, 1, 1]), OPTIONS, ("pairs",))
    for drawn, dual in (([1, 1], 1 / 2), ([2, 0], 1.0), ([0, 2], 0.0)):
        assert one(scores, drawn) == {"dual_accuracy": dual, "dual_accuracy_at_threshold": dual}


def test_without_pairs_validation_or_probabilities_there_are_no_replicates():
    joined = answered([(i, p, a, "", "", c, said, 10 * s) for i, p, a, _, _, c, said, s in ROWS])
    found = make_score_statistic(
        joined, np.zeros(6, int), OPTIONS, ("realistic", "pairs", "selective", "calibration")
    )
    expected = {*REALISTIC_SCORES, "auc", *(f"coverage_at_risk/{risk}" for risk in RISKS)}
    assert set(one(found, [1])) == expected


def test_with_human_answers_a_replicate_is_the_mean_of_the_sampled_items():
    # VQA accuracies 0.9, 0, NaN (one person, corrected): the undefined one never counts.
    people, said = [["red"] * 3 + ["blue"] * 7, ["cat"] * 10, ["cat"]], ["red", "dog", "cat"]
    joined = vqa_answered(people, said, [0.8, 0.6, 0.4])
    scores = make_score_statistic(
        joined, np.array([0, 1, 1]), OPTIONS, ("answers", "selective", "calibration")
    )
    found = [one(scores, drawn) for drawn in ([1, 1], [3, 1], [0, 2])]
    assert [row["vqa_accuracy_corrected"] for row in found] == pytest.approx([0.45, 0.675, 0.0])
    # 0.9, 0, 0 (official: one person leaves nobody).
    assert [row["vqa_accuracy"] for row in found] == pytest.approx([0.3, 2.7 / 5, 0.0])
    # Risk 0.1 while the first is answered alone (drawn thrice: 3 of 5 items); right is the commonest answer: blue, cat, cat.
    assert [row["coverage_at_risk/0.1"] for row in found] == pytest.approx([1 / 3, 3 / 5, 0])
    assert found[0]["correct/ece"] == pytest.approx((0.8 + 0.6 + 0.6) / 3)
    accuracy = vqa_accuracy(said, people)
    assert found[0]["coverage_at_risk/0.6"] == coverage_at_risk([0.8, 0.6, 0.4], accuracy, 0.6)


def test_replicates_of_a_subset_and_of_the_mean_have_the_same_scores():
    items, said = items_and_answers(60, 10)
    joined = {name: join_predictions(items, model(said), OPTIONS) for name in "xy"}
    options = OPTIONS._replace(bootstrap=30)
    found = bootstrap_subsets(
        joined, lambda *given: make_score_statistic(*given, groups=("selective", "calibration")), options
    )
    assert set(found["mean"]) == set(found["x"]) >= {"coverage_at_risk/0.1", "correct/ece"}
    assert (found["x"]["correct/ece"] == found["y"]["correct/ece"]).all() and len(
        found["x"]["correct/ece"]
    ) == 30


@pytest.mark.parametrize("levels", [3, 10**6])
def test_a_score_that_is_added_has_an_interval(monkeypatch, levels):
    monkeypatch.setitem(REALISTIC_SCORES, "uqs", ReportedScore("UQs", lambda swept: int(swept.uqs[-1])))
    items, said = items_and_answers(60, levels)
    joined = join_predictions(items, model(said), OPTIONS)
    found = make_score_statistic(joined, np.arange(60) % 7, OPTIONS, ("realistic",))(np.ones((2, 7), int))
    found = {name: values[1] for name, values in found.items()}
    assert found["uqs"] == (~joined.answerable).sum() and set(found) == set(REALISTIC_SCORES)


@pytest.mark.parametrize("count", [2, 3, 30, 5 * BLOCK_SIZE // 2])
@pytest.mark.parametrize("levels", [1, 2, 25, None])
@pytest.mark.parametrize("fractions", [False, True])
def test_realistic_scores_of_a_replicate_are_those_of_the_repeated_items(count, levels, fractions):
    for seed in range(2 if count > BLOCK_SIZE else 40):
        rng = np.random.default_rng(seed)
        confidence = rng.random(count) if levels is None else rng.integers(0, levels, count) / levels
        answerable, correct = rng.random(count) < 0.6, rng.random(count) < 0.5
        if fractions:
            correct = correct * 0.3
        images = max(count // 4, 1)
        cluster = rng.integers(0, images, count)
        some = answerable | (rng.random(count) < 0.5)
        counts = sample_cluster_counts(images, 3, seed)
        found = make_realistic_statistic(
            rank_items(confidence, correct, answerable), cluster, subgroups={"some": some}
        )(counts)
        for place, drawn in enumerate(counts):
            again = np.repeat(np.arange(count), drawn[cluster])
            expected = realistic_scores(confidence[again], correct[again], answerable[again])
            again = again[some[again]]
            expected["auaf/some"] = realistic_scores(confidence[again], correct[again], answerable[again])[
                "auaf"
            ]
            own = {name: values[place] for name, values in found.items()}
            assert own == pytest.approx(expected, nan_ok=True, rel=1e-12)


def test_the_requested_scores_are_computed():
    by = rank_items(np.array([0.9, 0.5]), np.ones(2), np.array([True, False]))
    assert [*make_realistic_statistic(by, np.array([0, 1]), ("ff95", "auaf"))(np.ones((1, 2), int))] == [
        "ff95",
        "auaf",
    ]


def test_sums_beyond_32_bits_are_whole():
    # Both items 2^31 times: in 32 bits either sum would be negative.
    by = rank_items(np.array([0.9, 0.5]), np.ones(2), np.array([True, False]))
    found = one(make_realistic_statistic(by, np.array([0, 0])), [2**31])
    assert (found["auroc"], found["facc"], found["detection_error"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize("repetitions", [1, 21])
def test_two_threads_give_what_one_gives(monkeypatch, repetitions):
    joined = {"s": answered()}
    options = ScoringOptions(bootstrap=repetitions)

    def scoring(*given):
        return make_score_statistic(*given, groups=("realistic", "selective", "calibration"))

    alone = bootstrap_subsets(joined, scoring, options)
    monkeypatch.setattr("pipeline.scoring.bootstrap_scores.MIN_ITEMS_FOR_THREADS", 1)
    monkeypatch.setattr("pipeline.scoring.bootstrap.VALUES_PER_BATCH", 1)
    beside = bootstrap_subsets(joined, scoring, options)
    assert alone["s"].keys() == beside["s"].keys()
    for name, values in alone["s"].items():
        assert values.tolist() == pytest.approx(beside["s"][name].tolist(), nan_ok=True, abs=0)
