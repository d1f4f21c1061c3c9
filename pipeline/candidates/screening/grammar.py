"""Slips that GQA's own templates make and that an edited question inherits.

A released source question may keep them: it is GQA's. An edited one is ours, and a reader should not trip over it; nor may it be
told by being the one that has no slip, so an edit goes if either has one.
"""

from __future__ import annotations

from functools import lru_cache

from pipeline.language.relations import PREPOSITIONS
from pipeline.language.sentence import tokens_of
from pipeline.language.word_lists import DETERMINERS, words

_PLACES = frozenset(phrase for phrase in PREPOSITIONS if " " not in phrase) - {"from", "to", "of"}
_STARTS = frozenset(phrase.split()[0] for phrase in PREPOSITIONS)
_BEFORE_OF = words("out, inside, outside, off")
_RELATIVE = words("that, which, who")
_FINITE = words("is, are, was, were, do, does, have, has, can")
_LOOKS = words("color, colour, size, length, shape, height, material, pattern, weight, age")
_ENDS = frozenset(("", "?", ".", "!"))  # "" is the end of a text without a mark
_ONE, _SEVERAL = words("it, this, that"), words("these, those, they")


@lru_cache(maxsize=1 << 16)
def slip(text: str) -> str:
    """The first rule of English that a question breaks: one preposition for a noun, one verb for a clause, a verb that
    agrees with its subject, an article where one is due, one way to ask; "" if it breaks none.

    >>> slip("What is the man that to the left of the cup wearing?")
    'a clause without a verb'
    >>> slip("Is the cup in front or behind the vase?"), slip("Does the cup have large size?")
    ('a preposition cut short', 'a noun without an article')
    >>> slip("Which color do you think is the cup?")
    'the order of another question'
    """
    tokens = ("", *tokens_of(text), "", "")
    for before, token, after, next_ in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if token == after and token.isalpha():
            return "a word said twice"
        if token in _PLACES - _BEFORE_OF and after == "of":
            return "a preposition too many"
        if before == "in" and token == "front" and after not in {"of", *_ENDS}:
            return "a preposition cut short"
        if token in ("have", "has") and next_ in _LOOKS:
            return "a noun without an article"
        if token == "think" and after in ("is", "are") and next_ in DETERMINERS:
            return "the order of another question"
        if before not in {"", *_FINITE} and token in _RELATIVE and after in _STARTS:
            return "a clause without a verb"
        if (token == "are" and after in _ONE and next_ in _ENDS) or (token == "is" and after in _SEVERAL):
            return "a verb that does not agree"
    if tokens[1] == "how" and "called" in tokens:
        return "not how one asks for a name"
    said = [token for token in tokens if token[:1].isalnum()]
    if tokens[1] == "where" and said[-1] in {"of", *_PLACES}:
        return "a place asked for twice"
    return ""
