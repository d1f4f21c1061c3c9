"""Keep pairs of an original and its edited question such that their wording tells no more than chance would.

Perturbation puts words in about as often as it takes them out, as far as replacements fit; what is left ("happy"
becomes "sad", and no "sad" ever becomes "happy") tells an edit by its wording alone. So some pairs are left out.
Wordings are counted, nothing else: no model that tells edits from originals is asked.

Of a wording that n pairs change, let s be how much more often it is put in than taken out. Were it thrown for each pair
which of its texts is the original, the mean of s squared would be n. So unevenness is the sum of s squared / n over all
wordings, divided by their number: 1 is what chance leaves. (It is then, too, that the pairs but one, as they lean, say
nothing of that one: more evenness would give it away again, as the one that is missing.)
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

MAX_NGRAM_LENGTH = 3  # words in a row that are counted
# Pairs that change a wording, at least: of fewer all go the same way by chance at least once in four times.
MIN_PAIRS_PER_NGRAM = 4


def extract_ngrams(text: str) -> set[str]:
    """What is counted of a text: its words, two and three of them in a row ("^" is its start), and any two of them in
    their order.

    >>> sorted(wordings("Is it red?"))
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
    """Which pairs are left out, by their place: most helpful first those that make wordings more uneven, until these are
    even enough, nothing helps any more, or as many have gone as may go.

    Args:
        pairs: an original's text and that of its edited question.
        slack: the unevenness at which to stop; 1: that of chance.
        most: the share of the pairs that may be left out.
        rng: decides between pairs that help equally.

    >>> pairs = [(f"Is cup {i} happy?", f"Is cup {i} sad?") for i in range(8)]  # 8 go one way, 4 the other: 4 * 4 > 12
    >>> pairs += [(new, old) for old, new in pairs[:4]]
    >>> len(even(pairs, 1.0, 1.0, np.random.default_rng(0)))  # 3 * 3 < 11
    1
    """
    changes = _compute_ngram_changes(pairs)
    by_wording = changes.tocsc()
    lengths, surplus = (changes * changes).sum(1), changes.sum(0)
    stays, chance, held = np.ones(len(pairs), bool), rng.permutation(len(pairs)), lengths.sum()
    leaning = changes @ surplus
    left: list[int] = []
    while len(left) + 1 <= max_dropped_proportion * len(pairs) + 1e-9:
        # By how much surplus @ surplus falls if a pair goes.
        gains = np.where(stays, np.round(2 * leaning - lengths, 9), -np.inf)
        best = np.flatnonzero(gains == gains.max())
        gone = int(best[np.argmin(chance[best])])
        if gains[gone] <= 0 or surplus @ surplus <= max_imbalance * held + 1e-9:
            break
        stays[gone] = False
        left.append(gone)
        held -= lengths[gone]
        # What changes is only for pairs that change a wording which this one changes.
        places = slice(changes.indptr[gone], changes.indptr[gone + 1])
        columns, change = changes.indices[places], changes.data[places]
        surplus[columns] -= change
        leaning -= by_wording[:, columns] @ change
    return left


def _compute_ngram_changes(pairs: Sequence[tuple[str, str]]) -> csr_array:
    """A row for each pair, a column for each wording that enough pairs change: 1 where it is put in, -1 where it is taken
    out, both over the root of how many pairs change it."""
    number: dict[str, int] = {}  # of each wording, as they are met
    places, met, put_in = array("q"), array("q"), array("b")
    for place, (original, edited) in enumerate(pairs):
        old, new = extract_ngrams(original), extract_ngrams(edited)
        for change, words in ((1, new - old), (-1, old - new)):
            for wording in words:
                places.append(place)
                met.append(number.setdefault(wording, len(number)))
                put_in.append(change)
    numbers = np.array(met, int)
    counts = np.bincount(numbers, minlength=len(number))
    kept = sorted(wording for wording, i in number.items() if counts[i] >= MIN_PAIRS_PER_NGRAM)
    column = np.full(len(number), -1)
    column[[number[wording] for wording in kept]] = np.arange(len(kept))
    stay = np.flatnonzero(column[numbers] >= 0)
    rows, columns = np.array(places, int)[stay], column[numbers[stay]]
    values = np.array(put_in, float)[stay] / np.sqrt(counts[numbers[stay]])
    order = np.lexsort((columns, rows))
    return csr_array((values[order], (rows[order], columns[order])), (len(pairs), len(kept)))
