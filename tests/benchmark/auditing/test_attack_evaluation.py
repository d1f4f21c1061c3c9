"""Evaluation of attacks: folds, the permutation test and predictive words."""

import math
from collections import Counter

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB

from pipeline.benchmark.auditing import permutation_test
from pipeline.benchmark.auditing.attack_evaluation import (
    Folds,
    evaluate_attack,
    group_by_text,
    order_by_hash,
    score_by_vectors,
)
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.permutation_test import (
    LENGTH_ATTACKER,
    AttackerPanel,
    FoldFeatures,
    PermutationInputs,
    compute_p_value,
    permute_labels,
    run_max_t_test,
    sample_groups,
    score_by_class_means,
    score_by_naive_bayes,
)
from pipeline.benchmark.auditing.predictive_words import find_predictive_words

# Attack evaluation


def test_an_attacker_that_is_always_wrong_has_auroc_1():
    labels = np.array([0, 0, 0, 1, 1, 1] * 10)
    folds = Folds(labels, np.arange(60).astype(str), 5, 0)
    reached = evaluate_attack(-labels.astype(float), folds, 100)
    assert (reached.auroc, reached.low, reached.high, reached.is_below_half) == (1.0, 1.0, 1.0, True)
    assert not evaluate_attack(labels.astype(float), folds, 100).is_below_half
    assert not evaluate_attack(-labels.astype(float), folds, 100, has_direction=False).is_below_half


def test_a_missing_score_makes_the_attack_not_applicable():
    folds = Folds(np.array([0, 1]), np.array(["a", "b"]), 2, 0)
    assert evaluate_attack(np.array([0.5, np.nan]), folds, 50).auroc is None


def test_equal_texts_and_edited_questions_with_their_originals_are_one_group():
    rows = [  # text, source question
        ("Is the cup red?", "q2"),
        ("Is the hat red?", "q2"),
        ("Is the hat red?", "q5"),
        ("Is the dog big?", "q5"),
        ("Is it raining?", "q1"),
        ("Is it sunny?", "q3"),
    ]
    # q2 has both of the first texts, the second of them is also of q5, and so is the fourth: one chain.
    groups = group_by_text(*zip(*rows, strict=True)).tolist()
    assert len(set(groups[:4])) == 1
    assert len(set(groups)) == 3


def test_a_fold_depends_on_the_names_of_groups_and_not_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    groups, labels = (
        np.array([f"g{i}" for i in rng.integers(30, size=200)], object),
        rng.integers(2, size=200),
    )

    def fold_of(order):
        splits = Folds(labels[order], groups[order], 5, 0).split_rows()
        return {groups[order][row]: fold for fold, (_, held) in enumerate(splits) for row in held}

    assert fold_of(np.arange(200)) == fold_of(rng.permutation(200))
    names = [f"g{i}" for i in range(30)]
    assert [names[i] for i in order_by_hash(names, 0)] != [names[i] for i in order_by_hash(names, 1)]


def test_folds_differ_by_no_more_than_the_smallest_groups():
    # 12 groups of 3 rows and one of 7 in 4 folds: 43 rows; the large one goes first, then the emptiest fold gets the next.
    groups = np.array([*np.repeat(np.arange(12), 3), *[99] * 7])
    sizes = sorted(len(held) for _, held in Folds(np.zeros(43, int), groups, 4, 0).split_rows())
    # 7, 3, 3, 3 -> 7, 6, 6, 6 -> 7, 9, 9, 9 -> 10, 9, 9, 9 -> 10, 12, 9, 9 -> 10, 12, 12, 9
    assert sizes == [9, 10, 12, 12]


def test_the_rows_of_a_group_are_all_in_the_same_fold():
    groups = np.repeat(np.arange(12), 3)
    splits = Folds(np.tile([0, 1], 18), groups, 4, 0).split_rows()
    assert sorted(row for _, guessed in splits for row in guessed) == list(range(36))
    assert all(not set(groups[learnt]) & set(groups[guessed]) for learnt, guessed in splits)


