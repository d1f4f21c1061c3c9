"""How probably a picture shows a thing of a name, and a thing of a name an attribute, given what else is known of it.

A base rate, by how many pictures show such a thing, is moved by how much more often it is shown together with
what the picture is known to show. Where no graph was published, what is counted is what questions name of a
picture: two or three of about twenty things. Then a rate is raised to what it were if all were named, and what
is nearly everywhere, which nobody asks for, stands in a table.
"""

# ruff: noqa: B019 - it lives as long as the process, and so does what it has worked out

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache, lru_cache

import numpy as np
from scipy.special import expit, logit

from pipeline.core.records import Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemma
from pipeline.language.word_lists import ANYTHING, FRAME_NOUNS, PRONOUNS, heads
from pipeline.verifier.evidence import Facts

# Different things of a photograph that have a name: GQA's scene graphs list 16 objects on average (Hudson and Manning
# 2019, section 3.1), Visual Genome's 35.
THINGS = 20.0
# Pictures that are added to those counted, in which a name is rare and two are shown together as if by chance: of what was
# counted once or twice, little is known.
BORROWED = 4.0
# No rate and no knowledge is taken for surer than this: names and graphs have errors.
SUREST = 0.98


def _shares(table: str) -> dict[str, dict[str, float]]:
    """`animal 90: head, leg` -> {"animal": {"head": 0.9, "leg": 0.9}}; without a kind, of ""."""
    shares: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for head, names in heads(table).items():
        kind, _, percent = head.rpartition(" ")
        for name in names:
            shares[kind].setdefault(lemma(name), int(percent) / 100)
    return shares


# Percentages of photographs of everyday life that show such a thing, asked for or not: our own judgement.
_EVERYWHERE = _shares("""
50: ground, person, clothing, shadow, head
45: man, shirt, hair, sky, wall, face, hand, arm, eye, leg, tree, floor, plant
35: people, furniture, building, grass, window, pants, shoe, line, light, sign, leaf, branch
30: woman, table, chair, road, pole, cloud, letter, nose, ear, foot, mouth, container, vehicle
20: street, door, jeans, jacket, hat, car, fence, bush, food, animal, sidewalk, dirt, field, water, number
""")[""]
# Percentages where something of a kind is shown: its parts, and what nearly every one has with it; our own judgement.
_PARTS = _shares("""
person 90: head, hair, face, arm, hand, clothing, person
person 75: shirt, leg, ear, nose, mouth, eye
person 60: pants, shoe, foot, finger, neck
animal 90: head, leg, eye, ear, fur, animal
animal 75: tail, nose, neck, foot, mouth, face
vehicle 85: wheel, tire, window, light, vehicle
vehicle 60: door, windshield, road, headlight, mirror
tree 95: leaf, branch, trunk, plant
flower 90: leaf, stem, petal, plant
building 85: window, wall, roof, door
street 85: road, ground, pavement, line
""")


