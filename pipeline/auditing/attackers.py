"""Models that guess AQ or UQ from less than they should need. A benchmark that they solve measures little.

Every attacker is scored out of fold; rows of one group are never on both sides. AUROC is reported as max(a, 1 - a):
an attacker that is reliably wrong has found the label all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.core.records import Record

Fit = Callable[[Sequence[int], Sequence[int]], np.ndarray]


class Attack(Record):
    """AUROC of one attacker, max(a, 1 - a), with a 95 % bootstrap interval over groups; null if not applicable."""

    auroc: float | None
    low: float | None
    high: float | None
    groups: int


def word_ngrams(texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Scores [n] of TF-IDF word 1-3-grams with logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return _out_of_fold(
        lambda: make_pipeline(
            TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"[^\s]+", sublinear_tf=True),
            LogisticRegression(C=10, max_iter=500),
        ),
        np.array(texts, object), labels, groups, folds, seed,
    )


def character_ngrams(texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Scores [n] of TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return _out_of_fold(
        lambda: make_pipeline(
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True),
            TruncatedSVD(48, random_state=seed),
            HistGradientBoostingClassifier(max_iter=80, random_state=seed, early_stopping=False),
        ),
        np.array(texts, object), labels, groups, folds, seed,
    )


def first_words(texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Scores [n] of the first three words alone, as one feature each length, with logistic regression."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    features = np.array([{" ".join(text.lower().split()[:n]): 1 for n in (1, 2, 3)} for text in texts], object)
    return _out_of_fold(
        lambda: make_pipeline(DictVectorizer(), LogisticRegression(max_iter=500)), features, labels, groups, folds, seed
    )


def vectors(features: np.ndarray, labels: np.ndarray, groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Scores [n] of a vector per row [n, d] (a picture's, say) with logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return _out_of_fold(
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500)), features, labels, groups, folds, seed
    )


def score(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, repetitions: int, rng: np.random.Generator) -> Attack:
    """Two-sided AUROC of scores [n] for labels [n] (1 = UQ), with an interval over resampled groups [n]."""
    from pipeline.scorers import auroc

    names, index = np.unique(groups, return_inverse=True)
    if len(np.unique(labels)) < 2 or np.isnan(scores).any():
        return Attack(auroc=None, low=None, high=None, groups=len(names))
    plain = auroc(scores, labels == 1)
    flip = plain < 0.5
    draws = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=repetitions)
    samples = np.array([auroc_weighted(scores, labels == 1, draw[index]) for draw in draws])
    samples = 1 - samples if flip else samples
    low, high = np.nanquantile(samples, [0.025, 0.975])
    return Attack(auroc=round(max(plain, 1 - plain), 4), low=round(float(low), 4), high=round(float(high), 4), groups=len(names))


def auroc_weighted(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """AUROC of rows repeated `weights` times, without repeating them; ties counted half."""
    _, inverse = np.unique(scores, return_inverse=True)
    up = np.bincount(inverse, weights * positive)
    down = np.bincount(inverse, weights * ~positive)
    total = up.sum() * down.sum()
    return float((up * (np.cumsum(down) - down / 2)).sum() / total) if total else float("nan")


def _out_of_fold(make, features: np.ndarray, labels: np.ndarray, groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Scores of `make()`'s classifier for rows that it did not see, nor any of their group. NaN if there are
    fewer groups than folds. One thread, so that the last bits do not depend on the machine's cores."""
    from sklearn.model_selection import StratifiedGroupKFold
    from threadpoolctl import threadpool_limits

    result = np.full(len(labels), np.nan)
    if len(np.unique(groups)) < folds or len(np.unique(labels)) < 2:
        return result
    with threadpool_limits(1):
        for train, test in StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(features, labels, groups):
            if len(np.unique(labels[train])) < 2:
                return np.full(len(labels), np.nan)
            try:
                model = make().fit(features[train], labels[train])
            except ValueError:  # too few rows for the attacker's own features: it cannot learn, so it cannot tell
                result[test] = 0.5
                continue
            # Fold-wise offsets must not count as signal, so each fold's scores are centred on its training prior.
            result[test] = np.round(model.predict_proba(features[test])[:, 1] - labels[train].mean(), 6)
    return result
