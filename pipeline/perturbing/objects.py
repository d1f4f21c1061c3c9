"""The vocabulary's objects as arrays: how often each is asked for, what was seen of it, what it may be taken for, and
how well it fits what a question says of a thing.

A vocabulary counted on a few thousand questions has not seen most things in most places: that no bench was seen
"on the carpet" does not mean that none could be. So where nothing fits exactly, the class of an attribute or
relation is asked for (a colour, something that is held), then what other members of its categories were seen
with, and last the thing's own category, whose members take the same sentences.
"""

# ruff: noqa: B019 - tables live as long as the process, and so does what they have worked out

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.words.lexicon import UNKNOWN, wordnet
from pipeline.words.likeness import likeness
from pipeline.words.nouns import Number, lemma, number_of, singular
from pipeline.words.relations import plain_relation
from pipeline.words.word_tables import FRAME_NOUNS, PRONOUNS

Fact = tuple[str, ...]  # ("attribute", "red"), ("type", "color"), ("relation", "on", "s")

# Share of what was seen of all names below which a fact seen of one is an error of annotation ("the fence wears a hat").
UNLIKELY = 0.25
# Sightings from which on a relation that was seen a single time of one name is such an error, too ("the jeans are
# wearing"); one seen more seldom is rare everywhere.
COMMON = 20
# Weight of a name's share of the things in pictures beside its share of those asked for: what was never asked for is
# rare, not impossible.
SHOWN = 0.02

_NEVER = np.zeros(1)
_NOT_ASKED = frozenset(("person", "place"))  # one asks "who", "where"
# Categories whose members do, wear or hold much the same.
_KINDRED = (
    ("person", "animal"),
    ("clothing", "accessory", "footwear"),
    ("furniture", "appliance", "container", "device"),
    ("vehicle", "watercraft", "aircraft"),
    ("food", "fruit", "vegetable", "dessert"),
    ("toy", "device", "tool"),
    ("plant", "tree", "flower", "building", "house", "road"),
    ("furniture", "appliance", "container", "device", "vehicle", "toy", "tool"),
)
# One person may go by several names, but for those that tell man from woman.
_MALE = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
_FEMALE = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))
# Anything may stand so to anything else: these say nothing about what fits.
LOOSE = frozenset(("to the left of", "to the right of", "near", "in front of", "behind", "above", "below"))
# Relations of one group take the same kinds of things; a group's name is its first word.
_GROUPS = (
    "wearing, worn on, dressed in",
    "holding, holding onto, carrying, lifting, swinging, using, throwing, catching, grabbing, pulling, pushing,"
    " reaching for, playing with, eating, drinking, cutting",
    "riding, riding on, driving, driving on",
    "on, attached to, mounted on, hanging on, hanging from, printed on",
    "in, contain, filled with, full of",
    "with, of",
    "looking at, watching, facing, talking to, looking toward",
)
_GROUP = {relation: group.split(", ")[0] for group in _GROUPS for relation in group.split(", ")}


