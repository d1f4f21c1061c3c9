"""Draw what a thing, a look or a relation is replaced by: by frequency, and so that the question stays plausible.

A replacement that no picture could show ("the wall holding the sky") would tell the answer without a look at
the picture. So a new thing is drawn as often as things that were seen with the attributes and relations which
the question ascribes to it, a new look as often as things of that name have it, a new relation as often as it
holds of such things. Over all questions each word is put in about as often as it is taken out (`raking`).
"""

# ruff: noqa: B019 - they live as long as the process, and so does what they have worked out

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal

import msgspec
import numpy as np

from pipeline.core.params import Params
from pipeline.core.records import Vocabulary
from pipeline.judge.facts import Facts
from pipeline.perturbing.objects import Demands, ObjectTable
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

Options = tuple[list[str], np.ndarray]  # words and their weights


class PerturbParams(Params):
    """Parameters of perturb.

    Attributes:
        seed: of all draws.
        preset: "presuppositions" edits only what a question takes for granted, with replacements that fit;
            "paper" is RGQA's rule (section 3.1): every noun and adjective, any replacement, blind to what is
            asked.
        even_words: weigh replacements so that over all questions each word is put in about as often as it is
            taken out (`pipeline/perturbing/raking.py`); without, a model that sees the words alone can tell edits.
        same_category: how often a thing is replaced by one of its own category, where one fits.
    """

    seed: int = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    even_words: bool = True
    same_category: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5


class Replacements:
    """Draws replacements from a vocabulary; by the paper's rule any object, any of its attributes, all equally likely.

    Attributes:
        factors: by which weights are multiplied, as found from offers.
        offers: where what slots offer is noted, so that factors can be found; None: nowhere.
        numbers: sort of word -> word -> its number; of "", that of any other.
    """

    def __init__(
        self, vocabulary: Vocabulary, params: PerturbParams, factors: Mapping[Kind, np.ndarray] | None = None
    ) -> None:
        self.table = ObjectTable(vocabulary)
        self.vocabulary = vocabulary
        self.params = params
        self.factors = factors or {}
        self.offers: Offers | None = None
        relations = {*vocabulary.relations, *vocabulary.described}
        relations |= {other for relation in relations for other in exclusive(relation)}
        looks = {*vocabulary.attributes, *vocabulary.alternatives, *vocabulary.described}
        self.numbers: dict[str, Mapping[str, int]] = dict.fromkeys(("thing", "things"), self.table.row)
        for sort, words in (("look", looks), ("relation", relations)):
            self.numbers[sort] = {word: number for number, word in enumerate(["", *sorted(words)])}
        self._described = _spatial(vocabulary.described)

    def present(self, facts: Facts | None) -> np.ndarray:
        """Rows of what the evidence says is, or may well be, in the picture; none by the paper's rule."""
        rows = self.table.nothing()
        for thing in facts.things if facts and self.params.preset != "paper" else ():
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
        if self.params.preset != "paper":
            weight = weight * table.weight
            fitting = (weight * level for level in table.levels(name, demanded))
            weight = next((fits for fits in fitting if fits.any()), table.nothing())
        near = weight * table.siblings(name) if random[0] < self.params.same_category else weight
        weight = near if near.any() else weight
        if may_stay and self._evens and name in table.row:
            weight = weight.astype(float)
            weight[table.row[name]] = STAYS * weight.sum()
        rows = np.flatnonzero(weight)
        kind = "things" if plural else "thing", _said_of(demanded)
        drawn = self._draw(kind, table.row.get(name, -1), rows, weight[rows], random[1])
        return None if drawn is None else table.names[rows[drawn]]

    def looks(self, name: str, value: str, type_: str, held: Collection[str], before_noun: bool) -> Options:
        """Other attributes of the same type, by what things of this name have. By the paper's rule, all others that the
        vocabulary knows of such things.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            held: attributes that it must not be like: other options, what such things have in the picture.
            before_noun: it has to stand before the noun, as "taking a picture" cannot.
        """
        if self.params.preset == "paper":
            words = [other for other in self._looks_of(name)[0] if other != value]
            return words, np.ones(len(words))
        words, weights = self._looks(name, value, type_)
        fits = [
            number
            for number, word in enumerate(words)
            if not any(similar(word, other) for other in held) and not (before_noun and "ing " in word)
        ]
        return [words[number] for number in fits], weights[fits]

    @cache
    def relations(self, word: str, subject: str, object_: str) -> Options:
        """Spatial relations or positions that exclude one, by how often each is said of such things: as often as of any,
        times how much more often it holds of things with the one and with the other name than of any.

        Args:
            subject, object_: names of the things that it relates, "" if not known.
        """
        roles = ((subject, "subject_of"), (object_, "object_of"))
        of_such_things = [_spatial(self._count(role, self._called(name))) for name, role in roles if name]
        weights = []
        for other in exclusive(word):
            relation = spatial(other)
            weight = share = (self._described[relation] + 0.5) / (self._described.total() + 1)
            for counts in of_such_things:
                weight *= (counts[relation] + BORROWED * share) / (counts.total() + BORROWED) / share
            weights.append(weight)
        return list(exclusive(word)), np.array(weights)

    @property
    def _evens(self) -> bool:
        return bool(self.factors) or self.offers is not None

    def word(
        self, kind: Kind, taken: str, options: Options, random: float, may_stay: bool = False
    ) -> str | None:
        """Draw a look or a relation from options, or None if there are none; `taken` itself too if it may stay."""
        words, weights = options
        if may_stay and self._evens and words:
            words, weights = [*words, taken], np.append(weights, STAYS * weights.sum())
        known = np.array([self.numbers[kind[0]].get(word, 0) for word in words], int)
        drawn = self._draw(kind, self.numbers[kind[0]].get(taken, -1), known, weights, random)
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

    @cache
    def _looks(self, name: str, value: str, type_: str) -> Options:
        """Attributes of a type unlike one of them, by the share of things of this name that have each: as counted, and
        where few were, as among things of its categories and among all."""
        types, choices = self.vocabulary.attribute_types, self.vocabulary.alternatives.get(value, ())
        of_type = (w for w in self.numbers["look"] if (types.get(w) == type_ if type_ else w in choices))
        words = [word for word in of_type if not similar(word, value)]
        share = np.zeros(len(words))
        own, kin = self._looks_of(name)
        for counts in (self.vocabulary.attributes, kin, own):
            seen = np.array([counts.get(word, 0) for word in words], float)
            share = (seen + BORROWED * share) / (seen.sum() + BORROWED)
        return words, share + UNSEEN

    @cache
    def _looks_of(self, name: str) -> tuple[Counter[str], Counter[str]]:
        """Attributes of the things that a name selects, and of all that share a category with it, counted."""
        called = self._called(name)
        kin = {self.table.names[row] for row in np.flatnonzero(self.table.siblings(lemma(name)))}
        return self._count("attributes", called), self._count("attributes", kin | called)

    def _called(self, name: str) -> set[str]:
        """The names of the things that a name selects."""
        return {name, lemma(name), *self.vocabulary.categories.get(name, ())}

    def _count(self, what: str, names: Iterable[str]) -> Counter[str]:
        """What is counted of things of these names: their "attributes", the relations that they are "subject_of" or
        "object_of"."""
        counts: Counter[str] = Counter()
        for name in names:
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
