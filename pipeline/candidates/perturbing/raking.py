"""Balance the words: insert each word about as often as it is removed.

If replacements are sampled by frequency alone, edits can be detected. A man is never replaced by a man, so
"man" is inserted less often than it is removed. Then a text-only model learns that "man" indicates an
unedited question. So each word gets a factor that multiplies its weight wherever the word may be sampled.
With these factors, the expected number of insertions of a word over all slots of the data set equals the
number of its removals. The same holds within each context that is frequent enough ("Who is wearing the
...?").

The factors are found by raking (iterative proportional fitting; Deming and Stephan, 1940) on a sample of the
slots, as they occur with their sentences and images. Raking uses only counts of words. No model that
distinguishes edited questions from unedited questions is involved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pipeline.core.jsonl_index import group_by

# Number of iterations of raking. After this many iterations, the factors of all words that can be balanced have
# converged.
NUM_ITERATIONS = 60
# Bounds of the factors. Because of the lower bound, a word that is never removed is inserted only where no
# other word can be inserted.
MIN_FACTOR, MAX_FACTOR = 1e-4, 1e4
# Minimum number of slots of a context for which factors are fitted. Rarer contexts are pooled.
MIN_SLOTS_PER_CONTEXT = 12
# In frequent contexts, some words are inserted less often than removed. The pooled context makes up for this
# proportion of the shortfall. If it made up for the whole shortfall, each word alone would be balanced, but
# an inserted word could be recognized by its neighbors (for example "on" in questions in which no other word is ever followed by it).
SHORTFALL_COMPENSATION = 0.5

# Type of word, and context ("" for any context).
WordContext = tuple[str, str]


def rake_word_weights(
    target_counts: np.ndarray, slot: np.ndarray, word: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit factors of words such that each word is inserted as often as its target says.

    P(word | slot) is proportional to factor * weight, and the number of insertions of a word is the sum of
    P(word | slot) over all slots. Some targets cannot be reached, because fewer slots may take the word. Then
    the result is as close as possible.

    Args:
        target_counts: [words] how often each word should be inserted. The counts are scaled to one word per
            slot.
        slot, word, weight: [options] the index of the slot, the index of the word and the weight, for each
            word that a slot may take. Slots count from 0, and each slot may take at least one word.

    Returns:
        The factors [words], and how often each word is inserted with these factors [words].

    >>> removed = [0] * 4 + [1] * 3 + [2] * 3  # ten slots, each of which may take both other words
    >>> options = np.array([sorted({0, 1, 2} - {word}) for word in removed])
    >>> factors, inserted = rake_word_weights(
    ...     np.bincount(removed), np.repeat(np.arange(10), 2), options.ravel(), np.ones(20)
    ... )
    >>> (factors / factors[1]).round(3).tolist()  # word 0 is chosen with probability 2 / (2 + 1) in six slots, so it is inserted 4 times
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
    """The words that a slot may take.

    Attributes:
        word_context: Type and context of the word in the slot.
        removed_word: Index of the word that is replaced, or -1 if the word has no index.
        word_indices: Indices [n] of the words that the slot may take.
        weights: Weights [n] > 0 of these words.
    """

    word_context: WordContext
    removed_word: int
    word_indices: np.ndarray
    weights: np.ndarray


def fit_word_factors(
    slot_options: Iterable[SlotOptions], num_words_by_sort: Mapping[str, int]
) -> dict[WordContext, np.ndarray]:
    """Fit factors [words] for each frequent context.

    The factors of the context "" apply to all other contexts.

    Args:
        slot_options: The words that each slot of a sample may take.
        num_words_by_sort: Type of word -> number of words of this type.
    """
    slots, pooled = (
        group_by(slot_options, lambda slot: slot.word_context),
        defaultdict[WordContext, list[SlotOptions]](list),
    )
    for (word_type, context), same in sorted(slots.items(), key=lambda item: item[0]):
        pooled[word_type, context if len(same) >= MIN_SLOTS_PER_CONTEXT else ""] += same
    shortfall = {word_type: np.zeros(count) for word_type, count in num_words_by_sort.items()}
    factors = {}
    # In this order the context "" comes last for each type of word.
    for word_type, context in sorted(pooled, reverse=True):
        _, removed_words, options, weights = zip(*pooled[word_type, context], strict=True)
        indices = [word for word in removed_words if word >= 0]
        removed = np.bincount(indices, minlength=num_words_by_sort[word_type]).astype(float)
        compensated = np.maximum(removed + SHORTFALL_COMPENSATION * shortfall[word_type], 0)
        target = removed if context else compensated
        slot = np.repeat(np.arange(len(options)), [len(words) for words in options])
        weight = np.concatenate(weights).astype(float)
        factors[word_type, context], inserted = rake_word_weights(
            target, slot, np.concatenate(options), weight
        )
        shortfall[word_type] += removed - inserted
    return factors
