"""Estimate the probability that an image shows an object of a name, given the objects known to be shown.

The base rate is the proportion of images that show an object of the name. The odds of the base rate are
multiplied by the lift of each known object. The lift of two names says how much more often images show both
than by chance. Without published scene graphs, only the objects that questions mention are counted. These
are two or three of about twenty objects in an image. So the base rates are raised to an estimate of what they
would be if all objects were mentioned. In addition, a table lists the objects that most photographs show
although nobody asks about them.
"""

# ruff: noqa: B019 - the models live as long as the process, and so do their caches.

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

# Number of objects with different names in a photograph. The scene graphs of GQA list 16 objects on average
# (Hudson and Manning 2019, section 3.1), and the scene graphs of Visual Genome list 35.
OBJECTS_PER_IMAGE = 20.0
# Number of imagined images that are added to the counts, because a rate of few images is unreliable. In these
# images names are rare and independent of each other.
PSEUDOCOUNT = 4.0
# No probability is higher than this, because names and graphs have errors.
MAX_PROBABILITY = 0.98


def _parse_rates(table: str) -> dict[str, dict[str, float]]:
    """Parse a table of percentages into {kind of object: {name: rate}}.

    A row without a kind of object has the kind "".

    >>> _parse_rates("animal 90: head, leg")["animal"]
    {'head': 0.9, 'leg': 0.9}
    """
    rates: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for head, names in parse_headed_groups(table).items():
        kind, _, percent = head.rpartition(" ")
        for name in names:
            rates[kind].setdefault(lemmatize(name), int(percent) / 100)
    return rates


