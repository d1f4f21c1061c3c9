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

from pipeline.benchmark.auditing.attack_evaluation import UNLEARNED, Folds, word_ngrams, word_tfidf
from pipeline.benchmark.auditing.known_questions import word_pairs
from pipeline.benchmark.auditing.ngram_model import NgramModel, words_of


def character_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True).fit_transform(texts)
    with threadpool_limits(1):
        features = TruncatedSVD(min(48, grams.shape[1]), random_state=folds.seed).fit_transform(grams)
    trees = HistGradientBoostingClassifier(
        max_iter=80,
        random_state=folds.seed,
        early_stopping=False,  # pyright: ignore[reportArgumentType] false stub
    )
    return folds.scores(features, trees)


def pairs_of_words(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Words and all pairs of words, however far apart, with logistic regression: it learns what goes with what
    ("fence ... wearing")."""
    return folds.scores(word_pair_features(tuple(texts)), LogisticRegression(C=0.3, max_iter=500))


def pairs_of_words_bayes(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The same features with naive Bayes, which weighs even what it saw once."""
    return folds.scores(word_pair_features(tuple(texts)), MultinomialNB(alpha=0.3))


def likelihood(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """How usual a text is: the mean log probability of its words by a language model of originals (label 0) alone,
    word 3-grams with Witten-Bell smoothing. It knows no edited question, so it finds what is odd in itself."""
    result = np.full(len(texts), np.nan)
    words = [words_of(text) for text in texts]
    for train, test in folds.splits():
        model = NgramModel([words[i] for i in train if folds.labels[i] == 0])
        result[test] = [round(model.mean_log_probability(words[i]), 6) for i in test]
    return result


def first_words(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The first one, two and three words, each start a feature, with logistic regression."""
    return folds.scores(start_features(texts), LogisticRegression(max_iter=500))


def other_questions(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Words as in `word_ngrams`, and how usual a text is among the source's questions without all texts of its own group
    (`KnownQuestions.traits`), with logistic regression; NaN where those questions are not known. An edited question and
    its original are one group: for both of them the same texts are left out, so that this tells nothing."""
    if folds.known is None:
        return np.full(len(texts), np.nan)
    rows: list[list[float]] = [[]] * len(texts)
    order, (_, sizes) = np.argsort(folds.groups, kind="stable"), np.unique(folds.groups, return_counts=True)
    for members in np.split(order, np.cumsum(sizes)[:-1]):
        own = [str(texts[i]) for i in members]
        with folds.known.without(own):
            for i, text in zip(members, own, strict=True):
                rows[i] = folds.known.traits(text)
    traits = np.round(StandardScaler().fit_transform(np.array(rows)), 6)
    # A text's TF-IDF vector has length 1, each of its traits one of about 1: three times the words weigh about as much.
    features = csr_array(hstack([3 * word_tfidf(texts), csr_array(traits)]))
    return folds.scores(features, LogisticRegression(C=1, max_iter=500, tol=1e-3))


def verbatim(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """How often the very text stands among the source's questions, as every AQ does; nothing is left out."""
    if folds.known is None:
        return np.full(len(texts), np.nan)
    return np.array([folds.known.verbatim(text) for text in texts], float)


Attacker = Callable[[Sequence[str], Folds], np.ndarray]
# The attackers that the audit compares with its limits, in the order of its tables.
TEXT_ATTACKERS: dict[str, Attacker] = {
    "word n-grams": word_ngrams,
    "character n-grams": character_ngrams,
    "word pairs": pairs_of_words,
    "word pairs, Bayes": pairs_of_words_bayes,
    "language model": likelihood,
    "other questions": other_questions,
}
# Attackers without a limit: one that needs little, and one that no balancing can stop.
REPORT_ONLY_ATTACKERS: dict[str, Attacker] = {
    "first three words": first_words,
    "length": lambda texts, folds: np.array([len(text.split()) for text in texts], float),
    "verbatim": verbatim,
}


def start_features(texts: Sequence[str]) -> Any:
    """A sparse matrix [n, features] of the first one, two and three words of each text."""
    starts = ({" ".join(text.lower().split()[:n]): 1.0 for n in (1, 2, 3)} for text in texts)
    return DictVectorizer().fit_transform(starts)


ATTACKERS = TEXT_ATTACKERS | REPORT_ONLY_ATTACKERS
KNOW_THE_SOURCE: tuple[str, ...] = (
    "other questions",
    "verbatim",
)  # attackers that need the questions of the source
# Attackers whose high scores stand for neither label: they never saw one.
UNSIGNED = ("language model", *UNLEARNED)


@lru_cache(1)  # two attackers in a row
def word_pair_features(texts: tuple[str, ...]) -> Any:
    """A sparse matrix [n, features] of the words in each text and of the pairs of those that say something."""
    words = map(words_of, texts)
    rows = (dict.fromkeys([*row, *(" ".join(pair) for pair in word_pairs(row))], 1.0) for row in words)
    return DictVectorizer().fit_transform(rows)
