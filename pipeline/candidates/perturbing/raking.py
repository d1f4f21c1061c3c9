"""Put every word in as often as it is taken out.

Whoever draws replacements by frequency alone still tells which questions were edited: a man is never replaced by
a man, so "man" is put in less often than it is taken out, and a model that sees only the text learns that "man"
speaks for an original. So each word gets a factor, by which its weight is multiplied wherever it may be drawn,
such that over all slots of the data set the expected number of times that it is put in equals the number of
times that it is taken out; and that within each context that is common enough ("Who is wearing the ...?").

The factors are found by raking (iterative proportional fitting; Deming and Stephan, 1940) on a sample of the
slots themselves, as they offer themselves with their sentences and images. That uses counts of words and
nothing else: no model that tells edited questions from originals is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pipeline.core.jsonl_index import group_by

NUM_ITERATIONS = 60  # of raking; more change no factor that matters, as those of the words that can be evened out stand still
MIN_FACTOR, MAX_FACTOR = (
    1e-4,
    1e4,
)  # of factors: what is never taken out is put in only where nothing else can be
MIN_SLOTS_PER_CONTEXT = (
    12  # that make a context of its own; rarer ones, which tell little, are raked together
)
# Share of what common contexts fall short of that the others make up for. All of it would even out each word by
# itself, and give it away by its neighbours ("on" in places where nothing is on anything).
SHORTFALL_COMPENSATION = 0.5

WordContext = tuple[str, str]  # what sort of word, and in which context ("": any)


def rake_word_weights(
    target_counts: np.ndarray, slot: np.ndarray, word: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Factors of words such that the sum over slots of P(word | slot) is as wanted, where P(word | slot) is
    proportional to factor * weight. Where that cannot be (a word wanted in more slots than may draw it), as near
    as it gets.

    Args:
        wanted: [words] how often each is to be put in; scaled to one word a slot.
        slot, word, weight: [options] one entry for each word that a slot may take. Slots count from 0, and each
            may take some word.

    Returns:
        Factors [words], and how often each word is then put in [words].

    >>> taken = [0] * 4 + [1] * 3 + [2] * 3  # ten slots, each of which may be given both others
    >>> options = np.array([sorted({0, 1, 2} - {word}) for word in taken])
    >>> factors, put = rake(np.bincount(taken), np.repeat(np.arange(10), 2), options.ravel(), np.ones(20))
    >>> (factors / factors[1]).round(3).tolist()  # word 0 by 2 / (2 + 1) of six slots: 4 times
    [2.0, 1.0, 1.0]
    >>> put.round(3).tolist()
    [4.0, 3.0, 3.0]
    """
    slots, words = int(slot.max()) + 1, len(target_counts)
    target_counts = target_counts * (slots / max(target_counts.sum(), 1e-9))
    factors = np.ones(words)

    def put() -> np.ndarray:
        scaled = weight * factors[word]
        return np.bincount(word, scaled / np.bincount(slot, scaled, slots)[slot], words)

    for _ in range(NUM_ITERATIONS):
        now = put()
        factors = np.clip(
            factors * np.divide(target_counts, now, out=np.ones(words), where=now > 0), MIN_FACTOR, MAX_FACTOR
        )
    return factors, put()


class SlotOptions(NamedTuple):
    """A slot that gives up the word `taken` (-1: one without a number) and could take words [n] with weights [n] > 0."""

    word_context: WordContext
    removed_word: int
    word_indices: np.ndarray
    weights: np.ndarray


def fit_word_factors(
    slot_options: Iterable[SlotOptions], num_words_by_sort: Mapping[str, int]
) -> dict[WordContext, np.ndarray]:
    """Factors [words] for each common kind; those of the context "" are for all others.

    Args:
        words: how many words there are of each sort.
    """
    slots, pooled = (
        group_by(slot_options, lambda offer: offer.word_context),
        defaultdict[WordContext, list[SlotOptions]](list),
    )
    for (sort, context), same in sorted(slots.items(), key=lambda item: item[0]):
        pooled[sort, context if len(same) >= MIN_SLOTS_PER_CONTEXT else ""] += same
    short = {sort: np.zeros(count) for sort, count in num_words_by_sort.items()}
    found = {}
    for sort, context in sorted(pooled, reverse=True):  # of each sort the context "" comes last
        _, given_up, options, weights = zip(*pooled[sort, context], strict=True)
        numbers = [word for word in given_up if word >= 0]
        taken = np.bincount(numbers, minlength=num_words_by_sort[sort]).astype(float)
        wanted = taken if context else np.maximum(taken + SHORTFALL_COMPENSATION * short[sort], 0)
        slot = np.repeat(np.arange(len(options)), [len(each) for each in options])
        weight = np.concatenate(weights).astype(float)
        found[sort, context], put = rake_word_weights(wanted, slot, np.concatenate(options), weight)
        short[sort] += taken - put
    return found
