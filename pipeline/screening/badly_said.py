"""Slips of grammar that GQA's own templates make and that an edited question inherits from its source.

A released source question may keep them: it is GQA's. An edited one is ours, and a reader should not trip over it.
"""

from __future__ import annotations

import re

from pipeline.screening.screen_case import Fault, ScreenCase

_SLIPS = (  # what is wrong, how it is seen
    ("a preposition too many", r"\b(?:behind|beside|near|above|below|under|underneath|beneath) of\b"),
    (
        "a clause without a verb",
        r"\bthe (?:\w+ ){1,3}(?:that|which|who) (?:to|on|in|under|underneath|behind|above|below|near|beside)\b",
    ),
    ("several that are one", r"\bare (?:it|this|that)\?"),
    ("one that is several", r"\bis (?:these|those|they)\b"),
    ("not how one asks for a name", r"^how\b.* called\b"),
    ("a place asked for twice", r"^where\b[^?]* (?:on|in|at|under|behind|front of|left of|right of)\?"),
    ("a word said twice", r"\b(\w+) \1\b"),
)
_SEEN = tuple((what, re.compile(pattern, re.IGNORECASE)) for what, pattern in _SLIPS)


def slip_of_grammar(case: ScreenCase) -> Fault:
    """The first slip in the text of an edited question."""
    return slip(case.candidate.text) if case.candidate.edits else None


def slip(text: str) -> str | None:
    """The first slip in a text.

    >>> slip("What is the man that to the left of the cup wearing?")
    'a clause without a verb'
    >>> slip("What is the man that is to the left of the cup wearing?")
    """
    return next((what for what, pattern in _SEEN if pattern.search(text)), None)
