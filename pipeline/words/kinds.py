"""The table of what everyday things are called besides their names: synonyms and kinds, from WordNet 3.0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("kinds.tsv")
HEADER = (
    "# Derived from WordNet 3.0, Copyright 2006 by Princeton University; its licence is in LICENSE.\n"
    "# Made by python -m studies.kinds.derive_kinds; edit choices.py, not this file.\n"
    "# name\tsynonym of\tkinds\n"
)


class NameEntry(NamedTuple):
    """What is known of a name.

    Attributes:
        same: the name that says the same and stands for all that do; "" if it is this one, or there is none.
        kinds: more general names of the same thing (armchair: chair, furniture).
    """

    same: str
    kinds: frozenset[str]


_UNKNOWN = NameEntry("", frozenset())
_TOYS = frozenset(("stuffed", "toy"))  # a stuffed bear, a toy car: no bear, no car
_UNREAL = frozenset(("fake", "model", "gingerbread", "inflatable"))


@cache
def rows() -> dict[str, NameEntry]:
    """Name (singular, small letters) -> what is known of it."""
    lines = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return {name: NameEntry(same, frozenset(kinds.split(",")) - {""}) for name, same, kinds in lines}


def standard(name: str) -> str:
    """The name that stands for a name and its synonyms (sofa: couch), or the name itself."""
    return rows().get(name, _UNKNOWN).same or name


def synonyms(name: str) -> frozenset[str]:
    """All names that say the same, the name itself included."""
    return _synonyms().get(standard(name), frozenset((name,)))


def kinds(name: str) -> frozenset[str]:
    """More general names of whatever goes by a name. What is not listed is of the kind of its last word: a
    safety jacket is a jacket."""
    if name in rows():
        return rows()[name].kinds
    first, _, rest = name.partition(" ")
    if not rest or first in _UNREAL:
        return frozenset()
    if first in _TOYS:
        return frozenset(("toy",))
    above = kinds(rest)
    return above | {rest} if above or rest in members() else frozenset()


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    same = inverted({name: (entry.same,) for name, entry in rows().items() if entry.same})
    return {name: others | {name} for name, others in same.items()}


@cache
def members() -> dict[str, frozenset[str]]:
    """Kind -> the listed names of that kind."""
    return inverted({name: entry.kinds for name, entry in rows().items()})


def inverted(above: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """What is above each name -> what is below each name.

    >>> inverted({"chair": ("furniture",), "furniture": ()})
    {'furniture': frozenset({'chair'})}
    """
    below: defaultdict[str, set[str]] = defaultdict(set)
    for name, groups in above.items():
        for group in groups:
            below[group].add(name)
    return {group: frozenset(names) for group, names in below.items()}
