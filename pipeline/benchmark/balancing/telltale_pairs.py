"""Find pairs of an original and an edited question whose wording reveals the edit more than chance allows.

Perturbation inserts words about as often as it removes them, as far as replacements allow. The rest ("happy" becomes "sad", but "sad"
never becomes "happy") reveals an edit by its wording alone, so such pairs are excluded. The method only counts n-grams. It does not
use a model that distinguishes edited questions from originals.

Let n be the number of pairs that change an n-gram, and s how much more often it is inserted than removed. If the original of each pair
were chosen by a coin flip, the expected value of s^2 would be n. The imbalance is the sum of s^2 / n over all n-grams divided by their
number, so 1 is the level of chance. At this level, all pairs but one give no information about the remaining pair. A lower imbalance
would reveal that pair again, because its direction could be inferred from what is missing.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

MAX_NGRAM_LENGTH = 3
# N-grams that fewer pairs change are ignored: with three pairs, all go in the same direction by chance in one of four cases.
MIN_PAIRS_PER_NGRAM = 4


def extract_ngrams(text: str) -> set[str]:
    """Return the n-grams of a text (1 to 3 words; "^" is its start) and its ordered pairs of words.

    >>> sorted(extract_ngrams("Is it red?"))
    ['^', '^ is', '^ is it', 'is', 'is ... it', 'is ... red', 'is it', 'is it red', 'it', 'it ... red', 'it red', 'red']
    """
    words = re.findall(r"[\w'-]+", text.lower())
    padded = ["^", *words]
    runs = (padded[i : i + n] for n in range(1, MAX_NGRAM_LENGTH + 1) for i in range(len(padded) - n + 1))
    return {" ".join(run) for run in runs} | {
        f"{first} ... {second}" for first, second in combinations(words, 2)
    }


def find_telltale_pairs(
    pairs: Sequence[tuple[str, str]],
    max_imbalance: float,
    max_dropped_proportion: float,
    rng: np.random.Generator,
) -> list[int]:
    """Return the indices of the pairs to exclude.

    Greedily exclude the pair that reduces the imbalance most, until the imbalance is low enough, no pair reduces it, or the largest
    allowed number of pairs is excluded.

    Args:
        pairs: The text of an original and of its edited question.
        max_imbalance: The imbalance at which to stop; 1 is the level of chance (see the docstring of this module).
        max_dropped_proportion: The largest proportion of pairs that may be excluded, in [0, 1].
        rng: Decides between pairs that reduce the imbalance equally.

    Returns:
        Indices of pairs, in the order in which they were excluded.

    >>> pairs = [(f"Is cup {i} happy?", f"Is cup {i} sad?") for i in range(8)]
    >>> pairs += [(new, old) for old, new in pairs[:4]]  # 8 pairs in one direction, 4 in the other: 4 * 4 > 12
    >>> len(find_telltale_pairs(pairs, 1.0, 1.0, np.random.default_rng(0)))  # 3 * 3 < 11
    1
    """
    changes = _compute_ngram_changes(pairs)
    by_ngram = changes.tocsc()
    lengths, surplus = (changes * changes).sum(1), changes.sum(0)
    is_kept, tie_break, total = np.ones(len(pairs), bool), rng.permutation(len(pairs)), lengths.sum()
    alignment = changes @ surplus
    excluded: list[int] = []
    while len(excluded) + 1 <= max_dropped_proportion * len(pairs) + 1e-9:
        # The gain is the decrease of surplus @ surplus if a pair is excluded.
        gains = np.where(is_kept, np.round(2 * alignment - lengths, 9), -np.inf)
        best = np.flatnonzero(gains == gains.max())
        chosen = int(best[np.argmin(tie_break[best])])
        if gains[chosen] <= 0 or surplus @ surplus <= max_imbalance * total + 1e-9:
            break
        is_kept[chosen] = False
        excluded.append(chosen)
        total -= lengths[chosen]
        # Only pairs that share an n-gram with the excluded pair are affected.
        entries = slice(changes.indptr[chosen], changes.indptr[chosen + 1])
        columns, change = changes.indices[entries], changes.data[entries]
        surplus[columns] -= change
        alignment -= by_ngram[:, columns] @ change
    return excluded


def _compute_ngram_changes(pairs: Sequence[tuple[str, str]]) -> csr_array:
    """Return a matrix [pairs, n-grams] of the n-grams that enough pairs change.

    An entry is 1 if a pair inserts an n-gram and -1 if it removes it, divided by the square root of the number of pairs that change it.
    """
    index: dict[str, int] = {}
    pair_indices, ngram_indices, directions = array("q"), array("q"), array("b")
    for i, (original, edited) in enumerate(pairs):
        old, new = extract_ngrams(original), extract_ngrams(edited)
        for direction, ngrams in ((1, new - old), (-1, old - new)):
            for ngram in ngrams:
                pair_indices.append(i)
                ngram_indices.append(index.setdefault(ngram, len(index)))
                directions.append(direction)
    numbers = np.array(ngram_indices, int)
    counts = np.bincount(numbers, minlength=len(index))
    kept = sorted(ngram for ngram, i in index.items() if counts[i] >= MIN_PAIRS_PER_NGRAM)
    column = np.full(len(index), -1)
    column[[index[ngram] for ngram in kept]] = np.arange(len(kept))
    used = np.flatnonzero(column[numbers] >= 0)
    rows, columns = np.array(pair_indices, int)[used], column[numbers[used]]
    values = np.array(directions, float)[used] / np.sqrt(counts[numbers[used]])
    order = np.lexsort((columns, rows))
    return csr_array((values[order], (rows[order], columns[order])), (len(pairs), len(kept)))
