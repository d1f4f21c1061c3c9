"""Words that occur more often in the texts of one label than in those of the other."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.core.records import Record

MIN_WORD_ROWS = 5  # rows that have a word, for it to be counted
MAX_WORDS = 30


class PredictiveWord(Record):
    """A word, or two in a row ("^" is the start of the text), and the proportion of each label's rows that have it.

    `auroc` is what the word alone reaches, 0.5 + half the difference of the proportions, with a 95 % interval."""

    word: str
    rows: int
    negative_rate: float
    positive_rate: float
    auroc: float
    low: float
    high: float


def find_predictive_words(rows: LabelledRows, max_words: int = MAX_WORDS) -> list[PredictiveWord]:
    """Find the words whose proportions differ most between the labels, of those that differ by more than chance.

    A difference counts if it is beyond the 97.5 % quantile of a normal distribution, corrected for the number of words
    (Bonferroni). Two words in a row are listed only where they predict more than either of them, or the other label. Rows of one
    image count together; where images are not known, rows of one text.
    """
    texts, labels = rows.texts, rows.labels
    groups = np.array(rows.texts if rows.images is None else rows.images, object)
    counter = CountVectorizer(
        ngram_range=(1, 2),
        token_pattern=r"\^|\w[\w'-]*",
        binary=True,
        min_df=min(MIN_WORD_ROWS, len(texts)),
        dtype=np.float64,  # pyright: ignore[reportArgumentType] false stub
    )
    try:
        has = csr_array(counter.fit_transform(f"^ {text}" for text in texts))
    except ValueError:  # no word is in so many rows
        return []
    zero, one, error = compute_word_rates(has, labels == 1, groups)
    difference = one - zero
    limit = NormalDist().inv_cdf(1 - 0.025 / len(counter.vocabulary_))
    beyond = np.abs(difference) > limit * error
    names, having = counter.get_feature_names_out(), has.sum(0)
    order = np.lexsort((names, np.char.str_len(names.astype(str)), -np.abs(difference).round(9)))
    columns = has.tocsc()
    found: dict[bytes, PredictiveWord] = {}  # of words that always come together the shortest
    leans: dict[str, bool] = {}  # of those found, whether to the label 1
    for i in order:
        name, to_one, way = str(names[i]), bool(difference[i] > 0), float(abs(difference[i]))
        implied = any(leans.get(part) == to_one for part in name.split() if part != name)
        same = columns.indices[columns.indptr[i] : columns.indptr[i + 1]].tobytes()  # the rows that have it
        if not beyond[i] or implied or same in found:
            continue
        half = 1.96 * float(error[i])
        found[same] = PredictiveWord(
            word=name,
            rows=int(having[i]),
            negative_rate=round(float(zero[i]), 4),
            positive_rate=round(float(one[i]), 4),
            auroc=round(0.5 + way / 2, 4),
            low=round(0.5 + (way - half) / 2, 4),
            high=round(min(0.5 + (way + half) / 2, 1.0), 4),
        )
        leans[name] = to_one
        if len(found) == max_words:
            break
    return list(found.values())


def compute_word_rates(
    has: csr_array, is_positive: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the rows of label 0, and of label 1, that have each word, and the standard error of their difference, [words] each.

    The difference is of two ratios whose rows come in groups (the same image, or the same text): its variance is the sum
    over groups of the squares of what their rows add to it.

    Args:
        has: [n, words], 0 or 1. ones: [n], whether a row has label 1. groups: [n] whole numbers.
    """
    weights = np.where(is_positive, 1 / is_positive.sum(), -1 / (~is_positive).sum())
    one, zero = (has[part].sum(0) / part.sum() for part in (is_positive, ~is_positive))
    # What a row adds: its weight times (has the word - share of its label).
    number = np.unique(groups, return_inverse=True)[1]
    place = (number, np.arange(len(is_positive)))
    of_group = csr_array((weights, place), shape=(number.max() + 1, len(is_positive)))
    sums = of_group @ has
    by_label = np.array([of_group[:, part].sum(1) for part in (is_positive, ~is_positive)])  # [2, groups]
    shares = np.array([one, zero])
    # sum over groups of (sums - shares . by_label)^2, without making what is mostly zero dense
    variance = (sums * sums).sum(0) - 2 * (shares * (sums.T @ by_label.T).T).sum(0)
    variance += ((by_label @ by_label.T) @ shares * shares).sum(0)
    return zero, one, np.sqrt(np.maximum(variance, 0))
