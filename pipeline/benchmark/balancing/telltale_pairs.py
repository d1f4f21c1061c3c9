"""Find pairs of an original and an edited question whose wording reveals the edit more than chance allows.

The stage perturb inserts each word about as often as it removes the word, as far as replacements allow. Where
this is not possible ("happy" becomes "sad", but "sad" never becomes "happy"), the wording alone reveals an
edit. Such pairs are excluded. The method only counts n-grams. It does not use a model that distinguishes
edited questions from originals.

Let n be the number of pairs that change an n-gram. Let s be the number of pairs that insert the n-gram minus
the number of pairs that remove it. If the original of each pair were chosen by a coin flip, the expected
value of s^2 would be n. The imbalance is the sum of s^2 / n over all n-grams, divided by the number of
n-grams. So an imbalance of 1 is the level of chance. At this level, all pairs but one give no information
about the remaining pair. A lower imbalance would reveal the direction of the remaining pair again, because it
could be inferred from the other pairs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

MAX_NGRAM_LENGTH = 3
# N-grams that are changed by fewer pairs are ignored. Three pairs, for example, all change an n-gram in the
# same direction by chance in one of four cases.
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

    The pair that reduces the imbalance most is excluded first, and so on. The method stops if the imbalance
    is low enough, if no pair reduces it, or if the largest allowed number of pairs is excluded.

    Args:
        pairs: The text of an original and the text of its edited question, for each pair.
        max_imbalance: The imbalance at which the method stops. 1 is the level of chance (see the docstring of
            this module).
        max_dropped_proportion: The largest proportion of pairs that may be excluded, in [0, 1].
        rng: The random generator that decides between pairs that reduce the imbalance equally.

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
        # The gain of a pair is the decrease of surplus @ surplus if the pair is excluded.
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

    An entry is positive if the pair inserts the n-gram and negative if the pair removes it. The absolute
    value is 1 divided by the square root of the number of pairs that change the n-gram.
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
    entry_ngrams = np.array(ngram_indices, int)
    counts = np.bincount(entry_ngrams, minlength=len(index))
    kept = sorted(ngram for ngram, i in index.items() if counts[i] >= MIN_PAIRS_PER_NGRAM)
    column = np.full(len(index), -1)
    column[[index[ngram] for ngram in kept]] = np.arange(len(kept))
    used = np.flatnonzero(column[entry_ngrams] >= 0)
    rows, columns = np.array(pair_indices, int)[used], column[entry_ngrams[used]]
    values = np.array(directions, float)[used] / np.sqrt(counts[entry_ngrams[used]])
    order = np.lexsort((columns, rows))
    return csr_array((values[order], (rows[order], columns[order])), (len(pairs), len(kept)))