class Presence:
    """What a picture probably shows, by a vocabulary's counts.

    Attributes:
        names, row: the names of the vocabulary in the order of `ObjectTable.names`, and back.
        partial: no graph was published; what is counted is what questions name.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        shown = vocabulary.shown
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - PRONOUNS - FRAME_NOUNS)
        self.row = {name: index for index, name in enumerate(self.names)}
        self._vocabulary = vocabulary
        self._lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        self.partial = shown.partial or not shown.pictures
        everywhere = _EVERYWHERE if self.partial else {}
        self._lemmas = sorted({*map(lemma, self.names), *everywhere})
        self._number = {name: index for index, name in enumerate(self._lemmas)}
        self._of_name = np.array([self._number[lemma(name)] for name in self.names], dtype=int)
        # The last row is any other name.
        seen = np.array([*(shown.names.get(name, 0) for name in self._lemmas), 0], dtype=float)
        rate = (seen + BORROWED * (1 - SUREST)) / (shown.pictures + BORROWED)
        if self.partial:
            # Drawn by chance, one thing in THINGS / each were named; but what stands out is, whenever it is there. The
            # geometric mean of the two lies between.
            rate = 1 - (1 - rate) ** max(THINGS / max(shown.each, 1), 1) ** 0.5
        floor = np.array([*(everywhere.get(name, 0) for name in self._lemmas), 0])
        self._base = logit(np.clip(np.maximum(rate, floor), 1e-4, SUREST))
        self._lift = self._lifts(seen)

    def _lifts(self, seen: np.ndarray) -> np.ndarray:
        """Log of how much more often two things are shown together than by chance [lemma, lemma]."""
        shown, number = self._vocabulary.shown, self._number
        by_chance = np.outer(seen, seen) / max(shown.pictures, 1)
        # Of pairs that were left out it is known that they were shown together less often than that.
        both = np.minimum(by_chance, shown.least - 1)
        for name, others in shown.together.items():
            for other, count in others.items():
                if name in number and other in number:
                    both[number[name], number[other]] = both[number[other], number[name]] = count
        return np.log((both + BORROWED) / (by_chance + BORROWED))

    def given(self, names: Iterable[str]) -> np.ndarray:
        """The probability of each name (in the order of `names`), given the names of things known to be in the picture;
        what they are themselves, and their categories, is there for (nearly) sure."""
        return self._given(frozenset(map(lemma, names)))[self._of_name]

    def of(self, name: str, given: Collection[str]) -> float:
        """The same of one name, which the vocabulary need not have."""
        name, known = lemma(name), frozenset(map(lemma, given))
        there = name not in self._number and name in self._above(known)
        return SUREST if there else float(self._given(known)[self._number.get(name, -1)])

    @lru_cache(maxsize=1 << 10)
    def _given(self, known: frozenset[str]) -> np.ndarray:
        rows = [self._number[name] for name in sorted(known) if name in self._number]
        # Known things tell partly the same: k of them count as many times as its root.
        moved = self._base + self._lift[rows].sum(axis=0) / max(len(rows), 1) ** 0.5
        probable = np.clip(expit(moved), 0, SUREST)
        above = self._above(known)
        for kind in sorted(above.intersection(_PARTS if self.partial else ())):
            for part, share in _PARTS[kind].items():
                if part in self._number:
                    probable[self._number[part]] = max(probable[self._number[part]], share)
        probable[[self._number[name] for name in sorted(above) if name in self._number]] = SUREST
        return probable

    def _above(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._lexicon.above(name) for name in names))

    @cache
    def share(self, attribute: str, name: str) -> float:
        """Of the things of a name, the share that has an attribute: among those of which a value of its type was seen, as
        not every thing's colour is told; where few were, as among all things."""
        objects, counts = self._vocabulary.objects, self._vocabulary.attributes
        called = sorted({name, lemma(name), *self._vocabulary.categories.get(name, ())} & objects.keys())
        type_ = self._lexicon.type_of(attribute)
        alike = {attribute, *self._vocabulary.alternatives.get(attribute, ())}
        alike |= {word for word in counts if type_ and self._lexicon.type_of(word) == type_}
        of_all = sum(counts.get(word, 0) for word in alike)
        share = (counts.get(attribute, 0) + 0.5) / (of_all + len(alike))
        has = sum(objects[one].attributes.get(attribute, 0) for one in called)
        of_type = sum(objects[one].attributes.get(word, 0) for one in called for word in alike)
        return (has + BORROWED * share) / (of_type + BORROWED)

    def look(self, attribute: str, name: str) -> float:
        """The probability that a picture that shows things of a name shows one with an attribute."""
        return min(1 - (1 - self.share(attribute, name)) ** self.several(name), SUREST)

    @cache
    def several(self, name: str) -> float:
        """How many things of a name a picture shows on average that shows any; of things of any name, of different ones."""
        if name in ANYTHING:
            return THINGS if self.partial else max(self._vocabulary.shown.each, 1.0)
        objects = self._vocabulary.objects
        called = {name, lemma(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        pictures = self._vocabulary.shown.names.get(lemma(name), 0)
        return max(sum(objects[one].count for one in called) / pictures, 1.0) if pictures else 1.0


def names_known(facts: Facts | None) -> frozenset[str]:
    """The most particular names of the things that the evidence lists, for `Presence.given`."""
    things = facts.things if facts else ()
    return frozenset(
        lemma(name) for thing in things for name in [thing.label or next(iter(thing.names), "")] if name
    )
