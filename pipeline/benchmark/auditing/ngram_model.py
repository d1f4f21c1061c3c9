"""A word 3-gram language model with Witten-Bell smoothing. Texts can be added and removed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

NGRAM_ORDER = 3


class NgramModel:
    """Estimate the probability of a word after the two words before it.

    The words before a word are its history. If N words followed a history, T of them distinct, and the word
    was c of the N words, then the probability of the word is (c + T * shorter) / (N + T). Here `shorter` is
    the probability of the word after a history that is one word shorter (Witten and Bell, 1991). For the
    empty history, `shorter` is the same for all known words and one unknown word.

    >>> model = NgramModel([["a", "b"], ["a", "b"]])  # p(b) = (2 + 3 / 4) / (6 + 3), p(b after a) = (2 + p(b)) / (2 + 1)
    >>> round(model.probability((), "b"), 4), round(model.probability(("a",), "b"), 4)
    (0.3056, 0.7685)
    """

    def __init__(self, texts: Iterable[Sequence[str]] = ()) -> None:
        # Counts of the n-grams of 1 to NGRAM_ORDER words. The end of a text counts as a word.
        self.counts: Counter[tuple[str, ...]] = Counter()
        self._history_counts: Counter[tuple[str, ...]] = Counter()
        self._distinct_continuations: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            self.add(text)

    def add(self, text: Sequence[str], times: int = 1) -> None:
        """Count a text `times` times. A negative number removes the text."""
        for ngram in make_ngrams(text):
            before, history = self.counts[ngram], ngram[:-1]
            self.counts[ngram] = before + times
            self._history_counts[history] += times
            self._distinct_continuations[history] += (before + times > 0) - (before > 0)

    def probability(self, history: tuple[str, ...], word: str) -> float:
        """Return the probability of a word after a history of at most two words."""
        shorter = (
            self.probability(history[1:], word) if history else 1 / (self._distinct_continuations[()] + 1)
        )
        followed, different = self._history_counts[history], self._distinct_continuations[history]
        if not followed:
            return shorter
        return (self.counts[*history, word] + different * shorter) / (followed + different)

    def log_probabilities(self, text: Sequence[str]) -> list[float]:
        """Return the log probability of each word of a text and of its end."""
        padded = _pad(text)
        ends = range(NGRAM_ORDER - 1, len(padded))
        return [math.log(self.probability(padded[i - NGRAM_ORDER + 1 : i], padded[i])) for i in ends]

    def mean_log_probability(self, text: Sequence[str]) -> float:
        """Return the mean log probability of the words of a text and of its end."""
        logs = self.log_probabilities(text)
        return sum(logs) / len(logs)


def tokenize(text: str) -> list[str]:
    """Return the lowercase words of a text, without punctuation.

    >>> tokenize("Is the man's T-shirt red?")
    ['is', 'the', 'man', "'s", 't-shirt', 'red']
    """
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*|'s", text.lower())


def make_ngrams(text: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the n-grams that end with a word of a text or with the end of the text.

    The text is padded with empty words at the start.
    """
    padded = _pad(text)
    ends = range(NGRAM_ORDER, len(padded) + 1)
    return [padded[end - length : end] for end in ends for length in range(1, NGRAM_ORDER + 1)]


def _pad(words: Sequence[str]) -> tuple[str, ...]:
    return *[""] * (NGRAM_ORDER - 1), *words, "\n"
