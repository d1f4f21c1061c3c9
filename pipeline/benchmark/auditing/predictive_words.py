"""Find words that occur more often in texts of one label than in texts of the other."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.core.records import Record

# Words that occur in fewer rows are ignored.
MIN_WORD_ROWS = 5
# Maximum number of words to list.
MAX_WORDS = 30


class PredictiveWord(Record):
    """A word or word bigram and how well it predicts the label.

    Attributes:
        word: A word, or two successive words. "^" is the start of a text.
        rows: Number of rows that contain the word.
        negative_rate, positive_rate: Proportion of the rows of label 0, and of label 1, that contain the
            word.
        auroc: AUROC of the word alone: 0.5 plus half the absolute difference of the two rates.
        low, high: Ends of the 95 % interval of the AUROC.
    """

    word: str
    rows: int
    negative_rate: float
    positive_rate: float
    auroc: float
    low: float
    high: float


def find_predictive_words(rows: LabelledRows, max_words: int = MAX_WORDS) -> list[PredictiveWord]:
    """Return the words whose rates differ between the labels by more than chance, largest difference first.

    A difference counts if it exceeds the 97.5 % quantile of a normal distribution, corrected for the number
    of words (Bonferroni). A bigram is listed only if no listed word of the bigram predicts the same label at
    least as well. The standard error is clustered by image, or by text if images are not known.

    Args:
        rows: The set.
        max_words: The largest number of words to return.
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
    # CountVectorizer raises ValueError if no word occurs in MIN_WORD_ROWS rows.
    except ValueError:
        return []
    negative, positive, error = compute_word_rates(has, labels == 1, groups)
    difference = positive - negative
    limit = NormalDist().inv_cdf(1 - 0.025 / len(counter.vocabulary_))
    beyond = np.abs(difference) > limit * error
    names, having = counter.get_feature_names_out(), has.sum(0)
    order = np.lexsort((names, np.char.str_len(names.astype(str)), -np.abs(difference).round(9)))
    columns = has.tocsc()
    # The key is the set of rows that contain a word. Of several words that always occur together, only the
    # shortest word is listed.
    found: dict[bytes, PredictiveWord] = {}
    predicts_positive: dict[str, bool] = {}
    for i in order:
        name, is_positive, size = str(names[i]), bool(difference[i] > 0), float(abs(difference[i]))
        implied = any(predicts_positive.get(part) == is_positive for part in name.split() if part != name)
        row_key = columns.indices[columns.indptr[i] : columns.indptr[i + 1]].tobytes()
        if not beyond[i] or implied or row_key in found:
            continue
        half = 1.96 * float(error[i])
        found[row_key] = PredictiveWord(
            word=name,
            rows=int(having[i]),
            negative_rate=round(float(negative[i]), 4),
            positive_rate=round(float(positive[i]), 4),
            auroc=round(0.5 + size / 2, 4),
            low=round(0.5 + (size - half) / 2, 4),
            high=round(min(0.5 + (size + half) / 2, 1.0), 4),
        )
        predicts_positive[name] = is_positive
        if len(found) == max_words:
            break
    return list(found.values())


def compute_word_rates(
    has: csr_array, is_positive: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rates of each word under both labels, and the clustered standard error of their difference.

    The variance of the difference is the sum over groups (rows of the same image or text) of the squared sum
    of the contributions of their rows.

    Args:
        has: [n, words] 1 if a row contains a word, else 0.
        is_positive: [n] whether a row has label 1.
        groups: [n] name of the group of each row.

    Returns:
        Three arrays [words]: the rates under label 0, the rates under label 1, and the standard errors.
    """
    weights = np.where(is_positive, 1 / is_positive.sum(), -1 / (~is_positive).sum())
    one, zero = (has[part].sum(0) / part.sum() for part in (is_positive, ~is_positive))
    # A row contributes its weight times (whether it contains the word - rate of its label).
    number = np.unique(groups, return_inverse=True)[1]
    position = (number, np.arange(len(is_positive)))
    group_weights = csr_array((weights, position), shape=(number.max() + 1, len(is_positive)))
    sums = group_weights @ has
    by_label = np.array(
        [group_weights[:, part].sum(1) for part in (is_positive, ~is_positive)]
    )  # [2, groups]
    rates = np.array([one, zero])
    # This is the sum over groups of (sums - rates . by_label)^2, computed without a dense matrix.
    variance = (sums * sums).sum(0) - 2 * (rates * (sums.T @ by_label.T).T).sum(0)
    variance += ((by_label @ by_label.T) @ rates * rates).sum(0)
    return zero, one, np.sqrt(np.maximum(variance, 0))