@dataclass(frozen=True, slots=True)
class Demands:
    """What is said of a thing; whatever takes its place should be like that.

    Attributes:
        attributes: groups of attributes; of each group it should have one.
        relations: (relation, "s" or "o") for one in which it is the subject or the object.
        types: types of attributes of which it should have a value.
        kin: only one of its own category makes sense: "the girl's hair", "the same species".
    """

    attributes: tuple[tuple[str, ...], ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    types: tuple[str, ...] = ()
    kin: bool = False


class ObjectTable:
    """All objects and categories; one row a name, in the order of the names.

    Attributes:
        names, row: row -> name and back. category: rows that are categories.
        weight: how often each is to be drawn: as often as questions take it for granted.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - PRONOUNS - FRAME_NOUNS)
        self.row = {name: index for index, name in enumerate(self.names)}
        self._like: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row.items():
            for common in likeness(name):
                self._like[common].append(row)
        # "trees" can be said "tree", "jeans" in the plural only.
        self._number = np.array([number_of(singular(name)) for name in self.names], dtype=str)
        self.category = self._rows(vocabulary.categories)
        # The members of each category: by the vocabulary, and by WordNet what a small one does not tell.
        members = defaultdict(set, {kind: set(names) for kind, names in vocabulary.categories.items()})
        for name in self.names:
            for kind in _wordnet_kinds(name):
                members[kind].add(name)
        self._members = {kind: self._rows(names) for kind, names in sorted(members.items())}
        self._types = vocabulary.attribute_types
        # What the vocabulary says of things of each name, for a category of its members too.
        known = vocabulary.objects
        called = [(name, *vocabulary.categories.get(name, ())) for name in self.names]
        entries = [[known[member] for member in members if member in known] for members in called]
        counts = np.array([sum(entry.count for entry in row) for row in entries], dtype=float)
        asked = np.array([vocabulary.asked.get(name, 0) for name in self.names], dtype=float)
        shown = counts / max(counts.sum(), 1)
        self.weight = asked / asked.sum() + SHOWN * shown if asked.sum() else shown
        self._seen, self._shares = _shares(entries, np.maximum(counts, 1), self._types)

    def nothing(self) -> np.ndarray:
        return np.zeros(len(self.names), dtype=bool)

    def levels(self, name: str, demanded: Demands) -> Iterator[np.ndarray]:
        """Weights of the rows, from what fits exactly to what fits loosely; a row that does not fit weighs 0.

        Args:
            name: what stood there. demanded: what is said of it.
        """
        own = self.siblings(name).astype(float)
        if demanded.kin:
            yield own
            return
        facts: list[list[Fact]] = [[("attribute", word) for word in group] for group in demanded.attributes]
        for relation, role in demanded.relations:
            if not _says_little(relation, role):
                facts.append([("relation", plain_relation(relation), role)])
        facts += [[("type", type_)] for type_ in demanded.types]
        for share in (self.share, self._by_class, self._by_category):
            weights = (np.minimum(sum(share(*fact) for fact in group), 1) for group in facts)
            yield math.prod(weights, start=np.ones(len(self.names)))
        yield own
        yield self.kindred(name).astype(float)

    def share(self, *fact: str) -> np.ndarray:
        """Of each row, the share of its things of which the fact was seen; 0 for what looks like an error."""
        return self._shares.get(fact, _NEVER)

    @cache
    def _by_class(self, kind: str, word: str, role: str = "") -> np.ndarray:
        """How much each row was seen with something like a fact, errors or not: any colour for red, "holding" for
        "carrying"."""
        if kind == "relation":
            relations = sorted(fact[1] for fact in self._seen if fact[0] == "relation" and fact[2] == role)
            like = [self._seen[kind, other, role] for other in relations if _ask_the_same(other, word, role)]
            return np.minimum(sum(like, np.zeros(len(self.names))), 1)
        if kind == "attribute" and self._types.get(word):
            return self._seen.get(("type", self._types[word]), _NEVER)
        share = self._seen.get((kind, word), _NEVER)
        return share if kind == "type" else self._spread(share)

    @cache
    def _by_category(self, *fact: str) -> np.ndarray:
        return self._spread(self._by_class(*fact))

    def _spread(self, share: np.ndarray) -> np.ndarray:
        """A share that what was not seen of a row itself borrows from the mean of its categories."""
        spread = np.zeros(len(self.names)) + share
        for members in self._members.values():
            mean = np.where(members, (members * share).sum() / max(members.sum(), 1), 0)
            spread = np.where(share > 0, spread, np.maximum(spread, mean))
        return spread

    @cache
    def said_as(self, numbers: frozenset[Number], category: bool | None) -> np.ndarray:
        """Rows that can be said in one of the numbers and are categories one asks for (True), things (False),
        any (None)."""
        sayable = np.isin(self._number, [*numbers])
        if category is None:
            return sayable
        things = ~self.category | self._rows({"person"})
        return sayable & (self.category & ~self._rows(_NOT_ASKED) if category else things)

    @cache
    def confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: like names, its categories, its members, other
        people."""
        kinds = self._kinds_of(name)
        like = self._rows(kinds) | self._of({name, lemma(name)})
        for common in likeness(name):
            like[self._like.get(common, [])] = True
        if "person" in {name, *kinds}:
            other_sex = _FEMALE if name in _MALE else _MALE if name in _FEMALE else frozenset()
            like |= (self._rows({"person"}) | self._of({"person"})) & ~self._rows(other_sex)
        return like

    @cache
    def siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        return self._of(self._kinds_of(name))

    @cache
    def kindred(self, name: str) -> np.ndarray:
        """Rows of the categories that act much like the name's own: of animals for people."""
        own = {name, *self._kinds_of(name)}
        kinds = {kind for group in _KINDRED if own.intersection(group) for kind in group}
        return self._of(kinds) | self._rows(kinds)

    def _kinds_of(self, name: str) -> frozenset[str]:
        """The categories of a name; of one that is not in the vocabulary itself, by WordNet."""
        kinds = _wordnet_kinds(name)
        if name in self.row:
            kinds = (kind for kind, members in self._members.items() if members[self.row[name]])
        return frozenset(kinds) - {name}

    def _of(self, kinds: Iterable[str]) -> np.ndarray:
        """The rows of the members of some categories."""
        members = [self._members[kind] for kind in sorted(kinds) if kind in self._members]
        return np.logical_or.reduce([self.nothing(), *members])

    def _rows(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)


def _shares(
    entries: Sequence[Iterable[ObjectEntry]], totals: np.ndarray, types: Mapping[str, str]
) -> tuple[dict[Fact, np.ndarray], dict[Fact, np.ndarray]]:
    """Of each row, the share of its things of which each fact was seen: as counted, and without what looks like an
    error."""
    counts: dict[Fact, np.ndarray] = defaultdict(lambda: np.zeros(len(entries)))
    for row, entry in ((row, entry) for row, called in enumerate(entries) for entry in called):
        for attribute, count in entry.attributes.items():
            counts["attribute", attribute][row] += count
            counts["type", types.get(attribute, "")][row] += count
        for role, relations in (("s", entry.subject_of), ("o", entry.object_of)):
            for relation, count in relations.items():
                counts["relation", plain_relation(relation), role][row] += count
    seen = {fact: np.minimum(count / totals, 1) for fact, count in counts.items()}
    shares = {}
    for fact, count in counts.items():
        error = seen[fact] < UNLIKELY * (count.sum() / totals.sum())
        if fact[0] == "relation" and count.sum() >= COMMON:
            error |= count == 1
        shares[fact] = np.where(error, 0, seen[fact])
    return seen, shares


def _wordnet_kinds(name: str) -> frozenset[str]:
    return wordnet().get(lemma(name), UNKNOWN).kinds


def _says_little(relation: str, role: str) -> bool:
    """Whether anything may stand in a role: near a thing, or as what someone sits near."""
    verb, _, preposition = relation.partition(" ")
    posture = role == "o" and verb.endswith("ing") and plain_relation(preposition) in LOOSE
    return posture or plain_relation(relation) in LOOSE


def _ask_the_same(relation: str, other: str, role: str) -> bool:
    """Whether two relations ask the same of the thing in a role: who sits at a table sits in a chair, too; what one
    sits on, one stands on."""
    verb, _, preposition = other.partition(" ")
    if role == "s" and preposition and verb.endswith("ing"):
        return relation.partition(" ")[0] == verb
    return _group(relation) == _group(other)


def _group(relation: str) -> str:
    verb, _, preposition = relation.partition(" ")
    if relation not in _GROUP and preposition and verb.endswith("ing"):
        relation = plain_relation(preposition)
    return _GROUP.get(relation, relation)
