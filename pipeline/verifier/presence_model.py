"""How probably an image shows a thing of a name, and a thing of a name an attribute, given what else is known of it.

A base rate, by how many images show such a thing, is moved by how much more often it is shown together with
what the image is known to show. Where no graph was published, what is counted is what questions name of a
image: two or three of about twenty things. Then a rate is raised to what it were if all were named, and what
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
from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import FRAME_WORDS, UNINFORMATIVE_NAMES, WILDCARD_NAMES, parse_headed_groups
from pipeline.verifier.evidence import Evidence

# Different things of a photograph that have a name: GQA's scene graphs list 16 objects on average (Hudson and Manning
# 2019, section 3.1), Visual Genome's 35.
OBJECTS_PER_IMAGE = 20.0
# Images that are added to those counted, in which a name is rare and two are shown together as if by chance: of what was
# counted once or twice, little is known.
PSEUDOCOUNT = 4.0
# No rate and no knowledge is taken for surer than this: names and graphs have errors.
MAX_PROBABILITY = 0.98


def _parse_rates(table: str) -> dict[str, dict[str, float]]:
    """`animal 90: head, leg` -> {"animal": {"head": 0.9, "leg": 0.9}}; without a kind, of ""."""
    shares: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for head, names in parse_headed_groups(table).items():
        kind, _, percent = head.rpartition(" ")
        for name in names:
            shares[kind].setdefault(lemmatize(name), int(percent) / 100)
    return shares


# Percentages of photographs of everyday life that show such a thing, asked for or not: our own judgement.
_COMMON_OBJECT_RATES = _parse_rates("""
50: ground, person, clothing, shadow, head
45: man, shirt, hair, sky, wall, face, hand, arm, eye, leg, tree, floor, plant
35: people, furniture, building, grass, window, pants, shoe, line, light, sign, leaf, branch
30: woman, table, chair, road, pole, cloud, letter, nose, ear, foot, mouth, container, vehicle
20: street, door, jeans, jacket, hat, car, fence, bush, food, animal, sidewalk, dirt, field, water, number
""")[""]
# Percentages where something of a kind is shown: its parts, and what nearly every one has with it; our own judgement.
_PART_RATES = _parse_rates("""
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


