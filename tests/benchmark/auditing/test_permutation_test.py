"""The permutation test: how labels are exchanged, and that the fast attackers agree with scikit-learn."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB

from pipeline.benchmark.auditing import permutation_test
from pipeline.benchmark.auditing.attack_evaluation import Folds
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