@pytest.mark.parametrize(
    ("labels", "groups"),
    [([0, 1, 0, 1], ["a", "a", "b", "b"]), ([0, 0, 0, 1], ["a", "b", "c", "d"])],
    ids=["fewer groups than folds", "a fold without a UQ in training"],
)
def test_scores_are_nan_if_a_fold_cannot_be_trained(labels, groups):
    scores = score_by_vectors(np.eye(4), Folds(np.array(labels), np.array(groups), 3, 0))
    assert np.isnan(scores).all()


def test_a_vector_that_predicts_the_label_is_found():
    labels = np.tile([0, 1], 20)
    vectors = np.stack([labels, np.arange(40)], axis=1).astype(np.float32)
    assert roc_auc_score(labels, score_by_vectors(vectors, Folds(labels, np.arange(40), 5, 0))) == 1.0


def test_the_interval_of_a_trained_attacker_is_widened_and_clipped():
    # Nadeau and Bengio: with 5 folds the variance is 1 + 5 / 4 times as large, so ends are 1.5 times as far away.
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(2, size=300), np.arange(300) // 3
    scores = rng.normal(0.3 * labels, 1.0)
    folds = Folds(labels, groups, 5, 0)
    once, wide = (evaluate_attack(scores, folds, 200, is_trained=learned) for learned in (False, True))
    assert once.auroc == wide.auroc == pytest.approx(roc_auc_score(labels, scores), abs=1e-4)
    assert wide.low == pytest.approx(once.auroc - 1.5 * (once.auroc - once.low), abs=2e-4)
    assert wide.high == pytest.approx(once.auroc + 1.5 * (once.high - once.auroc), abs=2e-4)
    few = evaluate_attack(scores[:40], Folds(labels[:40], groups[:40], 5, 0), 200)
    assert few.low >= 0 and few.high <= 1


def test_intervals_have_their_coverage_if_nothing_can_be_learned():
    held = {True: 0, False: 0}
    for seed in range(80):
        rng = np.random.default_rng(seed)
        folds = Folds(rng.integers(2, size=150), np.arange(150), 5, seed)
        scores = score_by_vectors(rng.normal(size=(150, 4)), folds)
        for learned in held:
            found = evaluate_attack(scores, folds, 100, is_trained=learned)
            held[learned] += found.low <= 0.5 <= found.high
    # 95 % of 80 are 76; fewer than 70 would come less than once in 100 times (binomial). Unwidened they are too narrow.
    assert held[True] >= 70 > held[False]


def test_scores_are_centred_on_the_training_proportion_of_each_fold():
    # Without features each fold is guessed by the share of UQs among what it learns from. Of 4 UQs three are one group, so
    # those shares differ; left in, they would rank the folds by how few UQs they have, a signal that is none.
    labels, groups = np.array([1, 1, 1, 1] + [0] * 8), np.array([0, 0, 0, *range(1, 10)])
    folds = Folds(labels, groups, 3, 0)
    assert len({labels[learnt].mean() for learnt, _ in folds.split_rows()}) > 1
    assert folds.cross_val_scores(np.zeros((12, 1)), DummyClassifier(strategy="prior")).tolist() == [0.0] * 12


# Permutation test
# The permutation test: how labels are exchanged, and that the fast attackers agree with scikit-learn.


def test_labels_are_exchanged_uniformly_between_and_within_clusters_of_the_same_size():
    # Two clusters of two rows and one of one. The single row keeps its label; the other two clusters have one 1 among four rows.
    labels, clusters = np.array([1, 0, 0, 0, 1]), np.array([0, 0, 1, 1, 2])
    found = permute_labels(labels, clusters, None, 2000, np.random.default_rng(0))
    assert found[:, 0].tolist() == labels.tolist() and set(found[4]) == {1}
    counts = Counter(map(tuple, found[:4, 1:].T.tolist()))
    assert len(counts) == 4 and sum(map(sum, counts)) == 4
    # 500 each, standard deviation sqrt(2000 / 4 * 3 / 4) = 19
    assert all(abs(count - 500) < 4 * 19 for count in counts.values())


