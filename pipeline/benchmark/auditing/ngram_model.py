"""A language model by counts of words, three in a row at most; texts can be taken out of it again."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

NGRAM_ORDER = 3  # words of an n-gram


class NgramModel:
    """Probabilities of words after the two words before them, by counts in some texts.

    After a history h that was followed N times by T different words, a word seen there c times has
    (c + T * shorter) / (N + T), `shorter` being its probability after a history one word shorter (Witten and Bell);
    after none, all known words and one for the unknown are equally likely.

    >>> model = NgramModel([["a", "b"], ["a", "b"]])  # p(b) = (2 + 3 / 4) / (6 + 3), p(b after a) = (2 + p(b)) / (2 + 1)
    >>> round(model.probability((), "b"), 4), round(model.probability(("a",), "b"), 4)
    (0.3056, 0.7685)
    """

    def __init__(self, texts: Iterable[Sequence[str]] = ()) -> None:
        self.counts: Counter[tuple[str, ...]] = (
            Counter()
        )  # n-grams of 1 to ORDER words, with the end of a text
        self._history_counts: Counter[tuple[str, ...]] = Counter()
        self._distinct_continuations: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            self.add(text)

    def add(self, text: Sequence[str], times: int = 1) -> None:
        """Count a text so many times; a negative number takes it out again."""
        for ngram in make_ngrams(text):
            before, history = self.counts[ngram], ngram[:-1]
            self.counts[ngram] = before + times
            self._history_counts[history] += times
            self._distinct_continuations[history] += (before + times > 0) - (before > 0)

    def probability(self, history: tuple[str, ...], word: str) -> float:
        """Of a word after at most two words."""
        shorter = (
            self.probability(history[1:], word) if history else 1 / (self._distinct_continuations[()] + 1)
        )
        followed, different = self._history_counts[history], self._distinct_continuations[history]
        if not followed:
            return shorter
        return (self.counts[*history, word] + different * shorter) / (followed + different)

    def log_probabilities(self, text: Sequence[str]) -> list[float]:
        """Of each of a text's words and its end."""
        padded = _pad(text)
        ends = range(NGRAM_ORDER - 1, len(padded))
        return [math.log(self.probability(padded[i - NGRAM_ORDER + 1 : i], padded[i])) for i in ends]

    def mean_log_probability(self, text: Sequence[str]) -> float:
        """Of a text's words and its end."""
        logs = self.log_probabilities(text)
        return sum(logs) / len(logs)


def tokenize(text: str) -> list[str]:
    """The words of a text in small letters, without marks."""
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*|'s", text.lower())


def make_ngrams(text: Sequence[str]) -> list[tuple[str, ...]]:
    """All that end in a word of a text or in its end; before its start stand empty words."""
    padded = _pad(text)
    ends = range(NGRAM_ORDER, len(padded) + 1)
    return [padded[end - length : end] for end in ends for length in range(1, NGRAM_ORDER + 1)]


def _pad(words: Sequence[str]) -> tuple[str, ...]:
    return *[""] * (NGRAM_ORDER - 1), *words, "\n"
