"""Answers and attributes as they are said, and which of them say the same."""

from __future__ import annotations

from pipeline.words.kinds import standard
from pipeline.words.nouns import lemma

_SPOKEN = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
_MATERIALS = {"wooden": "wood", "metallic": "metal"}
# Attributes as said before a noun -> as GQA calls them.
SPOKEN_ATTRIBUTES = _MATERIALS | {"blonde": "blond", "big": "large", "colour": "color"}


def spoken(option: str) -> str:
    """An option of `choose` as GQA answers it.

    >>> spoken("to the left of"), spoken("red")
    ('left', 'red')
    """
    return _SPOKEN.get(option, option)


def same_answer(a: str, b: str) -> bool:
    """Whether two answers say the same: synonyms (sofa, couch), two numbers of a noun or two forms of an
    adjective (cows, cow; wooden, wood)."""
    return a == b or _standard(a) == _standard(b)


def _standard(answer: str) -> str:
    name = lemma(answer.strip().lower())
    return _MATERIALS.get(name) or standard(name)
