"""Words of questions as numbers. The words are those of the train questions alone; any other word has a number of its
own, which is not the padding's (RGQA's code shares one, and counts test words among those known)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PADDING_ID, UNKNOWN_ID = 0, 1
_WORD_PATTERN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case.

    >>> words("Is the T-shirt to the man's left?")
    ['is', 'the', 't', 'shirt', 'to', 'the', "man's", 'left']
    """
    return _WORD_PATTERN.findall(text.lower())


@dataclass(frozen=True)
class WordVocabulary:
    """Which word has which number: word i has i + 2.

    >>> table = WordTable.learned(["the red cup", "the cup"], least=2)
    >>> table.known, table.numbers(["the blue cup", "cup"]).tolist()
    (('cup', 'the'), [[3, 1, 2], [2, 0, 0]])
    """

    words: tuple[str, ...]

    @classmethod
    def from_texts(cls, texts: Iterable[str], min_count: int = 1) -> WordVocabulary:
        """The words that occur at least so often in train texts."""
        counts = Counter(word for text in texts for word in split_words(text))
        return cls(tuple(sorted(word for word, count in counts.items() if count >= min_count)))

    def __len__(self) -> int:
        """How many numbers there are, padding and unknown included."""
        return len(self.words) + 2

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """int64 [n, longest], padded on the right; a text without words is one unknown word."""
        number = {word: i for i, word in enumerate(self.words, UNKNOWN_ID + 1)}
        rows = [
            [number.get(word, UNKNOWN_ID) for word in split_words(text)] or [UNKNOWN_ID] for text in texts
        ]
        table = np.full((len(rows), max(map(len, rows), default=1)), PADDING_ID, np.int64)
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        return table


def trim_padding(tokens: np.ndarray) -> np.ndarray:
    """Tokens [b, L] as int64 without the columns that are padding for all."""
    return np.ascontiguousarray(tokens[:, : max(1, int((tokens != PADDING_ID).sum(1).max()))]).astype(
        np.int64
    )
