"""Attackers: classifiers that predict the label of a question from its text alone.

No part of the pipeline is fitted to any of the attackers. Each attacker returns one score per text. Trained
attackers are trained on other groups of rows only. So neither a text nor its edited or original version is in
both the training rows and the test rows. To add an attacker, write a function and add it to `TEXT_ATTACKERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pipeline.benchmark.auditing.attack_evaluation import (
    UNTRAINED_ATTACKERS,
    Folds,
    compute_word_tfidf,
    score_by_word_ngrams,
)
from pipeline.benchmark.auditing.known_questions import make_word_pairs
from pipeline.benchmark.auditing.ngram_model import NgramModel, tokenize


def score_by_character_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True).fit_transform(texts)
    with threadpool_limits(1):
        features = TruncatedSVD(min(48, grams.shape[1]), random_state=folds.seed).fit_transform(grams)
    trees = HistGradientBoostingClassifier(
        max_iter=80,
        random_state=folds.seed,
        early_stopping=False,  # pyright: ignore[reportArgumentType] false stub
    )
    return folds.cross_val_scores(features, trees)


def score_by_word_pairs(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of words and pairs of words at any distance, with logistic regression.

    The attacker learns which words rarely occur together ("fence ... wearing").
    """
    return folds.cross_val_scores(
        make_word_pair_features(tuple(texts)), LogisticRegression(C=0.3, max_iter=500)
    )


def score_by_word_pairs_naive_bayes(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of the features of `score_by_word_pairs`, with naive Bayes.

    Naive Bayes also uses features that occur only once in the training rows.
    """
    return folds.cross_val_scores(make_word_pair_features(tuple(texts)), MultinomialNB(alpha=0.3))


def score_by_likelihood(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return the mean log probability of each text [n] under a language model of texts with label 0.

    The model uses word 3-grams with Witten-Bell smoothing. The model is trained on texts with label 0 only
    (answerable questions, in a release), so it finds texts that are unusual in themselves.
    """
    result = np.full(len(texts), np.nan)
    words = [tokenize(text) for text in texts]
    for train, test in folds.split_rows():
        model = NgramModel([words[i] for i in train if folds.labels[i] == 0])
        result[test] = [round(model.mean_log_probability(words[i]), 6) for i in test]
    return result


def score_by_first_words(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of the first one, two and three words as features, with logistic regression."""
    return folds.cross_val_scores(make_first_word_features(texts), LogisticRegression(max_iter=500))


def score_by_other_questions(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of word n-grams and of how familiar a text looks, with logistic regression.

    `KnownQuestions.familiarity_features` compares a text with the questions of the source. The texts of the
    row's own group are excluded. An edited question and its original are in one group, so the same texts are
    excluded for both of them. The scores are NaN if the questions of the source are not known.
    """
    if folds.known_questions is None:
        return np.full(len(texts), np.nan)
    rows: list[list[float]] = [[]] * len(texts)
    order, (_, sizes) = np.argsort(folds.groups, kind="stable"), np.unique(folds.groups, return_counts=True)
    for members in np.split(order, np.cumsum(sizes)[:-1]):
        own = [str(texts[i]) for i in members]
        with folds.known_questions.excluding(own):
            for i, text in zip(members, own, strict=True):
                rows[i] = folds.known_questions.familiarity_features(text)
    familiarity = np.round(StandardScaler().fit_transform(np.array(rows)), 6)
    # A TF-IDF vector has the norm 1, and each standardized feature has a size of about 1. A weight of 3 gives
    # both about the same influence.
    features = csr_array(hstack([3 * compute_word_tfidf(texts), csr_array(familiarity)]))
    return folds.cross_val_scores(features, LogisticRegression(C=1, max_iter=500, tol=1e-3))


def score_by_verbatim_count(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return how often the exact text of each row [n] occurs among the questions of the source.

    Every answerable question (AQ) of a release occurs there at least once. The counts are NaN if the
    questions of the source are not known.
    """
    if folds.known_questions is None:
        return np.full(len(texts), np.nan)
    return np.array([folds.known_questions.count_verbatim(text) for text in texts], float)


def make_first_word_features(texts: Sequence[str]) -> Any:
    """Return a sparse matrix [n, features] of the first one, two and three words of each text."""
    starts = ({" ".join(text.lower().split()[:n]): 1.0 for n in (1, 2, 3)} for text in texts)
    return DictVectorizer().fit_transform(starts)


# The features are cached, because two successive attackers use them.
@lru_cache(1)
def make_word_pair_features(texts: tuple[str, ...]) -> Any:
    """Return a sparse matrix [n, features] of the words of each text and the pairs of its content words."""
    words = map(tokenize, texts)
    rows = (dict.fromkeys([*row, *(" ".join(pair) for pair in make_word_pairs(row))], 1.0) for row in words)
    return DictVectorizer().fit_transform(rows)


Attacker = Callable[[Sequence[str], Folds], np.ndarray]
# The attackers for which a release has an AUROC limit (`audit.max_text_auroc`), in the order of the audit's
# tables.
TEXT_ATTACKERS: dict[str, Attacker] = {
    "word n-grams": score_by_word_ngrams,
    "character n-grams": score_by_character_ngrams,
    "word pairs": score_by_word_pairs,
    "word pairs, naive Bayes": score_by_word_pairs_naive_bayes,
    "language model": score_by_likelihood,
    "other questions": score_by_other_questions,
}
# Attackers without a limit: simple baselines, and the verbatim count, against which balancing does not help.
REPORT_ONLY_ATTACKERS: dict[str, Attacker] = {
    "first three words": score_by_first_words,
    "length": lambda texts, folds: np.array([len(text.split()) for text in texts], float),
    "verbatim count": score_by_verbatim_count,
}
ATTACKERS = TEXT_ATTACKERS | REPORT_ONLY_ATTACKERS
# Attackers that need the questions of the source.
SOURCE_AWARE_ATTACKERS: tuple[str, ...] = ("other questions", "verbatim count")
# Attackers whose score has no fixed direction: they do not learn which label a high score means.
UNDIRECTED_ATTACKERS = ("language model", *UNTRAINED_ATTACKERS)
