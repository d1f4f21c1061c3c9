"""Bootstrap intervals, and the scores of a replicate."""

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm, studentized_range
from sklearn.metrics import roc_auc_score

from pipeline.scoring.answer_scores import vqa_accuracy
from pipeline.scoring.bootstrap import (
    bootstrap,
    cluster_auroc,
    cluster_mean,
    number_clusters,
    percentile_interval,
    percentile_intervals,
    sample_cluster_counts,
    simultaneous_intervals,
)
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

# Bootstrap


def test_clusters_are_sampled_with_replacement():
    counts = sample_cluster_counts(2, 500, 0)
    assert counts.shape == (500, 2) and (counts.sum(axis=1) == 2).all()
    # Each count is binomial(2, 1/2): mean 1, standard error 0.03.
    assert counts.mean(axis=0) == pytest.approx([1, 1], abs=0.12)


def test_a_cluster_of_two_columns_has_one_number():
    count, places = number_clusters([["n1", "n2"], ["n2", "n3"]])
    assert count == 3 and [place.tolist() for place in places] == [[0, 1], [1, 2]]


def test_a_replicate_depends_on_its_number_and_the_seed_alone():
    first, again, other = (sample_cluster_counts(4, 5, seed) for seed in (7, 7, 8))
    assert (first == again).all() and (first != other).any()
    assert (sample_cluster_counts(4, range(3, 5), 7) == first[3:]).all()
    assert sample_cluster_counts(0, 3, 7).shape == (3, 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("num_rows", [0, 10**9])  # in one batch, and in batches of one replicate
def test_batches_and_threads_change_nothing(threads, num_rows):
    statistic = cluster_mean([0.1, 0.2, 0.7], np.array([0, 1, 1]))
    found = bootstrap(statistic, 2, 21, 3, threads=threads, num_rows=num_rows)
    assert (found == statistic(sample_cluster_counts(2, 21, 3))).all()


def test_memory_does_not_grow_with_the_number_of_replicates():
    statistic = cluster_mean(np.ones(20_000), np.arange(20_000))
    tracemalloc.start()
    bootstrap(statistic, 20_000, 100)  # all counts at once: 16 MB
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_a_weighted_mean_is_that_of_the_repeated_rows():
    rng = np.random.default_rng(0)
    values, cluster = rng.random((40, 2)), rng.integers(0, 9, 40)
    values[::7, 0] = math.nan
    counts = sample_cluster_counts(9, 20, 0)
    expected = [np.nanmean(np.repeat(values, row[cluster], axis=0), axis=0) for row in counts]
    np.testing.assert_allclose(cluster_mean(values, cluster)(counts), expected)


@pytest.mark.parametrize("levels", [3, 10**9])  # with ties, and without
def test_a_weighted_auroc_is_that_of_the_repeated_rows(levels):
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, levels, 60), rng.random(60) < 0.4
    cluster = rng.integers(0, 20, 60)
    counts = sample_cluster_counts(20, 30, 0)
    expected = [roc_auc_score(positive, scores, sample_weight=row[cluster]) for row in counts]
    np.testing.assert_allclose(cluster_auroc(scores, positive, cluster)(counts), expected)


def test_within_strata_all_pairs_count_the_same():
    scores, strata = np.array([3, 1, 2, 5, 0, 9, 2]), np.array([7, 7, 7, 4, 4, 4, 7])
    positive = np.array([True, False, True, True, False, False, False])
    # Stratum 7: positives 3, 2 against 1, 2: 1 + 1 + 1 + 0.5. Stratum 4: 5 against 0, 9: 1 + 0. In all 4.5 of 6 pairs.
    auroc = cluster_auroc(scores, positive, np.arange(7), strata)
    assert auroc(np.ones((1, 7), int)).tolist() == [4.5 / 6]
    # Without stratum 4, 3.5 of 4; with the positive 3 twice and without the negative 1: 2 + 0.5 of 3.
    assert auroc(np.array([[1, 1, 1, 0, 0, 0, 1], [2, 0, 1, 0, 1, 1, 1]])).tolist() == [3.5 / 4, 2.5 / 3]


def test_within_strata_pairs_of_different_strata_are_not_compared():
    rng = np.random.default_rng(1)
    scores, positive = rng.integers(4, size=60), rng.random(60) < 0.4
    strata, weights = rng.integers(3, size=60), rng.integers(3, size=60)
    won = pairs = 0.0
    for i, j in product(range(60), repeat=2):
        if positive[i] and not positive[j] and strata[i] == strata[j]:
            pairs += weights[i] * weights[j]
            won += weights[i] * weights[j] * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    (found,) = cluster_auroc(scores, positive, np.arange(60), strata)(weights[None])
    assert found == pytest.approx(won / pairs)


