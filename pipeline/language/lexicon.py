"""Which names a thing may go by: categories and members of one data set, with synonyms and kinds of everyday things from
WordNet 3.0, of which kinds.tsv is the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from pipeline.language.nouns import lemma
from pipeline.language.word_lists import ANYTHING, PERSONS, words

K = TypeVar("K")

TABLE = Path(__file__).with_name("kinds.tsv")
# Of one person, not both are true.
_OPPOSITES = (({"man", "boy"}, {"woman", "girl"}), ({"man", "woman"}, {"child"}))


class NameEntry(NamedTuple):
    """What is known of a name: the one that stands for it and its synonyms, "" if it is this one; more general names of
    the same thing (armchair: chair, furniture)."""

    same: str = ""
    kinds: frozenset[str] = frozenset()


UNKNOWN = NameEntry()
_TOYS = words("stuffed, toy")  # a stuffed bear, a toy car: no bear, no car
_UNREAL = words("fake, model, gingerbread, inflatable")


@cache
def wordnet() -> dict[str, NameEntry]:
    """Name (singular, small letters) -> what the table knows of it."""
    lines = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return {name: NameEntry(same, frozenset(kinds.split(",")) - {""}) for name, same, kinds in lines}


def standard(name: str) -> str:
    """The name that stands for a name and its synonyms (sofa: couch), or the name itself."""
    return wordnet().get(name, UNKNOWN).same or name


def synonyms(name: str) -> frozenset[str]:
    """All names that say the same, the name itself included."""
    return _synonyms().get(standard(name), frozenset((name,)))


def kinds(name: str) -> frozenset[str]:
    """More general names of whatever goes by a name. What is not listed is of the kind of its last word: a
    safety jacket is a jacket."""
    if name in wordnet():
        return wordnet()[name].kinds
    first, _, rest = name.partition(" ")
    if not rest or first in _UNREAL:
        return frozenset()
    if first in _TOYS:
        return frozenset(("toy",))
    above = kinds(rest)
    return above | {rest} if above or rest in members() else frozenset()


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    same = inverted({name: (entry.same,) for name, entry in wordnet().items() if entry.same})
    return {name: others | {name} for name, others in same.items()}


@cache
def members() -> dict[str, frozenset[str]]:
    """Kind -> the listed names of that kind."""
    return inverted({name: entry.kinds for name, entry in wordnet().items()})


def inverted(above: Mapping[K, Iterable[str]]) -> dict[str, frozenset[K]]:
    """What is above each name -> what is below each name.

    >>> inverted({"chair": ("furniture",), "furniture": ()})
    {'furniture': frozenset({'chair'})}
    """
    below: defaultdict[str, set[K]] = defaultdict(set)
    for name, groups in above.items():
        for group in groups:
            below[group].add(name)
    return {group: frozenset(names) for group, names in below.items()}


class Lexicon:
    """The words of one data set: its own categories, and what WordNet knows of everyday things. Where the two differ, the
    data set is right: what it calls a kind of something is one. Names are singular (`lemma`) where not said otherwise.

    Args:
        categories: category -> names of its members or of other categories (`furniture` -> table, chair ...).
        attribute_types: attribute -> its GQA type (`red` -> color); "" or missing when not known.
    """

    def __init__(self, categories: Mapping[str, Iterable[str]], attribute_types: Mapping[str, str]) -> None:
        self.categories = {lemma(name): frozenset(map(lemma, below)) for name, below in categories.items()}
        self.attribute_types = dict(attribute_types)
        self._own = inverted({name: members - {name} for name, members in self.categories.items()})

    def type_of(self, attribute: str) -> str:
        return self.attribute_types.get(attribute, "")

    @cache  # noqa: B019  (lexicons live as long as the process)
    def is_one(self, names: tuple[str, ...], name: str, own: bool = False) -> bool:
        """Whether a thing that goes by these names is one that `name`, in any number, selects.

        Args:
            own: by the data set's own categories alone: in a world that is drawn by them, a duck is a bird
                only if they say so.
        """
        meant = PERSONS.get(name) or (lemma(name),)
        return name in ANYTHING or any(not self.above(known, own).isdisjoint(meant) for known in names)

    @cache  # noqa: B019
    def may_be(self, names: tuple[str, ...], name: str) -> bool | None:
        """The same where more may be true of a thing than is known: None if it may be (known as a person,
        asked for a man; as a man, asked for a skater), False if not (known as a dog, asked for a cat)."""
        if self.is_one(names, name):
            return True
        groups = self.groups(lemma(name))
        if groups.issuperset(names):
            return None
        if "person" not in groups or not all("person" in self.above(known) for known in names):
            return False
        asked = self.above(PERSONS.get(name, (lemma(name),))[0])
        known = frozenset[str]().union(*map(self.above, names))
        excluded = any((a & known and b & asked) or (b & known and a & asked) for a, b in _OPPOSITES)
        return False if excluded else None

    @cache  # noqa: B019
    def kinds(self, name: str) -> frozenset[str] | None:
        """The known names that `name`, in any number, selects: itself, synonyms, members; None for anything."""
        return None if name in ANYTHING else reached(lemma(name), self._below)

    @cache  # noqa: B019
    def groups(self, name: str) -> frozenset[str]:
        """More general names of whatever goes by a name."""
        kind = PERSONS.get(name, (name,))[0]
        return self.above(kind) - synonyms(kind)

    @cache  # noqa: B019
    def above(self, name: str, own: bool = False) -> frozenset[str]:
        """All that a thing of a name may be called: the name, its synonyms and categories (own: as in `is_one`)."""
        return reached(name, (lambda one: self._own.get(one, ())) if own else self._above)

    def _above(self, name: str) -> Iterable[str]:
        """One step up. Where a member is by WordNet the more general name, the data set's word is a slip."""
        below = members().get(name, frozenset())
        return {*self._own.get(name, ())} - below | synonyms(name) | kinds(name)

    def _below(self, name: str) -> Iterable[str]:
        own = {*(self.categories.get(name) or PERSONS.get(name, ()))} - kinds(name)
        return own | members().get(name, frozenset()) | synonyms(name)


def reached(start: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """A name and all others to which steps lead."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += step(name)
    return frozenset(found)
