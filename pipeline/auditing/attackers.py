"""Models that guess AQ or UQ from less than they should need. A benchmark that they solve measures little.

Every attacker is scored out of fold; rows of one group are never on both sides. AUROC is reported as max(a, 1 - a):
an attacker that is reliably wrong has found the label all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Record


class Attack(Record):
    """AUROC of one attacker, max(a, 1 - a), with a 95 % bootstrap interval over groups; null if not applicable."""

    auroc: float | None
    low: float | None
    high: float | None
    groups: int


def text_groups(texts: Sequence[str], question_ids: Sequence[str]) -> np.ndarray:
    """A group [n] for each row, for attackers that see the text: rows with the same text are together, and so are an
    edited question and its original (who had seen one of them would know the other).

    Args:
        texts: [n]. question_ids: [n] of the original.
    """
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = key = parent[parent[key]]
        return key

    for text, question_id in zip(texts, question_ids, strict=True):
        a, b = root("text " + text), root("question " + question_id)
        parent[max(a, b)] = min(a, b)
    return np.array([root("text " + text) for text in texts])


def word_ngrams(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores [n] of TF-IDF word 1-3-grams with logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    features = TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"[^\s]+", sublinear_tf=True).fit_transform(
        texts
    )
    return out_of_fold(lambda: LogisticRegression(C=10, max_iter=500), features, labels, groups, folds, seed)


def character_ngrams(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores [n] of TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from threadpoolctl import threadpool_limits

    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True).fit_transform(texts)
    with threadpool_limits(1):
        features = TruncatedSVD(min(48, grams.shape[1]), random_state=seed).fit_transform(grams)
    return out_of_fold(
        lambda: HistGradientBoostingClassifier(max_iter=80, random_state=seed, early_stopping=False),
        features,
        labels,
        groups,
        folds,
        seed,
    )


def first_words(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores [n] of the first one, two and three words, each start a feature, with logistic regression."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    starts = [{" ".join(text.lower().split()[:n]): 1 for n in (1, 2, 3)} for text in texts]
    return out_of_fold(
        lambda: LogisticRegression(max_iter=500),
        DictVectorizer().fit_transform(starts),
        labels,
        groups,
        folds,
        seed,
    )


def vectors(
    features: np.ndarray, labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores [n] of a vector per row [n, d] (a picture's, say) with logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform(features)
    return out_of_fold(lambda: LogisticRegression(C=0.1, max_iter=500), scaled, labels, groups, folds, seed)


def score(
    scores: np.ndarray, labels: np.ndarray, groups: np.ndarray, repetitions: int, rng: np.random.Generator
) -> Attack:
    """Two-sided AUROC of scores [n] for labels [n] (1 = UQ), with an interval over resampled groups [n]."""
    from pipeline.scorers import auroc

    names, index = np.unique(groups, return_inverse=True)
    if len(np.unique(labels)) < 2 or np.isnan(scores).any():
        return Attack(auroc=None, low=None, high=None, groups=len(names))
    plain = auroc(scores, labels == 1)
    flip = plain < 0.5
    draws = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=repetitions)
    samples = aurocs_of_resampled(scores, labels == 1, draws, index)
    samples = 1 - samples if flip else samples
    low, high = np.nanquantile(samples, [0.025, 0.975])
    return Attack(
        auroc=round(max(plain, 1 - plain), 4),
        low=round(float(low), 4),
        high=round(float(high), 4),
        groups=len(names),
    )


def aurocs_of_resampled(
    scores: np.ndarray, positive: np.ndarray, draws: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """AUROC [r] of rows [n] whose groups [n] occur `draws` [r, g] times, without repeating rows; ties counted half."""
    levels, level = np.unique(scores, return_inverse=True)
    result = np.full(len(draws), np.nan)
    for repetition, drawn in enumerate(draws):
        weights = drawn[group]
        up = np.bincount(level, weights * positive, len(levels))
        down = np.bincount(level, weights * ~positive, len(levels))
        if total := up.sum() * down.sum():
            result[repetition] = (up * (np.cumsum(down) - down / 2)).sum() / total
    return result


def out_of_fold(
    classifier, features, labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores of `classifier()` for rows that it did not see, nor any of their group. NaN if there are fewer groups
    than folds. Features are made from all rows, as they know no label. One thread and double precision, so that the
    scores depend neither on the machine's cores nor on its instruction set."""
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    features = features.astype(np.float64)
    result = np.full(len(labels), np.nan)
    if len(np.unique(groups)) < folds or len(np.unique(labels)) < 2:
        return result
    with threadpool_limits(1):
        for train, test in GroupKFold(folds, shuffle=True, random_state=seed).split(features, labels, groups):
            if len(np.unique(labels[train])) < 2:
                return np.full(len(labels), np.nan)
            model = classifier().fit(features[train], labels[train])
            # Folds differ in their share of UQs; that must not count as signal, so each is centred on its training share.
            result[test] = np.round(model.predict_proba(features[test])[:, 1] - labels[train].mean(), 6)
    return result