def test_an_auroc_without_pairs_is_undefined():
    one_label = cluster_auroc(np.array([1.0, 2.0]), np.array([True, True]), np.array([0, 1]))
    assert np.isnan(one_label(np.ones((1, 2), int))).all()
    apart = cluster_auroc(np.array([1, 2]), np.array([True, False]), np.array([0, 1]), np.array([0, 1]))
    assert np.isnan(apart(np.ones((1, 2), int))).all()


def test_a_percentile_interval_is_the_middle_95_percent():
    assert percentile_interval(np.arange(1001) / 1000) == pytest.approx((0.025, 0.975))
    assert percentile_interval(np.arange(1001) / 1000, level=0.5) == pytest.approx((0.25, 0.75))


def test_an_interval_needs_95_percent_of_the_replicates():
    # 5 of 100 undefined: the interval of the others, 0 to 94; 6 of 100: none.
    values = np.append(np.arange(95.0), [math.nan] * 5)
    assert percentile_interval(values) == pytest.approx((0.025 * 94, 0.975 * 94))
    values[94] = math.nan
    assert all(math.isnan(bound) for bound in percentile_interval(values))
    assert all(math.isnan(bound) for bound in percentile_interval(np.array([1.0, math.nan])))


def test_one_simultaneous_interval_is_that_of_a_normal_estimate():
    samples = 5 + 2 * np.random.default_rng(0).normal(size=(1, 40_000))
    ((low, high),) = simultaneous_intervals([5.0], samples)
    assert (low, high) == pytest.approx((5 - 1.96 * 2, 5 + 1.96 * 2), abs=0.05)


def test_simultaneous_intervals_of_independent_estimates_are_sidaks():
    samples = np.random.default_rng(0).normal(size=(6, 40_000)) * np.arange(1, 7)[:, None]
    each = norm.ppf(1 - (1 - 0.95 ** (1 / 6)) / 2) * np.arange(1, 7)
    found = simultaneous_intervals(np.zeros(6), samples)
    np.testing.assert_allclose(found.T, [-each, each], rtol=0.02)


@pytest.mark.parametrize("models", [2, 5, 12])
def test_all_differences_of_independent_means_have_tukeys_critical_value(models):
    samples = np.random.default_rng(0).normal(size=(models, 40_000))
    first, second = np.triu_indices(models, 1)
    found = simultaneous_intervals(np.zeros(len(first)), samples[first] - samples[second])
    # Tukey's range test compares differences with q times the standard error of one mean, which is 1 here.
    np.testing.assert_allclose(found[:, 1], studentized_range.ppf(0.95, models, np.inf), rtol=0.02)


def test_what_never_varies_or_is_undefined_does_not_widen_the_others():
    one = np.random.default_rng(0).normal(size=(1, 999))
    (alone,) = simultaneous_intervals([0.0], one)
    samples = np.vstack([one, np.zeros_like(one), np.full_like(one, np.nan), one])
    found = simultaneous_intervals([0.0, 0.25, 0.0, math.nan], samples)
    assert found[0] == pytest.approx(alone) and found[1].tolist() == [0.25, 0.25]
    assert np.isnan(found[2:]).all()
    assert np.isnan(simultaneous_intervals([1.0], np.empty((1, 0)))).all()
    assert simultaneous_intervals([], np.empty((0, 9))).shape == (0, 2)


def test_undefined_replicates_are_excluded_for_all_statistics():
    samples = np.random.default_rng(0).normal(size=(2, 1000))
    holes = samples.copy()
    holes[0, :40] = math.nan
    expected = simultaneous_intervals([0.0, 0.0], samples[:, 40:])
    np.testing.assert_allclose(simultaneous_intervals([0.0, 0.0], holes), expected)


def test_percentile_intervals_of_several_are_those_of_each():
    samples = np.random.default_rng(0).random((200, 2, 3))
    samples[:5, 0, 1] = samples[:, 1, 2] = math.nan
    found = percentile_intervals(samples)
    for place in np.ndindex(2, 3):
        expected = percentile_interval(samples[(slice(None), *place)])
        assert found[(slice(None), *place)].tolist() == pytest.approx(expected, nan_ok=True)
    assert np.isfinite(found[:, 0, 1]).all() and np.isnan(found[:, 1, 2]).all()
    assert np.isnan(percentile_intervals(np.empty((0, 2)))).all()


