import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score

from pipeline.benchmark.auditing.attack_evaluation import (
    Folds,
    evaluate_attack,
    group_by_text,
    order_by_hash,
    score_by_vectors,
)


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