def test_pairs_stay_pairs():
    # Two images, each with a pair of one question and a single row; a pair has one row of each label.
    labels = np.array([0, 1, 1, 1, 0, 0])
    images, units = np.array([0, 0, 0, 1, 1, 1]), np.array([5, 5, 6, 7, 7, 8])
    found = permute_labels(labels, images, units, 500, np.random.default_rng(0))
    assert set(found[:2].sum(axis=0)) == set(found[3:5].sum(axis=0)) == {1}
    # The single rows have 1 and 0, and exchange them as often as not.
    assert set(found[[2, 5]].sum(axis=0)) == {1} and 150 < found[2].sum() < 350


def test_rows_of_one_unit_in_two_clusters_are_two_units():
    found = permute_labels(
        np.array([1, 0]), np.array([0, 1]), np.array([3, 3]), 200, np.random.default_rng(0)
    )
    assert 60 < found[0].sum() < 140  # two clusters of one row each


def made(rows=60, features=8):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=(rows, features)).astype(float)
    labels = rng.integers(2, size=(rows, 3)).astype(float)
    held = np.array_split(rng.permutation(rows), 4)
    splits = [(np.setdiff1d(np.arange(rows), test), test) for test in held]
    return counts, labels, splits


def test_naive_bayes_is_that_of_scikit_learn():
    counts, labels, splits = made()
    found = score_by_naive_bayes(FoldFeatures(counts, splits), labels, alpha=0.3)
    for column in range(3):
        for train, test in splits:
            model = MultinomialNB(alpha=0.3, fit_prior=False).fit(counts[train], labels[train, column])
            logs = model.predict_log_proba(counts[test])
            assert found[test, column] == pytest.approx(logs[:, 1] - logs[:, 0])


def test_class_means_are_means():
    counts, labels, splits = made()
    found = score_by_class_means(FoldFeatures(counts, splits), labels)
    for train, test in splits:
        one, zero = (counts[train][labels[train, 0] == label].mean(axis=0) for label in (1, 0))
        assert found[test, 0] == pytest.approx(counts[test] @ (one - zero))


def test_a_feature_of_a_single_row_changes_nothing():
    counts, labels, splits = made()
    single = np.zeros((60, 1))
    single[7] = 1
    more = FoldFeatures(np.hstack([counts, single]), splits)
    assert np.array_equal(
        score_by_class_means(more, labels), score_by_class_means(FoldFeatures(counts, splits), labels)
    )


def test_aurocs_are_those_of_scikit_learn_for_every_assignment():
    rng = np.random.default_rng(0)
    texts = [f"is it {'very ' * int(n)}thing{k}" for n, k in rng.integers(4, size=(40, 2))]
    labels = rng.integers(2, size=(40, 70)).astype(np.int8)  # more than one block
    splits = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    found = AttackerPanel(texts, splits).compute_aurocs(labels)
    lengths = [len(text.split()) for text in texts]
    expected = [roc_auc_score(column, lengths) for column in labels.T]
    assert found[LENGTH_ATTACKER] == pytest.approx(expected)
    assert {len(row) for row in found.values()} == {70} and len(found) == 5


def test_the_p_value_counts_assignments_with_as_large_a_maximum():
    # Of four assignments the observed one has the largest AUROC of "a"; "length" deviates as much, on either side.
    up = {"a": np.array([0.9, 0.5, 0.5, 0.5]), "b": np.array([0.5, 0.5, 0.5, 0.5])}
    assert compute_p_value(up) == (1 / 4, "a")
    # Below 0.5 an attacker that is trained does not count: 3 of 4 are above their mean, and as far.
    down = {"a": np.array([0.1, 0.5, 0.5, 0.5])}
    assert compute_p_value(down) == (1.0, "a")
    assert compute_p_value({LENGTH_ATTACKER: np.array([0.1, 0.5, 0.5, 0.5])}) == (1 / 4, LENGTH_ATTACKER)
    assert compute_p_value({"a": np.full(4, 0.5)}) == (1.0, "a")


