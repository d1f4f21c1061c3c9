"""Words of questions as numbers. The words are those of the train questions alone; any other word has a number of its
own, which is not the padding's (RGQA's code shares one, and counts test words among those known)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PADDING, UNKNOWN = 0, 1
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


def words(text: str) -> list[str]:
    """The words of a text in lower case.

    >>> words("Is the T-shirt to the man's left?")
    ['is', 'the', 't', 'shirt', 'to', 'the', "man's", 'left']
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class WordTable:
    """Which word has which number: word i has i + 2.

    >>> table = WordTable.learned(["the red cup", "the cup"], least=2)
    >>> table.known, table.numbers(["the blue cup", "cup"]).tolist()
    (('cup', 'the'), [[3, 1, 2], [2, 0, 0]])
    """

    known: tuple[str, ...]

    @classmethod
    def learned(cls, texts: Iterable[str], least: int = 1) -> WordTable:
        """The words that occur at least so often in train texts."""
        counts = Counter(word for text in texts for word in words(text))
        return cls(tuple(sorted(word for word, count in counts.items() if count >= least)))

    def __len__(self) -> int:
        """How many numbers there are, padding and unknown included."""
        return len(self.known) + 2

    def numbers(self, texts: Sequence[str]) -> np.ndarray:
        """int64 [n, longest], padded on the right; a text without words is one unknown word."""
        number = {word: i for i, word in enumerate(self.known, UNKNOWN + 1)}
        rows = [[number.get(word, UNKNOWN) for word in words(text)] or [UNKNOWN] for text in texts]
        table = np.full((len(rows), max(map(len, rows), default=1)), PADDING, np.int64)
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        return table


def cut(tokens: np.ndarray) -> np.ndarray:
    """Tokens [b, L] as int64 without the columns that are padding for all."""
    return np.ascontiguousarray(tokens[:, : max(1, int((tokens != PADDING).sum(1).max()))]).astype(np.int64)
