"""Tokenize questions into words of the training vocabulary.

All other words have the id of the unknown word, which differs from the id of padding. (RGQA's code uses the
same id for both, and its vocabulary includes the words of the test questions.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PADDING_ID, UNKNOWN_ID = 0, 1
_WORD_PATTERN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case.

    >>> split_words("Is the T-shirt to the man's left?")
    ['is', 'the', 't', 'shirt', 'to', 'the', "man's", 'left']
    """
    return _WORD_PATTERN.findall(text.lower())


@dataclass(frozen=True)
class WordVocabulary:
    """The known words. Word i has the id i + 2.

    >>> vocabulary = WordVocabulary.from_texts(["the red cup", "the cup"], min_count=2)
    >>> vocabulary.words, vocabulary.encode(["the blue cup", "cup"]).tolist()
    (('cup', 'the'), [[3, 1, 2], [2, 0, 0]])
    """

    words: tuple[str, ...]

    @classmethod
    def from_texts(cls, texts: Iterable[str], min_count: int = 1) -> WordVocabulary:
        """Return the vocabulary of the words that occur at least `min_count` times in texts."""
        counts = Counter(word for text in texts for word in split_words(text))
        return cls(tuple(sorted(word for word, count in counts.items() if count >= min_count)))

    def __len__(self) -> int:
        """Return the number of ids, including padding and the unknown word."""
        return len(self.words) + 2

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the token ids of texts, int64 [n, longest], padded on the right.

        A text without words becomes one unknown word.
        """
        number = {word: i for i, word in enumerate(self.words, UNKNOWN_ID + 1)}
        rows = [
            [number.get(word, UNKNOWN_ID) for word in split_words(text)] or [UNKNOWN_ID] for text in texts
        ]
        table = np.full((len(rows), max(map(len, rows), default=1)), PADDING_ID, np.int64)
        for i, row in enumerate(rows):
            table[i, : len(row)] = row
        return table


def trim_padding(tokens: np.ndarray) -> np.ndarray:
    """Return tokens [b, L] as int64, without the columns that are padding in all rows."""
    return np.ascontiguousarray(tokens[:, : max(1, int((tokens != PADDING_ID).sum(1).max()))]).astype(
        np.int64
    )
