import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pipeline.auditing import attackers
from pipeline.core.randomness import generator

COLORS = ["red", "blue", "green", "pink", "black"]
THINGS = ["cup", "box", "hat", "ball", "car", "bird"]
TEXTS = [f"What is the {color} {thing} made of?" for color in COLORS for thing in THINGS]


def test_a_word_that_betrays_the_label_is_found_by_both_families():
    texts = [text.replace("What", "Which") if i % 2 else text for i, text in enumerate(TEXTS * 4)]
    labels = np.arange(len(texts)) % 2
    groups = np.array([str(i) for i in range(len(texts))])
    for attack in (attackers.word_ngrams, attackers.character_ngrams, attackers.first_words):
        assert roc_auc_score(labels, attack(texts, labels, groups, 5, 0)) > 0.95


def test_texts_that_stand_equally_often_with_both_labels_tell_nothing():
    # 30 texts, each once as UQ and once as AQ: within a fold the counts of every n-gram are equal for both labels.
    texts, labels = TEXTS * 2, np.repeat([0, 1], len(TEXTS))
    scores = attackers.word_ngrams(texts, labels, np.array(texts), 5, 0)
    assert attackers.score(scores, labels, np.array(texts), 100, generator(0)).auroc == pytest.approx(
        0.5, abs=0.02
    )


def test_a_reliably_wrong_attacker_counts_as_a_right_one():
    labels = np.array([0, 0, 0, 1, 1, 1] * 10)
    found = attackers.score(-labels.astype(float), labels, np.arange(60).astype(str), 100, generator(0))
    assert (found.auroc, found.low, found.high) == (1.0, 1.0, 1.0)


def test_a_resampled_auroc_is_that_of_repeated_rows():
    # Five rows in three groups; the groups are drawn 2, 0 and 3 times.
    scores, labels, group = np.array([1.0, 2, 2, 3, 4]), np.array([0, 0, 1, 1, 0]), np.array([0, 1, 2, 0, 2])
    weights = np.array([2, 0, 3, 2, 3])
    expected = roc_auc_score(np.repeat(labels, weights), np.repeat(scores, weights))
    assert attackers.aurocs_of_resampled(scores, labels == 1, np.array([[2, 0, 3]]), group) == pytest.approx(
        [expected]
    )


def test_a_missing_score_makes_the_attack_not_applicable():
    found = attackers.score(np.array([0.5, np.nan]), np.array([0, 1]), np.array(["a", "b"]), 50, generator(0))
    assert found.auroc is None


def test_a_text_an_edited_question_and_its_original_are_one_group():
    rows = [  # text, source question
        ("Is the cup red?", "q2"),
        ("Is the hat red?", "q2"),
        ("Is the hat red?", "q5"),
        ("Is the dog big?", "q5"),
        ("Is it raining?", "q1"),
        ("Is it sunny?", "q3"),
    ]
    # q2 has both of the first texts, the second of them is also of q5, and so is the fourth: one chain.
    groups = attackers.text_groups(*zip(*rows, strict=True)).tolist()
    assert len(set(groups[:4])) == 1
    assert len(set(groups)) == 3