# Bootstrap scores
# The scores of a replicate are those of the repeated items, by the plain functions.


RISKS, COSTS = (0.6, 0.1, 0.3, 0.0), (1, 10)
OPTIONS = ScoringOptions(risks=RISKS, costs=COSTS, split="all")


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


@pytest.mark.usefixtures("few_pairs_are_enough")
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


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_pairs_are_sampled_with_their_images():
    scores = make_score_statistic(answered(), np.array([0, 0, 1, 1, 2, 2]), OPTIONS, ("pairs",))
    # Pairs p1 and p3 are handled right, p2 is not: 2 of 3 drawn, 3 of 3, 3 of 3. At 0.5 u1 and u3 are rejected, u2 is not.
    for drawn, dual in zip(np.array([[2, 1, 0], [1, 0, 2], [0, 0, 3]]), (2 / 3, 1, 1), strict=True):
        assert one(scores, drawn) == pytest.approx(
            {"dual_accuracy": dual, "dual_accuracy_at_threshold": dual}
        )


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_a_correct_pair_counts_if_its_uq_has_less_confidence():
    # p1: the AQ at 0.9, the UQ at 0.2; p2: at 0.6 and 0.7, so in the wrong order, and 0.5 accepts both.
    rows = [("a1", "n1", "red", "p1", "", None, "red", 0.9), ("u1", "n1", "UQ", "p1", "", None, "", 0.2)]
    rows += [("a2", "n2", "red", "p2", "", None, "red", 0.6), ("u2", "n2", "UQ", "p2", "", None, "", 0.7)]
    scores = make_score_statistic(answered(rows), np.array([0, 0, 1, 1]), OPTIONS, ("pairs",))
    for drawn, dual in (([1, 1], 1 / 2), ([2, 0], 1.0), ([0, 2], 0.0)):
        assert one(scores, drawn) == {"dual_accuracy": dual, "dual_accuracy_at_threshold": dual}


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_without_pairs_validation_or_probabilities_there_are_no_replicates():
    joined = answered([(i, p, a, "", "", c, said, 10 * s) for i, p, a, _, _, c, said, s in ROWS])
    found = make_score_statistic(
        joined, np.zeros(6, int), OPTIONS, ("realistic", "pairs", "selective", "calibration")
    )
    expected = {*REALISTIC_SCORES, "auc", *(f"coverage_at_risk/{risk}" for risk in RISKS)}
    assert set(one(found, [1])) == expected


@pytest.mark.usefixtures("few_pairs_are_enough")
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


@pytest.mark.usefixtures("few_pairs_are_enough")
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


@pytest.mark.usefixtures("few_pairs_are_enough")
@pytest.mark.parametrize("levels", [3, 10**6])
def test_a_score_that_is_added_has_an_interval(monkeypatch, levels):
    monkeypatch.setitem(REALISTIC_SCORES, "uqs", ReportedScore("UQs", lambda swept: int(swept.uqs[-1])))
    items, said = items_and_answers(60, levels)
    joined = join_predictions(items, model(said), OPTIONS)
    found = make_score_statistic(joined, np.arange(60) % 7, OPTIONS, ("realistic",))(np.ones((2, 7), int))
    found = {name: values[1] for name, values in found.items()}
    assert found["uqs"] == (~joined.answerable).sum() and set(found) == set(REALISTIC_SCORES)


@pytest.mark.usefixtures("few_pairs_are_enough")
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


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_the_requested_scores_are_computed():
    by = rank_items(np.array([0.9, 0.5]), np.ones(2), np.array([True, False]))
    assert [*make_realistic_statistic(by, np.array([0, 1]), ("ff95", "auaf"))(np.ones((1, 2), int))] == [
        "ff95",
        "auaf",
    ]


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_sums_beyond_32_bits_are_whole():
    # Both items 2^31 times: in 32 bits either sum would be negative.
    by = rank_items(np.array([0.9, 0.5]), np.ones(2), np.array([True, False]))
    found = one(make_realistic_statistic(by, np.array([0, 0])), [2**31])
    assert (found["auroc"], found["facc"], found["detection_error"]) == (1.0, 1.0, 0.0)


@pytest.mark.usefixtures("few_pairs_are_enough")
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
