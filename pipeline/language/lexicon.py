"""Which names a thing may go by: categories and members of one data set, with synonyms and kinds of everyday things from
WordNet 3.0, of which kinds.tsv is the table."""

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
# Of one person, not both are true.
_EXCLUSIVE_NAMES = (({"man", "boy"}, {"woman", "girl"}), ({"man", "woman"}, {"child"}))


class WordNetEntry(NamedTuple):
    """What is known of a name: the one that stands for it and its synonyms, "" if it is this one; more general names of
    the same thing (armchair: chair, furniture)."""

    canonical_name: str = ""
    hypernyms: frozenset[str] = frozenset()


UNKNOWN_ENTRY = WordNetEntry()
_TOY_MODIFIERS = parse_words("stuffed, toy")  # a stuffed bear, a toy car: no bear, no car
_IMITATION_MODIFIERS = parse_words("fake, model, gingerbread, inflatable")


@cache
def load_wordnet() -> dict[str, WordNetEntry]:
    """Name (singular, small letters) -> what the table knows of it."""
    lines = (
        line.split("\t")
        for line in WORDNET_TABLE_PATH.read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    return {name: WordNetEntry(same, frozenset(kinds.split(",")) - {""}) for name, same, kinds in lines}


def canonicalize_name(name: str) -> str:
    """The name that stands for a name and its synonyms (sofa: couch), or the name itself."""
    return load_wordnet().get(name, UNKNOWN_ENTRY).canonical_name or name


def get_synonyms(name: str) -> frozenset[str]:
    """All names that say the same, the name itself included."""
    return _load_synonyms().get(canonicalize_name(name), frozenset((name,)))


def get_hypernyms(name: str) -> frozenset[str]:
    """More general names of whatever goes by a name. What is not listed is of the kind of its last word: a
    safety jacket is a jacket."""
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
    """Kind -> the listed names of that kind."""
    return invert_mapping({name: entry.hypernyms for name, entry in load_wordnet().items()})


def invert_mapping(mapping: Mapping[K, Iterable[str]]) -> dict[str, frozenset[K]]:
    """What is above each name -> what is below each name.

    >>> inverted({"chair": ("furniture",), "furniture": ()})
    {'furniture': frozenset({'chair'})}
    """
    below: defaultdict[str, set[K]] = defaultdict(set)
    for name, groups in mapping.items():
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
        self.categories = {
            lemmatize(name): frozenset(map(lemmatize, below)) for name, below in categories.items()
        }
        self.attribute_types = dict(attribute_types)
        self._dataset_hypernyms = invert_mapping(
            {name: members - {name} for name, members in self.categories.items()}
        )

    def get_attribute_type(self, attribute: str) -> str:
        return self.attribute_types.get(attribute, "")

    @cache  # noqa: B019  (lexicons live as long as the process)
    def is_a(self, names: tuple[str, ...], name: str, dataset_only: bool = False) -> bool:
        """Whether a thing that goes by these names is one that `name`, in any number, selects.

        Args:
            own: by the data set's own categories alone: in a world that is drawn by them, a duck is a bird
                only if they say so.
        """
        meant = PRONOUN_REFERENTS.get(name) or (lemmatize(name),)
        return name in WILDCARD_NAMES or any(
            not self.get_hypernym_closure(known, dataset_only).isdisjoint(meant) for known in names
        )

    @cache  # noqa: B019
    def evaluate_is_a(self, names: tuple[str, ...], name: str) -> bool | None:
        """The same where more may be true of a thing than is known: None if it may be (known as a person,
        asked for a man; as a man, asked for a skater), False if not (known as a dog, asked for a cat)."""
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
        """The known names that `name`, in any number, selects: itself, synonyms, members; None for anything."""
        return None if name in WILDCARD_NAMES else compute_closure(lemmatize(name), self._get_direct_hyponyms)

    @cache  # noqa: B019
    def get_hypernyms(self, name: str) -> frozenset[str]:
        """More general names of whatever goes by a name."""
        kind = PRONOUN_REFERENTS.get(name, (name,))[0]
        return self.get_hypernym_closure(kind) - get_synonyms(kind)

    @cache  # noqa: B019
    def get_hypernym_closure(self, name: str, dataset_only: bool = False) -> frozenset[str]:
        """All that a thing of a name may be called: the name, its synonyms and categories (own: as in `is_one`)."""
        return compute_closure(
            name,
            (lambda one: self._dataset_hypernyms.get(one, ()))
            if dataset_only
            else self._get_direct_hypernyms,
        )

    def _get_direct_hypernyms(self, name: str) -> Iterable[str]:
        """One step up. Where a member is by WordNet the more general name, the data set's word is a slip."""
        below = load_hyponyms().get(name, frozenset())
        return {*self._dataset_hypernyms.get(name, ())} - below | get_synonyms(name) | get_hypernyms(name)

    def _get_direct_hyponyms(self, name: str) -> Iterable[str]:
        own = {*(self.categories.get(name) or PRONOUN_REFERENTS.get(name, ()))} - get_hypernyms(name)
        return own | load_hyponyms().get(name, frozenset()) | get_synonyms(name)


def compute_closure(start: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """A name and all others to which steps lead."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += step(name)
    return frozenset(found)
