"""The table of what everyday things are called besides their names: synonyms and kinds, from WordNet 3.0."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("kinds.tsv")
HEADER = (
    "# Derived from WordNet 3.0, Copyright 2006 by Princeton University; its licence is in LICENSE.\n"
    "# Made by python -m studies.kinds.derive_kinds; edit choices.py, not this file.\n"
    "# name\tsynonym of\tkinds\n"
)


class Row(NamedTuple):
    """What is known of a name.

    Attributes:
        same: the name that says the same and stands for all that do; "" if it is this one, or there is none.
        kinds: more general names of the same thing (armchair: chair, furniture).
    """

    same: str
    kinds: frozenset[str]


_NONE: frozenset[str] = frozenset()
_UNKNOWN = Row("", _NONE)
_TOYS = frozenset(("stuffed", "toy"))  # a stuffed bear, a toy car: no bear, no car
_UNREAL = frozenset(("fake", "model", "gingerbread", "inflatable"))


@cache
def rows() -> dict[str, Row]:
    """Name (singular, small letters) -> row."""
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, same, kinds = line.split("\t")
            found[name] = Row(same, frozenset(kinds.split(",")) if kinds else _NONE)
    return found


def standard(name: str) -> str:
    """The name that stands for a name and its synonyms (sofa: couch), or the name itself."""
    return rows().get(name, _UNKNOWN).same or name


def synonyms(name: str) -> frozenset[str]:
    """All names that say the same, the name itself included."""
    return _groups().get(standard(name)) or frozenset((name,))


def kinds(name: str) -> frozenset[str]:
    """More general names of whatever goes by a name. What is not listed is of the kind of its last word: a
    safety jacket is a jacket."""
    found = rows().get(name)
    if found:
        return found.kinds
    first, space, rest = name.partition(" ")
    if not space or first in _UNREAL:
        return _NONE
    if first in _TOYS:
        return frozenset(("toy",))
    above = kinds(rest)
    return above | {rest} if above or rest in members() else _NONE


@cache
def _groups() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, row in rows().items():
        if row.same:
            found.setdefault(row.same, {row.same}).add(name)
    return {name: frozenset(group) for name, group in found.items()}


@cache
def members() -> dict[str, frozenset[str]]:
    """Kind -> the listed names of that kind."""
    found: dict[str, set[str]] = {}
    for name, row in rows().items():
        for kind in row.kinds:
            found.setdefault(kind, set()).add(name)
    return {kind: frozenset(names) for kind, names in found.items()}