def test_a_large_set_is_sampled_by_whole_groups(monkeypatch):
    rng = np.random.default_rng(0)
    groups, labels = (
        np.array([f"g{i}" for i in rng.integers(60, size=400)], object),
        rng.integers(2, size=400),
    )
    keep = sample_groups(Folds(labels, groups, 5, 0), 100)
    assert 80 < len(keep) <= 100
    assert not set(groups[keep]) & set(np.delete(groups, keep))
    order = rng.permutation(400)
    other = sample_groups(Folds(labels[order], groups[order], 5, 0), 100)
    assert set(groups[order][other]) == set(groups[keep])
    monkeypatch.setattr(permutation_test, "MAX_TESTED_ROWS", 100)
    rows = PermutationInputs([f"is it x{i % 7}" for i in range(400)], {"text": np.arange(400)}, None)
    assert run_max_t_test(rows, Folds(labels, groups, 5, 0), "text", 9).rows == len(keep)


def test_without_enough_groups_there_is_no_test():
    rows = PermutationInputs(["a", "b"], {"text": np.arange(2)}, None)
    assert (
        run_max_t_test(rows, Folds(np.array([0, 1]), np.array(["a", "b"], object), 5, 0), "text", 9) is None
    )


# Predictive words
# Rates, AUROC and interval of predictive words by arithmetic.


def words_of(texts, labels, images):
    return find_predictive_words(LabelledRows(texts=texts, labels=labels, images=[str(i) for i in images]))


def test_rates_and_interval_by_arithmetic():
    # "red" in 60 of 100 rows of label 1 and 20 of 100 of label 0, each row its own group: the variance of the difference is
    # 0.6 * 0.4 / 100 + 0.2 * 0.8 / 100 = 0.004, so AUROC = 0.7 +- 1.96 * sqrt(0.004) / 2.
    labels = np.repeat([1, 0], 100)
    texts = ["is it red" if i < 60 or 100 <= i < 120 else "is it" for i in range(200)]
    (word,) = words_of(texts, labels, np.arange(200))
    half = 1.96 * math.sqrt(0.004) / 2
    assert (word.word, word.rows, word.positive_rate, word.negative_rate, word.auroc) == (
        "red",
        80,
        0.6,
        0.2,
        0.7,
    )
    assert abs(word.low - (0.7 - half)) < 1e-4 and abs(word.high - (0.7 + half)) < 1e-4


def test_rows_of_one_image_count_together():
    # The same rows, five copies of each in one group: as sure as without the copies.
    labels = np.repeat([1, 0], 100)
    texts = ["is it red" if i < 60 or 100 <= i < 120 else "is it" for i in range(200)]
    (once,) = words_of(texts, labels, np.arange(200))
    (copied,) = words_of(texts * 5, np.tile(labels, 5), np.tile(np.arange(200), 5))
    assert (copied.low, copied.high) == (once.low, once.high) and copied.rows == 400


def test_chance_differences_are_not_listed():
    rng = np.random.default_rng(0)
    texts = [f"is thing{a} by thing{b}" for a, b in rng.integers(30, size=(2000, 2))]
    assert words_of(texts, rng.integers(2, size=2000), np.arange(2000)) == []


def test_bigrams_are_listed_only_if_they_predict_more_than_their_words():
    # "so" and "not" stand as often in either label, "so not" in one alone; "in red" says less than "red".
    labels = np.repeat([1, 0], 100)
    ones = ["so not in red", "is red", "what", "why"] * 25
    zeros = ["not so in blue", "is blue", "what", "why"] * 25
    words = {word.word: word.auroc for word in words_of(ones + zeros, labels, np.arange(200))}
    # "red" (and "blue") in half of one label's rows: 0.5 + 0.5 / 2; the others in a quarter.
    assert words.pop("red") == words.pop("blue") == 0.75
    assert set(words) == {"^ so", "^ not"} and set(words.values()) == {
        0.625
    }  # "so not", "not so", "not in" come with these


def test_rare_words_are_not_listed():
    assert words_of(["a", "b", "c", "d", "e", "f"], np.array([0, 1] * 3), np.arange(6)) == []
