"""Balance the words: insert each one about as often as it is removed.

If replacements are sampled by frequency alone, edits can be detected: a man is never replaced by a man, so "man" is inserted less often than
it is removed, and a text-only model learns that "man" indicates an original. So each word gets a factor that multiplies its weight
wherever it may be sampled. With these factors, the expected number of insertions of a word over all slots of the data set equals the number
of its removals. The same holds within each context that is frequent enough ("Who is wearing the ...?").

The factors are found by raking (iterative proportional fitting; Deming and Stephan, 1940) on a sample of the slots, as they occur with
their sentences and images. This uses only counts of words. No model that distinguishes edited questions from originals is involved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pipeline.core.jsonl_index import group_by

# Iterations of raking. By then, the factors of all words that can be balanced have converged.
NUM_ITERATIONS = 60
# Bounds of the factors. A word that is never removed is inserted only where nothing else can be.
MIN_FACTOR, MAX_FACTOR = 1e-4, 1e4
# Slots that a context needs for factors of its own. Rarer contexts are pooled.
MIN_SLOTS_PER_CONTEXT = 12
# Proportion of the shortfall of frequent contexts that the others compensate. Compensating all of it would balance each word alone, but
# reveal it by its neighbours ("on" in contexts where nothing is on anything).
SHORTFALL_COMPENSATION = 0.5

# Sort of word, and context ("": any).
WordContext = tuple[str, str]


def rake_word_weights(
    target_counts: np.ndarray, slot: np.ndarray, word: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit factors of words such that the sum over slots of P(word | slot) is as wanted.

    P(word | slot) is proportional to factor * weight. Where the target is not reachable (a word wanted in more slots than may take it), the
    result is as close as possible.

    Args:
        target_counts: [words] how often each word is to be inserted; scaled to one word per slot.
        slot, word, weight: [options] one entry for each word that a slot may take. Slots count from 0, and each may take some word.

    Returns:
        Factors [words], and how often each word is then inserted [words].

    >>> removed = [0] * 4 + [1] * 3 + [2] * 3  # ten slots, each of which may take both other words
    >>> options = np.array([sorted({0, 1, 2} - {word}) for word in removed])
    >>> factors, inserted = rake_word_weights(
    ...     np.bincount(removed), np.repeat(np.arange(10), 2), options.ravel(), np.ones(20)
    ... )
    >>> (factors / factors[1]).round(3).tolist()  # word 0 by 2 / (2 + 1) of six slots: 4 times
    [2.0, 1.0, 1.0]
    >>> inserted.round(3).tolist()
    [4.0, 3.0, 3.0]
    """
    slots, words = int(slot.max()) + 1, len(target_counts)
    target_counts = target_counts * (slots / max(target_counts.sum(), 1e-9))
    factors = np.ones(words)

    def count_insertions() -> np.ndarray:
        scaled = weight * factors[word]
        return np.bincount(word, scaled / np.bincount(slot, scaled, slots)[slot], words)

    for _ in range(NUM_ITERATIONS):
        now = count_insertions()
        factors = np.clip(
            factors * np.divide(target_counts, now, out=np.ones(words), where=now > 0), MIN_FACTOR, MAX_FACTOR
        )
    return factors, count_insertions()


class SlotOptions(NamedTuple):
    """A slot that gives up `removed_word` (-1: one without an index) and could take words [n] with weights [n] > 0."""

    word_context: WordContext
    removed_word: int
    word_indices: np.ndarray
    weights: np.ndarray


def fit_word_factors(
    slot_options: Iterable[SlotOptions], num_words_by_sort: Mapping[str, int]
) -> dict[WordContext, np.ndarray]:
    """Fit factors [words] for each frequent context. Those of the context "" apply to all others.

    Args:
        num_words_by_sort: Sort of word -> number of its words.
    """
    slots, pooled = (
        group_by(slot_options, lambda slot: slot.word_context),
        defaultdict[WordContext, list[SlotOptions]](list),
    )
    for (sort, context), same in sorted(slots.items(), key=lambda item: item[0]):
        pooled[sort, context if len(same) >= MIN_SLOTS_PER_CONTEXT else ""] += same
    shortfall = {sort: np.zeros(count) for sort, count in num_words_by_sort.items()}
    found = {}
    # In this order the context "" comes last of each sort.
    for sort, context in sorted(pooled, reverse=True):
        _, removed_words, options, weights = zip(*pooled[sort, context], strict=True)
        numbers = [word for word in removed_words if word >= 0]
        removed = np.bincount(numbers, minlength=num_words_by_sort[sort]).astype(float)
        wanted = removed if context else np.maximum(removed + SHORTFALL_COMPENSATION * shortfall[sort], 0)
        slot = np.repeat(np.arange(len(options)), [len(each) for each in options])
        weight = np.concatenate(weights).astype(float)
        found[sort, context], inserted = rake_word_weights(wanted, slot, np.concatenate(options), weight)
        shortfall[sort] += removed - inserted
    return found
