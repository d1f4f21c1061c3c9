"""How this room's tables of words are written: commas part words, `;` or a line's end groups of them."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a list.

    >>> sorted(words("cup, side table"))
    ['cup', 'side table']
    """
    return frozenset(word for group in groups(text.replace("\n", " ")) for word in group)


def groups(text: str) -> list[list[str]]:
    """The groups of a table.

    >>> groups("couch, sofa; cup")
    [['couch', 'sofa'], ['cup']]
    """
    rows = ([word.strip() for word in row.split(",") if word.strip()] for row in re.split(r"[;\n]", text))
    return [row for row in rows if row]


def pairs(text: str) -> list[tuple[str, str]]:
    """The groups of a table that has two words in each.

    >>> pairs("is, are; was, were")
    [('is', 'are'), ('was', 'were')]
    """
    return [(first, second) for first, second in groups(text)]


def heads(text: str) -> dict[str, tuple[str, ...]]:
    """The words that stand before a colon, with those that follow it.

    >>> heads("couch: sofa; man: guy, gentleman")
    {'couch': ('sofa',), 'man': ('guy', 'gentleman')}
    """
    rows = [row.partition(":") for row in re.split(r"[;\n]", text) if ":" in row]
    return {head.strip(): tuple(groups(rest)[0]) for head, _, rest in rows}