# Percentages of everyday photographs that show an object of the name, whether or not a question mentions it.
# The percentages are our estimate.
_COMMON_OBJECT_RATES = _parse_rates("""
50: ground, person, clothing, shadow, head
45: man, shirt, hair, sky, wall, face, hand, arm, eye, leg, tree, floor, plant
35: people, furniture, building, grass, window, pants, shoe, line, light, sign, leaf, branch
30: woman, table, chair, road, pole, cloud, letter, nose, ear, foot, mouth, container, vehicle
20: street, door, jeans, jacket, hat, car, fence, bush, food, animal, sidewalk, dirt, field, water, number
""")[""]
# Percentages of photographs with an object of a kind that also show its parts and objects that usually come
# with it. The percentages are our estimate.
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
    """Estimate what an image shows from the counts of a vocabulary.

    Attributes:
        names: The names of objects and categories, in the order of `ObjectTable.names`.
        index_by_name: The index of each name in `names`.
        is_partial: Whether the counts come from questions, because no scene graph was published.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        counts = vocabulary.cooccurrence
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - UNINFORMATIVE_NAMES - FRAME_WORDS)
        self.index_by_name = {name: index for index, name in enumerate(self.names)}
        self._vocabulary = vocabulary
        self._lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        self.is_partial = counts.from_questions or not counts.num_images
        common_rates = _COMMON_OBJECT_RATES if self.is_partial else {}
        self._lemmas = sorted({*map(lemmatize, self.names), *common_rates})
        self._index_by_lemma = {name: index for index, name in enumerate(self._lemmas)}
        self._lemma_index_of_names = np.array(
            [self._index_by_lemma[lemmatize(name)] for name in self.names], dtype=int
        )
        # The last element stands for any other name.
        image_counts = np.array(
            [*(counts.image_counts.get(name, 0) for name in self._lemmas), 0], dtype=float
        )
        rate = (image_counts + PSEUDOCOUNT * (1 - MAX_PROBABILITY)) / (counts.num_images + PSEUDOCOUNT)
        # A rate r of images that mention a name is raised to 1 - (1 - r) ** e. If questions mentioned objects
        # at random, e would be OBJECTS_PER_IMAGE / mean_names_per_image. If questions always mentioned the
        # object, e would be 1. The geometric mean of the two lies between them.
        if self.is_partial:
            rate = 1 - (1 - rate) ** max(OBJECTS_PER_IMAGE / max(counts.mean_names_per_image, 1), 1) ** 0.5
        min_rate = np.array([*(common_rates.get(name, 0) for name in self._lemmas), 0])
        self._base_logits = logit(np.clip(np.maximum(rate, min_rate), 1e-4, MAX_PROBABILITY))
        self._log_lift = self._compute_log_lift(image_counts)

    def _compute_log_lift(self, image_counts: np.ndarray) -> np.ndarray:
        """Return the logarithm of the lift of each pair of names, shape [lemmas + 1, lemmas + 1]."""
        counts, index = self._vocabulary.cooccurrence, self._index_by_lemma
        by_chance = np.outer(image_counts, image_counts) / max(counts.num_images, 1)
        # Pairs that the vocabulary leaves out occurred less often than min_pair_count.
        together = np.minimum(by_chance, counts.min_pair_count - 1)
        for name, others in counts.pair_counts.items():
            for other, count in others.items():
                if name in index and other in index:
                    together[index[name], index[other]] = together[index[other], index[name]] = count
        return np.log((together + PSEUDOCOUNT) / (by_chance + PSEUDOCOUNT))

    def estimate_probabilities(self, known_names: Iterable[str]) -> np.ndarray:
        """Return for each name of the vocabulary the probability that the image shows such an object.

        Args:
            known_names: The names of objects that the image is known to show. These names and their
                categories get the probability `MAX_PROBABILITY`.

        Returns:
            Probabilities in the order of `names`, shape [names].
        """
        return self._estimate_lemma_probabilities(frozenset(map(lemmatize, known_names)))[
            self._lemma_index_of_names
        ]

    def estimate_probability(self, name: str, known_names: Collection[str]) -> float:
        """Return the probability that the image shows an object of a name.

        Args:
            name: Any name. The vocabulary need not contain it.
            known_names: The names of objects that the image is known to show.
        """
        lemma, known = lemmatize(name), frozenset(map(lemmatize, known_names))
        if lemma not in self._index_by_lemma and lemma in self._get_hypernym_closure(known):
            return MAX_PROBABILITY
        return float(self._estimate_lemma_probabilities(known)[self._index_by_lemma.get(lemma, -1)])

    @lru_cache(maxsize=1 << 10)
    def _estimate_lemma_probabilities(self, known: frozenset[str]) -> np.ndarray:
        rows = [self._index_by_lemma[name] for name in sorted(known) if name in self._index_by_lemma]
        # Known objects are not independent of each other, so k known objects count only sqrt(k) times.
        logits = self._base_logits + self._log_lift[rows].sum(axis=0) / max(len(rows), 1) ** 0.5
        probabilities = np.clip(expit(logits), 0, MAX_PROBABILITY)
        kinds = self._get_hypernym_closure(known)
        for kind in sorted(kinds.intersection(_PART_RATES if self.is_partial else ())):
            for part, rate in _PART_RATES[kind].items():
                if part in self._index_by_lemma:
                    index = self._index_by_lemma[part]
                    probabilities[index] = max(probabilities[index], rate)
        present = [self._index_by_lemma[name] for name in sorted(kinds) if name in self._index_by_lemma]
        probabilities[present] = MAX_PROBABILITY
        return probabilities

    def _get_hypernym_closure(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._lexicon.get_hypernym_closure(name) for name in names))

    @cache
    def estimate_attribute_rate(self, attribute: str, name: str) -> float:
        """Return the proportion of objects of a name that have an attribute.

        Only objects with a known value of the attribute's type are counted, because the color of most objects
        is not stated. If few objects are counted, the rate moves towards the rate among objects of all names.
        """
        objects, counts = self._vocabulary.objects, self._vocabulary.attributes
        names = sorted({name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys())
        type_ = self._lexicon.get_attribute_type(attribute)
        alternatives = {attribute, *self._vocabulary.attribute_alternatives.get(attribute, ())}
        alternatives |= {word for word in counts if type_ and self._lexicon.get_attribute_type(word) == type_}
        total = sum(counts.get(word, 0) for word in alternatives)
        overall_rate = (counts.get(attribute, 0) + 0.5) / (total + len(alternatives))
        entries = [objects[object_name] for object_name in names]
        count = sum(entry.attributes.get(attribute, 0) for entry in entries)
        count_of_type = sum(entry.attributes.get(word, 0) for entry in entries for word in alternatives)
        return (count + PSEUDOCOUNT * overall_rate) / (count_of_type + PSEUDOCOUNT)

    def estimate_attribute_presence(self, attribute: str, name: str) -> float:
        """Return the probability that one of the objects of a name in an image has an attribute."""
        rate = self.estimate_attribute_rate(attribute, name)
        return min(1 - (1 - rate) ** self.estimate_objects_per_image(name), MAX_PROBABILITY)

    @cache
    def estimate_objects_per_image(self, name: str) -> float:
        """Return the mean number of objects of a name in the images that show at least one of them.

        For a name that matches any object ("thing"), return the mean number of different names in an image.
        """
        counts = self._vocabulary.cooccurrence
        if name in WILDCARD_NAMES:
            return OBJECTS_PER_IMAGE if self.is_partial else max(counts.mean_names_per_image, 1.0)
        objects = self._vocabulary.objects
        names = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        num_images = counts.image_counts.get(lemmatize(name), 0)
        count = sum(objects[object_name].count for object_name in names)
        return max(count / num_images, 1.0) if num_images else 1.0


def get_known_names(evidence: Evidence | None) -> frozenset[str]:
    """Return the most specific name of each object in the evidence."""
    objects = evidence.objects if evidence else ()
    return frozenset(
        lemmatize(name) for obj in objects for name in [obj.label or next(iter(obj.names), "")] if name
    )
