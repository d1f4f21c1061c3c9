"""Which names a thing may go by: categories and members of one data set, with WordNet's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from pipeline.words import kinds as wordnet
from pipeline.words.frames import ANYTHING, PERSONS
from pipeline.words.nouns import lemma

# Of one person, not both are true.
_OPPOSITES = (({"man", "boy"}, {"woman", "girl"}), ({"man", "woman"}, {"child"}))


class Lexicon:
    """The words of one data set, made once: its own categories, and what WordNet knows of everyday things.

    Where the two differ, the data set is right: what it calls a kind of something is one. Names are singular
    (`lemma`) where not said otherwise. What was worked out is kept as long as the process lives.

    Args:
        categories: category -> names of its members or of other categories (`furniture` -> table, chair ...).
        attribute_types: attribute -> its GQA type (`red` -> color); "" or missing when not known.
    """

    def __init__(self, categories: Mapping[str, Iterable[str]], attribute_types: Mapping[str, str]) -> None:
        self.categories = {
            lemma(name): frozenset(map(lemma, members)) for name, members in categories.items()
        }
        self.attribute_types = dict(attribute_types)
        self._own = wordnet.inverted({name: members - {name} for name, members in self.categories.items()})

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
        asked, known = (
            self.above(PERSONS.get(name, (lemma(name),))[0]),
            set[str]().union(*map(self.above, names)),
        )
        excluded = any((a & known and b & asked) or (b & known and a & asked) for a, b in _OPPOSITES)
        return False if excluded else None

    @cache  # noqa: B019
    def kinds(self, name: str) -> frozenset[str] | None:
        """The known names that `name`, in any number, selects: itself, synonyms, members; None for anything."""
        return None if name in ANYTHING else _reach(lemma(name), self._below)

    @cache  # noqa: B019
    def groups(self, name: str) -> frozenset[str]:
        """The categories to which a name belongs: more general names of whatever goes by it."""
        kind = PERSONS.get(name, (name,))[0]
        return self.above(kind) - wordnet.synonyms(kind)

    @cache  # noqa: B019
    def above(self, name: str, own: bool = False) -> frozenset[str]:
        """All that a thing of a name may be called: the name, its synonyms and categories.

        Args:
            own: by the data set's own categories alone.
        """
        return _reach(name, self._stated if own else self._above)

    def _stated(self, name: str) -> Iterable[str]:
        return self._own.get(name, ())

    def _above(self, name: str) -> Iterable[str]:
        """One step up. Where a member is by WordNet the more general name, the data set's word is a slip."""
        below = wordnet.members().get(name, frozenset())
        return {*self._own.get(name, ())} - below | wordnet.synonyms(name) | wordnet.kinds(name)

    def _below(self, name: str) -> Iterable[str]:
        members = {*(self.categories.get(name) or PERSONS.get(name, ()))} - wordnet.kinds(name)
        return members | wordnet.members().get(name, frozenset()) | wordnet.synonyms(name)


def _reach(start: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """All names to which steps lead."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += step(name)
    return frozenset(reached)
