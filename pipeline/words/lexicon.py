"""Which words mean the same: singular and plural, categories and members, relations and inverses, places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from pipeline.words import kinds as wordnet
from pipeline.words.nouns import singular as one_of

# Names that any thing answers to: GQA's blank, and the words of "What kind of animal is this?".
ANYTHING = frozenset(("_", "this", "that", "it", "they", "them", "object", "thing", "item"))
PRONOUNS = {  # "Is she wearing a hat?": who may be meant
    "he": ("man", "boy"),
    "him": ("man", "boy"),
    "she": ("woman", "girl"),
    "her": ("woman", "girl"),
}
# Types of which a thing may well have two values at a time; of every other type it has one.
OVERLAPPING = frozenset(("", "activity", "sport", "sportActivity", "other", "weather", "flavor"))

SYNONYMS = {
    "left of": "to the left of",
    "right of": "to the right of",
    "next to": "near",
    "beside": "near",
    "by": "near",
    "close to": "near",
    "inside": "in",
    "inside of": "in",
    "on top of": "on",
    "atop": "on",
    "underneath": "under",
    "beneath": "under",
    "wears": "wearing",
    "holds": "holding",
}
ANTONYMS = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "above": "below",
    "below": "above",
    "in front of": "behind",
    "behind": "in front of",
    "on": "under",
    "under": "on",
}
# What B is to A when A is this to B. A cup is on a table, but nobody says that the table is under the cup.
INVERSES = {name: other for name, other in ANTONYMS.items() if name not in ("on", "under")} | {"near": "near"}

# Common names of places in GQA's graphs.
INDOORS = frozenset(
    (
        "indoors",
        "bathroom",
        "bedroom",
        "classroom",
        "dining room",
        "hospital",
        "hotel room",
        "kitchen",
        "library",
        "living room",
        "mall",
        "office",
        "restaurant",
        "shop",
        "store",
        "supermarket",
    )
)
OUTDOORS = frozenset(
    (
        "outdoors",
        "beach",
        "city",
        "farm",
        "field",
        "forest",
        "harbor",
        "highway",
        "lake",
        "mountain",
        "ocean",
        "park",
        "pasture",
        "river",
        "road",
        "sidewalk",
        "street",
        "town",
        "yard",
        "zoo",
    )
)

_SPOKEN = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
_NOUNS = {"wooden": "wood", "metallic": "metal"}


def spoken(option: str) -> str:
    """An option of `choose` as GQA answers it: `to the left of` -> left."""
    return _SPOKEN.get(option, option)


def same_answer(a: str, b: str) -> bool:
    """Whether two answers say the same: synonyms (sofa, couch), two numbers of a noun or two forms of an
    adjective (cows, cow; wooden, wood)."""
    return a == b or _plain(a) == _plain(b)


def _plain(answer: str) -> str:
    answer = singular(answer.strip().lower())
    return _NOUNS.get(answer) or wordnet.standard(answer)


@lru_cache(maxsize=1 << 16)
def singular(name: str) -> str:
    """`teddy bears` -> `teddy bear`, `people` -> `person`. Names without a singular stay (jeans, glasses)."""
    head, space, word = name.strip().rpartition(" ")
    return head + space + "person" if word == "people" else one_of(head + space + word)


@lru_cache(maxsize=1 << 18)
def comparable(a: str, b: str) -> bool:
    """Whether one of two names may be said of whatever goes by the other: synonyms, or one more general
    (couch, furniture). What only the eye confuses (a lake, a river) is not."""
    a, b = singular(a), singular(b)
    same, other = wordnet.synonyms(a), wordnet.synonyms(b)
    return not same.isdisjoint({*other, *wordnet.kinds(b)}) or not other.isdisjoint(wordnet.kinds(a))


def relation(name: str) -> str:
    """One name for relations that say the same: `beside` -> near."""
    return SYNONYMS.get(name, name)


def implied(name: str) -> str:
    """What a relation says besides itself: who is `sitting on` a chair is on it. "" for nothing."""
    verb, _, preposition = name.rpartition(" ")
    says_more = verb.endswith("ing") and preposition in ("on", "in", "under", "near", "behind")
    return preposition if says_more else ""


def location(scene: Mapping[str, str]) -> str:
    """Whether a scene is "indoors" or "outdoors", by its place or its weather; "" when they do not tell."""
    place = scene.get("place", "")
    if place in INDOORS:
        return "indoors"
    return "outdoors" if place in OUTDOORS or scene.get("weather") else ""


class Lexicon:
    """The words of one data set, made once: its own categories, and what WordNet knows of everyday things.

    Where the two differ, the data set is right: what it calls a kind of something is one.

    Args:
        categories: category -> names of its members or of other categories (`furniture` -> table, chair ...).
        attribute_types: attribute -> its GQA type (`red` -> color); "" or missing when not known.
    """

    def __init__(self, categories: Mapping[str, Iterable[str]], attribute_types: Mapping[str, str]) -> None:
        self.categories = {
            singular(name): frozenset(map(singular, members)) for name, members in categories.items()
        }
        self.attribute_types = dict(attribute_types)
        self._own = _inverse(self.categories)
        self._all: dict[str, frozenset[str]] = {}
        self._said: dict[str, frozenset[str]] = {}
        self._kinds: dict[str, frozenset[str] | None] = {}
        self._groups: dict[str, frozenset[str]] = {}
        self._one: dict[tuple[tuple[str, ...], str, bool], bool] = {}
        self._maybe: dict[tuple[tuple[str, ...], str], bool | None] = {}

    def type_of(self, attribute: str) -> str:
        return self.attribute_types.get(attribute, "")

    def is_one(self, names: Iterable[str], name: str, own: bool = False) -> bool:
        """Whether a thing that goes by these (singular) names is one that `name` selects.

        Args:
            own: by the data set's own categories alone: in a world that is drawn by them, a duck is a bird
                only if they say so.
        """
        key = (tuple(names), name, own)
        if key not in self._one:
            words = PRONOUNS.get(name) or (singular(name),)
            self._one[key] = name in ANYTHING or any(
                word in self.above(one, own) for one in key[0] for word in words
            )
        return self._one[key]

    def may_be(self, names: Iterable[str], name: str) -> bool | None:
        """The same where more may be true of a thing than is known: None if it may be (known as a person,
        asked for a man; as a man, asked for a skater), False if not (known as a dog, asked for a cat)."""
        key = (tuple(names), name)
        if key not in self._maybe:
            self._maybe[key] = self._may_be(*key)
        return self._maybe[key]

    def _may_be(self, names: tuple[str, ...], name: str) -> bool | None:
        if self.is_one(names, name):
            return True
        groups = self.groups(singular(name))
        if groups.issuperset(names):
            return None
        if "person" in groups and all("person" in self.above(one) for one in names):
            who = PRONOUNS.get(name, (singular(name),))[0]
            mine, theirs = set().union(*map(self.above, names)), self.above(who)
            return False if any(a & mine and b & theirs for a, b in _OPPOSITES) else None
        return False

    def kinds(self, name: str) -> frozenset[str] | None:
        """The known (singular) names that `name` selects: itself, synonyms, members; None for anything."""
        if name not in self._kinds:
            self._kinds[name] = None if name in ANYTHING else frozenset(self._below(singular(name)))
        return self._kinds[name]

    def groups(self, name: str) -> frozenset[str]:
        """The categories to which a singular name belongs: more general names of whatever goes by it."""
        if name not in self._groups:
            kind = PRONOUNS.get(name, (name,))[0]
            self._groups[name] = self.above(kind) - wordnet.synonyms(kind)
        return self._groups[name]

    def above(self, name: str, own: bool = False) -> frozenset[str]:
        """All that a thing of a (singular) name may be called: the name, its synonyms and categories.

        Args:
            own: by the data set's own categories alone.
        """
        known = self._said if own else self._all
        if name not in known:
            known[name] = frozenset(_reach(name, self._stated if own else self._more))
        return known[name]

    def _stated(self, name: str) -> Iterable[str]:
        return self._own.get(name, ())

    def _more(self, name: str) -> Iterable[str]:
        """One step up. Where a member is by WordNet the more general name, the data set's word is a slip."""
        below = wordnet.members().get(name, ())
        own = (group for group in self._own.get(name, ()) if group not in below)
        return (*own, *wordnet.synonyms(name), *wordnet.kinds(name))

    def _below(self, name: str) -> set[str]:
        def less(kind: str) -> Iterable[str]:
            members = self.categories.get(kind) or PRONOUNS.get(kind, ())
            listed = wordnet.members().get(kind, frozenset())
            above = wordnet.kinds(kind)
            return (*(one for one in members if one not in above), *listed, *wordnet.synonyms(kind))

        return _reach(name, less)


# Of one person, not both are true.
_OPPOSITES = tuple(
    pair
    for a, b in (({"man", "boy"}, {"woman", "girl"}), ({"man", "woman"}, {"child"}))
    for pair in ((a, b), (b, a))
)


def _inverse(groups: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for group, members in groups.items():
        for member in members:
            if member != group:
                found.setdefault(member, []).append(group)
    return {member: tuple(above) for member, above in found.items()}


def _reach(start: str, step: Callable[[str], Iterable[str]]) -> set[str]:
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += step(name)
    return found
