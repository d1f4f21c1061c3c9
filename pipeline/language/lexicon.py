"""Decide which names apply to an object, from the categories of a data set and from WordNet.

The table `kinds.tsv` holds synonyms and hypernyms (more general names) of everyday objects from WordNet 3.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import PRONOUN_REFERENTS, WILDCARD_NAMES, parse_words

K = TypeVar("K")

WORDNET_TABLE_PATH = Path(__file__).with_name("kinds.tsv")
# Pairs of groups of names. Names from both groups of a pair never apply to the same person.
_EXCLUSIVE_NAMES = (({"man", "boy"}, {"woman", "girl"}), ({"man", "woman"}, {"child"}))


class WordNetEntry(NamedTuple):
    """A row of the WordNet table.

    Attributes:
        canonical_name: The name that stands for this name and its synonyms; "" if this name itself stands for
            them.
        hypernyms: More general names. The hypernyms of "armchair" are "chair" and "furniture".
    """

    canonical_name: str = ""
    hypernyms: frozenset[str] = frozenset()


UNKNOWN_ENTRY = WordNetEntry()
# Words before a name that make it the name of another object: a stuffed bear is not a bear, and a fake car is
# not a car.
_TOY_MODIFIERS = parse_words("stuffed, toy")
_IMITATION_MODIFIERS = parse_words("fake, model, gingerbread, inflatable")


@cache
def load_wordnet() -> dict[str, WordNetEntry]:
    """Load the WordNet table: singular name in lower case -> row of the table."""
    lines = (
        line.split("\t")
        for line in WORDNET_TABLE_PATH.read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    return {name: WordNetEntry(same, frozenset(kinds.split(",")) - {""}) for name, same, kinds in lines}


def canonicalize_name(name: str) -> str:
    """Return the name that stands for a name and its synonyms.

    >>> canonicalize_name("sofa"), canonicalize_name("gizmo")
    ('couch', 'gizmo')
    """
    return load_wordnet().get(name, UNKNOWN_ENTRY).canonical_name or name


def get_synonyms(name: str) -> frozenset[str]:
    """Return a set with a name and all its synonyms.

    >>> {"couch", "sofa"} <= get_synonyms("sofa")
    True
    """
    return _load_synonyms().get(canonicalize_name(name), frozenset((name,)))


def get_hypernyms(name: str) -> frozenset[str]:
    """Return the hypernyms of a name.

    If the table does not list a name of several words, the words after the first word are used: a velvet
    jacket is a jacket. A stuffed or toy object is only a "toy", and an imitation ("fake car") has no
    hypernyms.

    >>> sorted(get_hypernyms("velvet jacket"))
    ['clothing', 'jacket']
    """
    if name in load_wordnet():
        return load_wordnet()[name].hypernyms
    first, _, rest = name.partition(" ")
    if not rest or first in _IMITATION_MODIFIERS:
        return frozenset()
    if first in _TOY_MODIFIERS:
        return frozenset(("toy",))
    above = get_hypernyms(rest)
    return above | {rest} if above or rest in load_hyponyms() else frozenset()


@cache
def _load_synonyms() -> dict[str, frozenset[str]]:
    same = invert_mapping(
        {name: (entry.canonical_name,) for name, entry in load_wordnet().items() if entry.canonical_name}
    )
    return {name: others | {name} for name, others in same.items()}


@cache
def load_hyponyms() -> dict[str, frozenset[str]]:
    """Load the names below each hypernym: hypernym -> hyponyms."""
    return invert_mapping({name: entry.hypernyms for name, entry in load_wordnet().items()})


def invert_mapping(mapping: Mapping[K, Iterable[str]]) -> dict[str, frozenset[K]]:
    """Invert a mapping from keys to groups into a mapping from groups to keys.

    >>> invert_mapping({"chair": ("furniture",), "furniture": ()})
    {'furniture': frozenset({'chair'})}
    """
    below: defaultdict[str, set[K]] = defaultdict(set)
    for name, groups in mapping.items():
        for group in groups:
            below[group].add(name)
    return {group: frozenset(names) for group, names in below.items()}


# The caches of the methods keep lexicons in memory until the process ends, which is acceptable for the few
# lexicons.
class Lexicon:
    """The categories and attribute types of a data set, together with WordNet.

    Where the data set and WordNet differ, the data set is right, except that a member of a category that is
    more general than the category according to WordNet is ignored. Arguments of the methods are singular
    names (`lemmatize`) unless stated otherwise.

    Args:
        categories: Category -> names of its members ("furniture": "table", "chair"). A member may itself be a
            category.
        attribute_types: Attribute -> its type in GQA ("red": "color"). The type is "" or missing if it is not
            known.

    >>> lexicon = Lexicon({"furniture": ("toaster",)}, {"red": "color"})
    >>> lexicon.is_a(("toaster",), "furniture"), lexicon.is_a(("couch",), "furniture")
    (True, True)
    """

    def __init__(self, categories: Mapping[str, Iterable[str]], attribute_types: Mapping[str, str]) -> None:
        self.categories = {
            lemmatize(name): frozenset(map(lemmatize, below)) for name, below in categories.items()
        }
        self.attribute_types = dict(attribute_types)
        self._dataset_hypernyms = invert_mapping(
            {name: members - {name} for name, members in self.categories.items()}
        )

    def get_attribute_type(self, attribute: str) -> str:
        """Return the type of an attribute in GQA; "" if the type is not known."""
        return self.attribute_types.get(attribute, "")

    @cache  # noqa: B019
    def is_a(self, names: tuple[str, ...], name: str, dataset_only: bool = False) -> bool:
        """Return whether `name` selects an object that has the given names.

        Args:
            names: The names of the object.
            name: A name in the singular or plural, a pronoun or a wildcard.
            dataset_only: Whether to ignore WordNet. In a synthetic world made from the categories of the data
                set, a duck is a bird only if the categories say so.
        """
        meant = PRONOUN_REFERENTS.get(name) or (lemmatize(name),)
        return name in WILDCARD_NAMES or any(
            not self.get_hypernym_closure(known, dataset_only).isdisjoint(meant) for known in names
        )

    @cache  # noqa: B019
    def evaluate_is_a(self, names: tuple[str, ...], name: str) -> bool | None:
        """Return whether `name` selects an object that has the given names; None if `name` may select the
        object.

        An object that is known as a person may be a man, and a man may be a skater (None). A dog is not a cat
        (False).
        """
        if self.is_a(names, name):
            return True
        groups = self.get_hypernyms(lemmatize(name))
        if groups.issuperset(names):
            return None
        if "person" not in groups or not all("person" in self.get_hypernym_closure(known) for known in names):
            return False
        asked = self.get_hypernym_closure(PRONOUN_REFERENTS.get(name, (lemmatize(name),))[0])
        known = frozenset[str]().union(*map(self.get_hypernym_closure, names))
        excluded = any((a & known and b & asked) or (b & known and a & asked) for a, b in _EXCLUSIVE_NAMES)
        return False if excluded else None

    @cache  # noqa: B019
    def get_hyponym_closure(self, name: str) -> frozenset[str] | None:
        """Return all names that `name` selects: the name itself, its synonyms and all hyponyms.

        Args:
            name: A name in the singular or plural.

        Returns:
            The names; None if `name` selects every object.
        """
        return None if name in WILDCARD_NAMES else compute_closure(lemmatize(name), self._get_direct_hyponyms)

    @cache  # noqa: B019
    def get_hypernyms(self, name: str) -> frozenset[str]:
        """Return all hypernyms of a name, without its synonyms."""
        kind = PRONOUN_REFERENTS.get(name, (name,))[0]
        return self.get_hypernym_closure(kind) - get_synonyms(kind)

    @cache  # noqa: B019
    def get_hypernym_closure(self, name: str, dataset_only: bool = False) -> frozenset[str]:
        """Return all names that apply to an object called `name`: the name, its synonyms and all hypernyms.

        Args:
            name: The name.
            dataset_only: Whether to ignore WordNet.
        """
        return compute_closure(
            name,
            (lambda one: self._dataset_hypernyms.get(one, ()))
            if dataset_only
            else self._get_direct_hypernyms,
        )

    def _get_direct_hypernyms(self, name: str) -> Iterable[str]:
        # A member that is more general than its category according to WordNet is an error of the data set.
        below = load_hyponyms().get(name, frozenset())
        return {*self._dataset_hypernyms.get(name, ())} - below | get_synonyms(name) | get_hypernyms(name)

    def _get_direct_hyponyms(self, name: str) -> Iterable[str]:
        own = {*(self.categories.get(name) or PRONOUN_REFERENTS.get(name, ()))} - get_hypernyms(name)
        return own | load_hyponyms().get(name, frozenset()) | get_synonyms(name)


def compute_closure(start: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Return a set with a name and all names that are reached from it by repeated steps.

    >>> sorted(compute_closure("a", lambda name: {"a": ["b"], "b": ["c"]}.get(name, [])))
    ['a', 'b', 'c']
    """
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += step(name)
    return frozenset(found)
