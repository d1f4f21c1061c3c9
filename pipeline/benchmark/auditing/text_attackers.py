"""Attackers that see only a question's text, of different kinds. Nothing in the pipeline is fitted to any of them.

Each gives a score [n] per text, out of fold: what it learns from comes from other groups, so that neither a text nor
its edited or original fellow is ever on both sides. A new one is a function here and a row of TEXT_ATTACKERS.
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
    """TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
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
    """Words and all pairs of words, however far apart, with logistic regression: it learns what goes with what
    ("fence ... wearing")."""
    return folds.cross_val_scores(
        make_word_pair_features(tuple(texts)), LogisticRegression(C=0.3, max_iter=500)
    )


def score_by_word_pairs_naive_bayes(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The same features with naive Bayes, which weighs even what it saw once."""
    return folds.cross_val_scores(make_word_pair_features(tuple(texts)), MultinomialNB(alpha=0.3))


def score_by_likelihood(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """How usual a text is: the mean log probability of its words by a language model of originals (label 0) alone,
    word 3-grams with Witten-Bell smoothing. It knows no edited question, so it finds what is odd in itself."""
    result = np.full(len(texts), np.nan)
    words = [tokenize(text) for text in texts]
    for train, test in folds.split_rows():
        model = NgramModel([words[i] for i in train if folds.labels[i] == 0])
        result[test] = [round(model.mean_log_probability(words[i]), 6) for i in test]
    return result


def score_by_first_words(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The first one, two and three words, each start a feature, with logistic regression."""
    return folds.cross_val_scores(make_first_word_features(texts), LogisticRegression(max_iter=500))


def score_by_other_questions(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Words as in `word_ngrams`, and how usual a text is among the source's questions without all texts of its own group
    (`KnownQuestions.traits`), with logistic regression; NaN where those questions are not known. An edited question and
    its original are one group: for both of them the same texts are left out, so that this tells nothing."""
    if folds.known_questions is None:
        return np.full(len(texts), np.nan)
    rows: list[list[float]] = [[]] * len(texts)
    order, (_, sizes) = np.argsort(folds.groups, kind="stable"), np.unique(folds.groups, return_counts=True)
    for members in np.split(order, np.cumsum(sizes)[:-1]):
        own = [str(texts[i]) for i in members]
        with folds.known_questions.excluding(own):
            for i, text in zip(members, own, strict=True):
                rows[i] = folds.known_questions.familiarity_features(text)
    traits = np.round(StandardScaler().fit_transform(np.array(rows)), 6)
    # A text's TF-IDF vector has length 1, each of its traits one of about 1: three times the words weigh about as much.
    features = csr_array(hstack([3 * compute_word_tfidf(texts), csr_array(traits)]))
    return folds.cross_val_scores(features, LogisticRegression(C=1, max_iter=500, tol=1e-3))


def score_by_verbatim_count(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """How often the very text stands among the source's questions, as every AQ does; nothing is left out."""
    if folds.known_questions is None:
        return np.full(len(texts), np.nan)
    return np.array([folds.known_questions.count_verbatim(text) for text in texts], float)


Attacker = Callable[[Sequence[str], Folds], np.ndarray]
# The attackers that the audit compares with its limits, in the order of its tables.
TEXT_ATTACKERS: dict[str, Attacker] = {
    "word n-grams": score_by_word_ngrams,
    "character n-grams": score_by_character_ngrams,
    "word pairs": score_by_word_pairs,
    "word pairs, Bayes": score_by_word_pairs_naive_bayes,
    "language model": score_by_likelihood,
    "other questions": score_by_other_questions,
}
# Attackers without a limit: one that needs little, and one that no balancing can stop.
REPORT_ONLY_ATTACKERS: dict[str, Attacker] = {
    "first three words": score_by_first_words,
    "length": lambda texts, folds: np.array([len(text.split()) for text in texts], float),
    "verbatim": score_by_verbatim_count,
}


def make_first_word_features(texts: Sequence[str]) -> Any:
    """A sparse matrix [n, features] of the first one, two and three words of each text."""
    starts = ({" ".join(text.lower().split()[:n]): 1.0 for n in (1, 2, 3)} for text in texts)
    return DictVectorizer().fit_transform(starts)


ATTACKERS = TEXT_ATTACKERS | REPORT_ONLY_ATTACKERS
SOURCE_AWARE_ATTACKERS: tuple[str, ...] = (
    "other questions",
    "verbatim",
)  # attackers that need the questions of the source
# Attackers whose high scores stand for neither label: they never saw one.
UNDIRECTED_ATTACKERS = ("language model", *UNTRAINED_ATTACKERS)


@lru_cache(1)  # two attackers in a row
def make_word_pair_features(texts: tuple[str, ...]) -> Any:
    """A sparse matrix [n, features] of the words in each text and of the pairs of those that say something."""
    words = map(tokenize, texts)
    rows = (dict.fromkeys([*row, *(" ".join(pair) for pair in make_word_pairs(row))], 1.0) for row in words)
    return DictVectorizer().fit_transform(rows)
