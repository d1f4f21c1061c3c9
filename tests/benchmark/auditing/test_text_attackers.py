from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pipeline.benchmark.auditing.attack_evaluation import Folds, evaluate_attack, score_by_word_ngrams
from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.benchmark.auditing.text_attackers import (
    TEXT_ATTACKERS,
    score_by_character_ngrams,
    score_by_first_words,
    score_by_likelihood,
    score_by_other_questions,
    score_by_verbatim_count,
    score_by_word_pairs,
    score_by_word_pairs_naive_bayes,
)

COLORS = ["red", "blue", "green", "pink", "black"]
NOUNS = ["cup", "box", "hat", "ball", "car", "bird"]
TEXTS = [f"What is the {color} {thing} made of?" for color in COLORS for thing in NOUNS]
THINGS = [f"thing{i}" for i in range(12)]


def test_a_word_that_predicts_the_label_is_found():
    texts = [text.replace("What", "Which") if i % 2 else text for i, text in enumerate(TEXTS * 4)]
    labels = np.arange(len(texts)) % 2
    folds = Folds(labels, np.array([str(i) for i in range(len(texts))]), 5, 0)
    for guess in (score_by_word_ngrams, score_by_character_ngrams, score_by_first_words):
        assert roc_auc_score(labels, guess(texts, folds)) > 0.95


def test_texts_with_both_labels_equally_often_predict_nothing():
    # 30 texts, each once as UQ and once as AQ: within a fold the counts of every n-gram are equal for both labels.
    texts = TEXTS * 2
    folds = Folds(np.repeat([0, 1], len(TEXTS)), np.array(texts), 5, 0)
    assert evaluate_attack(score_by_word_ngrams(texts, folds), folds, 100).auroc == pytest.approx(
        0.5, abs=0.02
    )


def rows(texts_by_label):
    texts = [text for of_label in texts_by_label for text in of_label]
    labels = np.repeat([0, 1], [len(of_label) for of_label in texts_by_label])
    return texts, labels, Folds(labels, np.array([str(i) for i in range(len(texts))]), 5, 0)


def test_word_pairs_are_found_even_if_every_word_is_equally_frequent():
    # In originals a man wears and a fence stands, in edited questions the reverse. Each word occurs 60 times under both labels.
    usual = [
        f"Is the {who} near the {thing} {does}?"
        for who, does in (("man", "wearing"), ("fence", "standing"))
        for thing in THINGS
    ]
    odd = [
        f"Is the {who} near the {thing} {does}?"
        for who, does in (("man", "standing"), ("fence", "wearing"))
        for thing in THINGS
    ]
    texts, labels, folds = rows((usual * 5, odd * 5))
    for guess in (score_by_word_pairs, score_by_word_pairs_naive_bayes):
        assert roc_auc_score(labels, guess(texts, folds)) > 0.95


def test_a_language_model_finds_unusual_texts_without_having_seen_one():
    texts, labels, folds = rows(
        (
            [f"What is the {thing} made of?" for thing in THINGS] * 3,
            [f"What the is {thing} of made?" for thing in THINGS] * 3,
        )
    )
    # Unusual texts have a low likelihood: every edited text is below every original.
    assert roc_auc_score(labels, -score_by_likelihood(texts, folds)) == 1.0


def test_reading_other_questions_reveals_unusual_combinations():
    # Edited texts combine words that occur in many other questions, but never next to each other. No word predicts the label.
    asked = [f"Is the {color} {thing} new?" for color in COLORS for thing in NOUNS]
    edited = [f"Is the {thing} {color} new?" for color in COLORS for thing in NOUNS]
    texts, labels, folds = rows((asked, edited))
    known = KnownQuestions([f"Where is the {color} {thing}?" for color in COLORS for thing in NOUNS] + asked)
    folds = replace(folds, known_questions=known)
    assert roc_auc_score(labels, score_by_other_questions(texts, folds)) > 0.95


def test_the_own_text_predicts_nothing_once_it_is_excluded():
    # Of the two texts of a group, which share no word with other texts, one is a known question.
    texts = [f"{side}{i} {side}{i}?" for i in range(40) for side in "xy"]
    asked = [texts[2 * i + i % 2] for i in range(40)]
    labels = np.array([text not in asked for text in texts], int)
    folds = Folds(labels, np.repeat(np.arange(40), 2), 4, 0, KnownQuestions(asked))
    assert roc_auc_score(labels, -score_by_verbatim_count(texts, folds)) == 1.0
    assert evaluate_attack(score_by_other_questions(texts, folds), folds, 5).auroc == pytest.approx(
        0.5, abs=0.02
    )


def test_the_exact_text_predicts_the_label_if_the_questions_are_known():
    texts, labels, folds = rows((TEXTS, [text.replace("made", "sold") for text in TEXTS]))
    assert (
        roc_auc_score(
            labels, -score_by_verbatim_count(texts, replace(folds, known_questions=KnownQuestions(TEXTS)))
        )
        == 1.0
    )
    for guess in (score_by_verbatim_count, score_by_other_questions):
        assert (
            np.isnan(guess(texts, folds)).all()
            and evaluate_attack(guess(texts, folds), folds, 5).auroc is None
        )


def test_no_attacker_trains_on_the_group_that_it_predicts():
    # The texts share no words, and each group has both labels, so an attacker that trained on one row would know the other.
    texts = [f"{thing}{side}" for thing in THINGS for side in ("x", "y")]
    labels, groups = np.tile([0, 1], len(THINGS)), np.repeat(THINGS, 2)
    swapped = labels[::-1].copy()
    for name in ("word n-grams", "word pairs", "word pairs, naive Bayes"):
        for given in (labels, swapped):
            assert roc_auc_score(
                given, TEXT_ATTACKERS[name](texts, Folds(given, groups, 4, 0))
            ) == pytest.approx(0.5, abs=0.1)
