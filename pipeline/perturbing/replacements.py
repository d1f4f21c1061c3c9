"""Draw what a thing, a look or a relation is replaced by: by frequency, and so that the question stays plausible.

A replacement that no picture could show ("the wall holding the sky") would tell the answer without a look at
the picture. So a new thing is drawn as often as things that were seen with the attributes and relations which
the question ascribes to it, a new look as often as things of that name have it, a new relation as often as it
holds of such things. Over all questions each word is put in about as often as it is taken out (`raking`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pipeline.core.records import Vocabulary
from pipeline.judge.facts import Facts
from pipeline.perturbing.demands import Demands
from pipeline.perturbing.objects import ObjectTable
from pipeline.perturbing.plausible import fitting_levels
from pipeline.perturbing.raking import Kind, Offers
from pipeline.words.likeness import similar
from pipeline.words.nouns import Number, lemma
from pipeline.words.relations import exclusive, plain_relation, spatial

# Things that are added to those counted of a name, in the proportions of its categories, as a few counts tell little.
BORROWED = 3.0
# Share of an attribute that was never seen: drawn only where nothing else can be.
UNSEEN = 1e-6
# Weight of leaving a word where it is, as a share of that of all replacements, where another slot of the question
# changes.
STAYS = 0.2


class Replacements:
    """Draws replacements from a vocabulary.

    Args:
        same_category: how often a thing is replaced by one of its own category, where one fits.
        uniform: the paper's rule: any object, any of its attributes, all equally likely.

    Attributes:
        factors: by which weights are multiplied, as found from offers.
        offers: where what slots offer is noted, so that factors can be found; None: nowhere.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        same_category: float = 0.5,
        uniform: bool = False,
        factors: Mapping[Kind, np.ndarray] | None = None,
    ) -> None:
        self.table = ObjectTable(vocabulary)
        self.vocabulary = vocabulary
        self.same_category = same_category
        self.uniform = uniform
        self.factors = factors or {}
        self.offers: Offers | None = None
        relations = {*vocabulary.relations, *vocabulary.described}
        relations |= {other for relation in relations for other in exclusive(relation)}
        looks = {*vocabulary.attributes, *vocabulary.alternatives, *vocabulary.described}
        things = self.table.row
        numbered = [
            {word: number for number, word in enumerate(["", *sorted(w)])} for w in (looks, relations)
        ]
        # Sort of word -> word -> its number; of "", that of any other.
        self._numbers = {"thing": things, "things": things, "look": numbered[0], "relation": numbered[1]}
        self._described = _spatial(vocabulary.described)
        self._looks: dict[str, tuple[Counter[str], Counter[str]]] = {}
        self._options: dict[tuple[str, ...], tuple[list[str], np.ndarray]] = {}

    @property
    def words(self) -> dict[str, int]:
        """How many words there are of each sort."""
        return {sort: len(numbers) for sort, numbers in self._numbers.items()}

    @property
    def _evens(self) -> bool:
        return bool(self.factors) or self.offers is not None

    def present(self, facts: Facts | None) -> np.ndarray:
        """Rows of what the evidence says is, or may well be, in the picture."""
        rows = self.table.nothing()
        for thing in facts.things if facts else ():
            for name in (thing.label,) if thing.label else thing.names:
                rows |= self.table.confusable(name)
        return rows

    def thing(
        self,
        name: str,
        plural: bool,
        numbers: frozenset[Number],
        category: bool | None,
        demanded: Demands,
        excluded: np.ndarray,
        random: Sequence[float],
        may_stay: bool = False,
    ) -> str | None:
        """Draw another thing than `name`, or None if none fits.

        Args:
            plural: whether the sentence speaks of several. numbers: which it can take.
            category: whether it must (not) be a category; None: either.
            excluded: rows not to be drawn. random: two numbers in [0, 1).
            may_stay: `name` itself may be drawn, so that it stays, if that helps to even out the words.
        """
        table = self.table
        weight = table.said_as(numbers, category) & ~(excluded | table.confusable(name))
        if not self.uniform:
            weight = weight * table.weight
            levels = fitting_levels(table, self.vocabulary.attribute_types, name, demanded)
            weight = next((fits for level in levels if (fits := weight * level).any()), table.nothing())
        near = weight * table.siblings(name) if random[0] < self.same_category else weight
        weight = near if near.any() else weight
        if may_stay and self._evens and name in table.row:
            weight = weight.astype(float)
            weight[table.row[name]] = STAYS * weight.sum()
        rows = np.flatnonzero(weight)
        kind = "things" if plural else "thing", _said_of(demanded)
        drawn = self._draw(kind, table.row.get(name, -1), rows, weight[rows], random[1])
        return None if drawn is None else table.names[rows[drawn]]

    def look(
        self,
        name: str,
        value: str,
        type_: str,
        held: Iterable[str],
        before_noun: bool,
        random: float,
        may_stay: bool = False,
    ) -> str | None:
        """Draw another attribute of the same type, by what things of this name have; None if there is none.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            held: attributes that it must not be like: other options, what such things have in the picture.
            before_noun: it has to stand before the noun, as "taking a picture" cannot.
            random: a number in [0, 1). may_stay: `value` itself may be drawn.
        """
        key = "look", name, value, type_
        if key not in self._options:
            types, choices = self.vocabulary.attribute_types, self.vocabulary.alternatives.get(value, ())
            of_type = (w for w in self._numbers["look"] if (types.get(w) == type_ if type_ else w in choices))
            words = [word for word in of_type if not similar(word, value)]
            self._options[key] = words, self._shares(name, words)
        words, weights = self._options[key]
        held = tuple(held)
        fits = [
            number
            for number, word in enumerate(words)
            if not any(similar(word, other) for other in held) and not (before_noun and "ing " in word)
        ]
        words = [words[number] for number in fits]
        return self._draw_word(("look", type_), value, words, weights[fits], random, may_stay)

    def relation(
        self, word: str, subject: str, object_: str, random: float, may_stay: bool = False
    ) -> str | None:
        """Draw a spatial relation or position that excludes `word`, by how often it is said of such things; None
        if there is none.

        Args:
            subject, object_: names of the things that it relates, "" if not known.
            random: a number in [0, 1). may_stay: `word` itself may be drawn.
        """
        key = "relation", word, subject, object_
        if key not in self._options:
            words = list(exclusive(word))
            self._options[key] = words, np.array([self._holds(other, subject, object_) for other in words])
        return self._draw_word(("relation", object_), word, *self._options[key], random, may_stay)

    def any_look(self, name: str, value: str, random: float) -> str | None:
        """Draw any other attribute that the vocabulary knows of such things: the paper's rule."""
        options = [other for other in self._looks_of(name)[0] if other != value]
        return options[int(random * len(options))] if options else None

    def _draw_word(
        self, kind: Kind, taken: str, words: Sequence[str], weights: np.ndarray, random: float, may_stay: bool
    ) -> str | None:
        numbers = self._numbers[kind[0]]
        if may_stay and self._evens and len(words):
            words, weights = [*words, taken], np.append(weights, STAYS * weights.sum())
        known = np.array([numbers.get(word, 0) for word in words], int)
        drawn = self._draw(kind, numbers.get(taken, -1), known, weights, random)
        return None if drawn is None else words[drawn]

    def _draw(
        self, kind: Kind, taken: int, words: np.ndarray, weights: np.ndarray, random: float
    ) -> int | None:
        """Draw one of the words [n], given by their numbers among those of a sort, with weights [n] > 0.

        Returns:
            Its place among them, None if there are none.
        """
        if not len(words):
            return None
        if self.offers is not None:
            self.offers.add(kind, taken, words, weights)
        factors = self.factors.get(kind, self.factors.get((kind[0], "")))
        total = np.cumsum(weights if factors is None else weights * factors[words])
        return int(np.searchsorted(total, random * total[-1], side="right"))

    def _shares(self, name: str, words: Sequence[str]) -> np.ndarray:
        """Of things of this name, the share that has each of some attributes: as counted, and where few were, as
        among things of its categories and among all."""
        share = np.zeros(len(words))
        own, kin = self._looks_of(name)
        for counts in (self.vocabulary.attributes, kin, own):
            seen = np.array([counts.get(word, 0) for word in words], float)
            share = (seen + BORROWED * share) / (seen.sum() + BORROWED)
        return share + UNSEEN

    def _called(self, name: str) -> set[str]:
        """The names of the things that a name selects."""
        return {name, lemma(name), *self.vocabulary.categories.get(name, ())}

    def _looks_of(self, name: str) -> tuple[Counter[str], Counter[str]]:
        """Attributes of the things that a name selects, and of all that share a category with it, counted."""
        if name not in self._looks:
            called = self._called(name)
            kin = {self.table.names[row] for row in np.flatnonzero(self.table.siblings(lemma(name)))}
            self._looks[name] = self._count("attributes", called), self._count("attributes", kin | called)
        return self._looks[name]

    def _holds(self, relation: str, subject: str, object_: str) -> float:
        """How often a spatial relation is said of such things: as often as of any things, times how much more
        often it holds of things with the one and with the other name than of any."""
        relation, everywhere = spatial(relation), self._described
        share = (everywhere[relation] + 0.5) / (everywhere.total() + 1)
        holds = share
        for name, role in ((subject, "subject_of"), (object_, "object_of")):
            if name:
                counts = _spatial(self._count(role, self._called(name)))
                holds *= (counts[relation] + BORROWED * share) / (counts.total() + BORROWED) / share
        return holds

    def _count(self, what: str, names: Iterable[str]) -> Counter[str]:
        """What is counted of things of these names: their "attributes", the relations that they are "subject_of" or
        "object_of"."""
        counts: Counter[str] = Counter()
        for name in sorted(names):
            if name in self.vocabulary.objects:
                counts.update(getattr(self.vocabulary.objects[name], what))
        return Counter(dict(sorted(counts.items())))


def _spatial(counts: Mapping[str, int]) -> Counter[str]:
    """Counts of the relations that have an opposite, without their verbs."""
    spatial_counts: Counter[str] = Counter()
    for relation, count in counts.items():
        if exclusive(relation):
            spatial_counts[spatial(plain_relation(relation))] += count
    return spatial_counts


def _said_of(demanded: Demands) -> str:
    """What a question says of a thing, in short: slots of which the same is said take the same things."""
    related = (f"{plain_relation(relation)} {role}" for relation, role in demanded.relations)
    return ", ".join(sorted({*related, *demanded.types, *("look" for _ in demanded.attributes)}))
