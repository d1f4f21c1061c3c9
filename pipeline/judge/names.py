"""Which words mean the same: singular and plural, categories and members, relations and inverses, places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

# Names that any thing answers to: GQA's blank, and the words of "What kind of animal is this?".
ANYTHING = frozenset(("_", "this", "that", "it", "they", "them", "object", "thing", "item"))
PRONOUNS = {  # "Is she wearing a hat?": who may be meant
    "he": ("man", "boy", "guy"), "him": ("man", "boy", "guy"),
    "she": ("woman", "girl", "lady"), "her": ("woman", "girl", "lady"),
}
# Types of which a thing may well have two values at a time; of every other type it has one.
OVERLAPPING = frozenset(("", "activity", "sport", "sportActivity", "other", "weather", "flavor"))

SYNONYMS = {
    "left of": "to the left of", "right of": "to the right of", "next to": "near", "beside": "near",
    "by": "near", "close to": "near", "inside": "in", "inside of": "in", "on top of": "on", "atop": "on",
    "underneath": "under", "beneath": "under", "wears": "wearing", "holds": "holding",
}
ANTONYMS = {
    "to the left of": "to the right of", "to the right of": "to the left of",
    "above": "below", "below": "above", "in front of": "behind", "behind": "in front of",
    "on": "under", "under": "on",
}
# What B is to A when A is this to B. A cup is on a table, but nobody says that the table is under the cup.
INVERSES = {name: other for name, other in ANTONYMS.items() if name not in ("on", "under")} | {"near": "near"}

# Common names of places in GQA's graphs.
INDOORS = frozenset((
    "indoors", "bathroom", "bedroom", "classroom", "dining room", "hospital", "hotel room", "kitchen",
    "library", "living room", "mall", "office", "restaurant", "shop", "store", "supermarket",
))
OUTDOORS = frozenset((
    "outdoors", "beach", "city", "farm", "field", "forest", "harbor", "highway", "lake", "mountain", "ocean",
    "park", "pasture", "river", "road", "sidewalk", "street", "town", "yard", "zoo",
))

_SPOKEN = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
_NOUNS = {"wooden": "wood", "metallic": "metal"}
_NOT_PLURAL = frozenset(("gas", "canvas", "christmas", "atlas", "lens", "series", "species"))
_PLURAL_ENDINGS = ("s", "men", "children", "people", "feet", "teeth", "mice", "geese", "oxen", "cacti")


def spoken(option: str) -> str:
    """An option of `choose` as GQA answers it: `to the left of` -> left."""
    return _SPOKEN.get(option, option)


def same_answer(a: str, b: str) -> bool:
    """Whether two answers say the same but for number or an adjective's form (cows, cow; wooden, wood)."""
    return a == b or _plain(a) == _plain(b)


def _plain(answer: str) -> str:
    answer = singular(answer.strip().lower())
    return _NOUNS.get(answer, answer)


@lru_cache(maxsize=1 << 16)
def singular(name: str) -> str:
    """`teddy bears` -> `teddy bear`, `women` -> `woman`. Names without a singular get some form, too
    (`jeans` -> `jean`): it serves as well, being the same on both sides of every comparison."""
    head, space, word = name.strip().rpartition(" ")
    if word.endswith(_PLURAL_ENDINGS) and not word.endswith(("ss", "us", "is")) and word not in _NOT_PLURAL:
        word = _inflect().singular_noun(word) or word
    return head + space + word


@lru_cache(maxsize=1)
def _inflect():
    import inflect  # slow to load, and needed for plural words only

    return inflect.engine()


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
    """The words of one data set, made once.

    Args:
        categories: category -> names of its members or of other categories (`furniture` -> table, chair ...).
        attribute_types: attribute -> its GQA type (`red` -> color); "" or missing when not known.
    """

    def __init__(self, categories: Mapping[str, Iterable[str]], attribute_types: Mapping[str, str]) -> None:
        self.categories = {
            singular(name): frozenset(map(singular, members)) for name, members in categories.items()}
        self.attribute_types = dict(attribute_types)
        self._kinds: dict[str, frozenset[str] | None] = {}
        self._groups: dict[str, frozenset[str]] = {}

    def type_of(self, attribute: str) -> str:
        return self.attribute_types.get(attribute, "")

    def kinds(self, name: str) -> frozenset[str] | None:
        """The (singular) names that `name` selects: itself and a category's members; None for anything."""
        if name not in self._kinds:
            self._kinds[name] = None if name in ANYTHING else frozenset(self._expand(singular(name)))
        return self._kinds[name]

    def groups(self, name: str) -> frozenset[str]:
        """The categories to which a singular name belongs, itself not counted."""
        if name not in self._groups:
            kind = PRONOUNS.get(name, (name,))[0]
            self._groups[name] = frozenset(
                group for group in self.categories if group != kind and kind in self._expand(group))
        return self._groups[name]

    def _expand(self, name: str) -> set[str]:
        found, waiting = set(), [name]
        while waiting:
            kind = waiting.pop()
            if kind not in found:
                found.add(kind)
                waiting += self.categories.get(kind, ()) or map(singular, PRONOUNS.get(kind, ()))
        return found