class PresenceModel:
    """What an image probably shows, by a vocabulary's counts.

    Attributes:
        names, row: the names of the vocabulary in the order of `ObjectTable.names`, and back.
        partial: no graph was published; what is counted is what questions name.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        shown = vocabulary.cooccurrence
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - UNINFORMATIVE_NAMES - FRAME_WORDS)
        self.index_by_name = {name: index for index, name in enumerate(self.names)}
        self._vocabulary = vocabulary
        self._lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        self.is_partial = shown.from_questions or not shown.num_images
        everywhere = _COMMON_OBJECT_RATES if self.is_partial else {}
        self._lemmas = sorted({*map(lemmatize, self.names), *everywhere})
        self._index_by_lemma = {name: index for index, name in enumerate(self._lemmas)}
        self._lemma_index_of_names = np.array(
            [self._index_by_lemma[lemmatize(name)] for name in self.names], dtype=int
        )
        # The last row is any other name.
        seen = np.array([*(shown.image_counts.get(name, 0) for name in self._lemmas), 0], dtype=float)
        rate = (seen + PSEUDOCOUNT * (1 - MAX_PROBABILITY)) / (shown.num_images + PSEUDOCOUNT)
        if self.is_partial:
            # Drawn by chance, one thing in THINGS / each were named; but what stands out is, whenever it is there. The
            # geometric mean of the two lies between.
            rate = 1 - (1 - rate) ** max(OBJECTS_PER_IMAGE / max(shown.mean_names_per_image, 1), 1) ** 0.5
        floor = np.array([*(everywhere.get(name, 0) for name in self._lemmas), 0])
        self._base_logits = logit(np.clip(np.maximum(rate, floor), 1e-4, MAX_PROBABILITY))
        self._log_lift = self._compute_log_lift(seen)

    def _compute_log_lift(self, seen: np.ndarray) -> np.ndarray:
        """Log of how much more often two things are shown together than by chance [lemma, lemma]."""
        shown, number = self._vocabulary.cooccurrence, self._index_by_lemma
        by_chance = np.outer(seen, seen) / max(shown.num_images, 1)
        # Of pairs that were left out it is known that they were shown together less often than that.
        both = np.minimum(by_chance, shown.min_pair_count - 1)
        for name, others in shown.pair_counts.items():
            for other, count in others.items():
                if name in number and other in number:
                    both[number[name], number[other]] = both[number[other], number[name]] = count
        return np.log((both + PSEUDOCOUNT) / (by_chance + PSEUDOCOUNT))

    def estimate_probabilities(self, known_names: Iterable[str]) -> np.ndarray:
        """The probability of each name (in the order of `names`), given the names of things known to be in the image;
        what they are themselves, and their categories, is there for (nearly) sure."""
        return self._estimate_lemma_probabilities(frozenset(map(lemmatize, known_names)))[
            self._lemma_index_of_names
        ]

    def estimate_probability(self, name: str, known_names: Collection[str]) -> float:
        """The same of one name, which the vocabulary need not have."""
        name, known = lemmatize(name), frozenset(map(lemmatize, known_names))
        there = name not in self._index_by_lemma and name in self._get_hypernym_closure(known)
        return (
            MAX_PROBABILITY
            if there
            else float(self._estimate_lemma_probabilities(known)[self._index_by_lemma.get(name, -1)])
        )

    @lru_cache(maxsize=1 << 10)
    def _estimate_lemma_probabilities(self, known: frozenset[str]) -> np.ndarray:
        rows = [self._index_by_lemma[name] for name in sorted(known) if name in self._index_by_lemma]
        # Known things tell partly the same: k of them count as many times as its root.
        moved = self._base_logits + self._log_lift[rows].sum(axis=0) / max(len(rows), 1) ** 0.5
        probable = np.clip(expit(moved), 0, MAX_PROBABILITY)
        above = self._get_hypernym_closure(known)
        for kind in sorted(above.intersection(_PART_RATES if self.is_partial else ())):
            for part, share in _PART_RATES[kind].items():
                if part in self._index_by_lemma:
                    probable[self._index_by_lemma[part]] = max(probable[self._index_by_lemma[part]], share)
        probable[[self._index_by_lemma[name] for name in sorted(above) if name in self._index_by_lemma]] = (
            MAX_PROBABILITY
        )
        return probable

    def _get_hypernym_closure(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._lexicon.get_hypernym_closure(name) for name in names))

    @cache
    def estimate_attribute_rate(self, attribute: str, name: str) -> float:
        """Of the things of a name, the share that has an attribute: among those of which a value of its type was seen, as
        not every thing's colour is told; where few were, as among all things."""
        objects, counts = self._vocabulary.objects, self._vocabulary.attributes
        called = sorted({name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys())
        type_ = self._lexicon.get_attribute_type(attribute)
        alike = {attribute, *self._vocabulary.attribute_alternatives.get(attribute, ())}
        alike |= {word for word in counts if type_ and self._lexicon.get_attribute_type(word) == type_}
        of_all = sum(counts.get(word, 0) for word in alike)
        share = (counts.get(attribute, 0) + 0.5) / (of_all + len(alike))
        has = sum(objects[one].attributes.get(attribute, 0) for one in called)
        of_type = sum(objects[one].attributes.get(word, 0) for one in called for word in alike)
        return (has + PSEUDOCOUNT * share) / (of_type + PSEUDOCOUNT)

    def estimate_attribute_presence(self, attribute: str, name: str) -> float:
        """The probability that an image that shows things of a name shows one with an attribute."""
        return min(
            1 - (1 - self.estimate_attribute_rate(attribute, name)) ** self.estimate_objects_per_image(name),
            MAX_PROBABILITY,
        )

    @cache
    def estimate_objects_per_image(self, name: str) -> float:
        """How many things of a name an image shows on average that shows any; of things of any name, of different ones."""
        if name in WILDCARD_NAMES:
            return (
                OBJECTS_PER_IMAGE
                if self.is_partial
                else max(self._vocabulary.cooccurrence.mean_names_per_image, 1.0)
            )
        objects = self._vocabulary.objects
        called = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        images = self._vocabulary.cooccurrence.image_counts.get(lemmatize(name), 0)
        return max(sum(objects[one].count for one in called) / images, 1.0) if images else 1.0


def get_known_names(evidence: Evidence | None) -> frozenset[str]:
    """The most particular names of the things that the evidence lists, for `Presence.given`."""
    things = evidence.objects if evidence else ()
    return frozenset(
        lemmatize(name) for thing in things for name in [thing.label or next(iter(thing.names), "")] if name
    )
