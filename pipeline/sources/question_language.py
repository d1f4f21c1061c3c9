"""Recognize whether questions are English, the only language that the pipeline edits."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Frequent words of English questions that other European languages do not have.
_ENGLISH_WORDS = frozenset(
    (
        *("the", "what", "which", "who", "where", "how", "does", "are"),
        *("there", "this", "that", "they", "and", "with", "it", "any"),
    )
)
MIN_TEXTS = 5
# If a larger proportion of the questions has none of these words, they are not English. Of 2,421 questions of GQA
# (GQA-OOD's tail questions of val and testdev), 2 have none.
MAX_FOREIGN_PROPORTION = 0.5


def find_foreign_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts without any frequent English word, if they are too many to be English; otherwise [].

    >>> find_foreign_texts(["Welche Farbe hat die Tasse?"] * 4 + ["What is this?"])[:1]
    ['Welche Farbe hat die Tasse?']
    >>> find_foreign_texts(["Is it red?", "Is a dog near a bench?", "What is this?", "Who is he?", "Is he old?"])
    []
    """
    foreign = [text for text in texts if _ENGLISH_WORDS.isdisjoint(re.findall(r"[a-z]+", text.lower()))]
    is_foreign = len(texts) >= MIN_TEXTS and len(foreign) > MAX_FOREIGN_PROPORTION * len(texts)
    return foreign if is_foreign else []
