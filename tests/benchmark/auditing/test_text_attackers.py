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


def test_a_word_that_betrays_the_label_is_found_by_both_families():
    texts = [text.replace("What", "Which") if i % 2 else text for i, text in enumerate(TEXTS * 4)]
    labels = np.arange(len(texts)) % 2
    folds = Folds(labels, np.array([str(i) for i in range(len(texts))]), 5, 0)
    for guess in (score_by_word_ngrams, score_by_character_ngrams, score_by_first_words):
        assert roc_auc_score(labels, guess(texts, folds)) > 0.95


def test_texts_that_stand_equally_often_with_both_labels_tell_nothing():
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


def test_what_goes_with_what_is_found_by_pairs_though_every_word_is_as_frequent_in_both():
    # Originals: a man wears, a fence stands. Edited: the other way round. Each word is 60 times in either.
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


def test_a_language_model_knows_the_odd_text_without_having_seen_one():
    texts, labels, folds = rows(
        (
            [f"What is the {thing} made of?" for thing in THINGS] * 3,
            [f"What the is {thing} of made?" for thing in THINGS] * 3,
        )
    )
    # The odder a text, the lower its likelihood: here every edited one is below every original.
    assert roc_auc_score(labels, -score_by_likelihood(texts, folds)) == 1.0


def test_who_has_read_other_questions_finds_what_nobody_asks():
    # Edited texts put together words that many other questions have, but never side by side. No word tells the label.
    asked = [f"Is the {color} {thing} new?" for color in COLORS for thing in NOUNS]
    edited = [f"Is the {thing} {color} new?" for color in COLORS for thing in NOUNS]
    texts, labels, folds = rows((asked, edited))
    known = KnownQuestions([f"Where is the {color} {thing}?" for color in COLORS for thing in NOUNS] + asked)
    folds = replace(folds, known_questions=known)
    assert roc_auc_score(labels, score_by_other_questions(texts, folds)) > 0.95


def test_that_a_text_itself_was_asked_tells_nothing_once_it_is_left_out():
    # Of two texts in a group, that share no word with others, one was asked: the odd or the even one, told or not.
    texts = [f"{side}{i} {side}{i}?" for i in range(40) for side in "xy"]
    asked = [texts[2 * i + i % 2] for i in range(40)]
    labels = np.array([text not in asked for text in texts], int)
    folds = Folds(labels, np.repeat(np.arange(40), 2), 4, 0, KnownQuestions(asked))
    assert roc_auc_score(labels, -score_by_verbatim_count(texts, folds)) == 1.0
    assert evaluate_attack(score_by_other_questions(texts, folds), folds, 5).auroc == pytest.approx(
        0.5, abs=0.02
    )


def test_the_very_text_tells_who_has_read_it_and_nothing_is_told_where_nobody_has():
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


def test_no_attacker_learns_from_a_text_that_it_is_asked_of():
    # Texts that share no word, each with both labels in one group: whoever had seen one would know the other.
    texts = [f"{thing}{side}" for thing in THINGS for side in ("x", "y")]
    labels, groups = np.tile([0, 1], len(THINGS)), np.repeat(THINGS, 2)
    swapped = labels[::-1].copy()
    for name in ("word n-grams", "word pairs", "word pairs, Bayes"):
        for told in (labels, swapped):
            assert roc_auc_score(
                told, TEXT_ATTACKERS[name](texts, Folds(told, groups, 4, 0))
            ) == pytest.approx(0.5, abs=0.1)
