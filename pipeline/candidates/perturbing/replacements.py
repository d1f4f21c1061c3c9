"""Draw what a thing, a look or a relation is replaced by: by frequency, and so that the question stays plausible.

A replacement that no picture could show ("the wall holding the sky") would tell the answer without a look at
the picture. So each word is drawn as often as it is said, times how well it fits what the rest of the question says
(`plausible`), and none that does not fit. Over all questions each word is put in about as often as it is taken out
(`raking`).
"""

# ruff: noqa: B019 - they live as long as the process, and so does what they have worked out

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.perturbing.object_table import ObjectTable
from pipeline.candidates.perturbing.plausibility import Demands, Plausible
from pipeline.candidates.perturbing.raking import Kind, Offer
from pipeline.core.params import Params, Seed
from pipeline.core.records import Vocabulary
from pipeline.language.functional_programs import ZONES
from pipeline.language.nouns import Number, lemma
from pipeline.language.relations import AROUND, SIDEWAYS, excluded, exclusive, plain_relation, spatial
from pipeline.language.similarity import similar
from pipeline.verifier.evidence import Facts
from pipeline.verifier.presence_model import Presence, names_known

# Weight of leaving a word where it is, as a share of that of all replacements, where another slot of the question
# changes.
STAYS = 0.2
# What a picture shows with a higher probability is not put in: shoes and trousers where somebody is there (0.6).
LIKELY = 0.58
# How one asks for a thing's name: "WHO is ...?", "WHICH KIND OF animal is ...?".
ASKING = (
    "who",
    *(f"{what}{of}" for what in ("what", "which") for of in ("", " kind of", " type of", " sort of")),
)


class WordOptions(NamedTuple):
    """Words [n] that may be drawn, their numbers among those of their sort [n] and weights [n] > 0."""

    words: Sequence[str]
    numbers: np.ndarray
    weights: np.ndarray


class PerturbParams(Params):
    """Parameters of perturb.

    Attributes:
        seed: of all draws.
        preset: "presuppositions" edits only what a question takes for granted, with replacements that fit;
            "paper" is RGQA's rule (section 3.1): every noun and adjective, any replacement, blind to what is
            asked.
        even_words: weigh replacements so that over all questions each word is put in about as often as it is
            taken out (`pipeline/candidates/perturbing/raking.py`); without, a model that sees the words alone can tell edits.
        same_category: how often a thing is replaced by one of its own category, where one fits.
        weak_share: of the candidates of a subset, the share that may be weak: edited only in what the question asks for
            and does not fix, so that "nothing" or "nobody" is a true answer (`pipeline/language/presuppositions.py`). The
            others are not made. 1: all are.
    """

    removed: ClassVar[Mapping[str, str]] = {"alternatives": "this parameter was removed; delete the line"}

    seed: Seed = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    even_words: bool = True
    same_category: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    weak_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


class Replacements:
    """Draws replacements from a vocabulary; by the paper's rule any object, any of its attributes, all equally likely.

    Attributes:
        factors: by which weights are multiplied, as found from offers (`raking.factors`).
        offers: where what slots offer is noted, so that factors can be found; None: nowhere.
        numbers: sort of word -> word -> its number; of "", that of any other.
    """

    def __init__(
        self, vocabulary: Vocabulary, params: PerturbParams, factors: Mapping[Kind, np.ndarray] | None = None
    ) -> None:
        self.table = ObjectTable(vocabulary)
        self.plausible = Plausible(vocabulary, self.table.names)
        self.presence = Presence(vocabulary)
        self.vocabulary = vocabulary
        self.params = params
        self.factors = factors or {}
        self.offers: list[Offer] | None = None
        relations = {*vocabulary.relations, *vocabulary.described}
        relations |= {other for relation in relations for other in exclusive(relation)}
        looks = {*vocabulary.attributes, *vocabulary.alternatives, *vocabulary.described}
        self.numbers: dict[str, Mapping[str, int]] = dict.fromkeys(("thing", "things"), self.table.row)
        zones = {zone for zones in ZONES.values() for zone in zones}
        sorts = {"look": looks, "relation": relations, "not": {"not"}, "asking": ASKING, "zone": zones}
        for sort, words in sorts.items():
            self.numbers[sort] = {word: number for number, word in enumerate(["", *sorted(words)])}
        self._described = _spatial(vocabulary.described)

    def absent(self, facts: Facts | None) -> np.ndarray:
        """How probably the picture shows nothing of each row's name, by what the evidence says it shows, which may be said
        in several words; by the paper's rule that is not looked at."""
        absent = np.ones(len(self.table.names))
        if self.params.preset == "paper":
            return absent
        for thing in facts.things if facts else ():
            for name in (thing.label,) if thing.label else thing.names:
                absent[self.table.confusable(name)] = 0
        present = self.presence.given(names_known(facts))
        return np.where(present > LIKELY, 0, absent * (1 - present))

    def thing(
        self,
        name: str,
        plural: bool,
        numbers: frozenset[Number],
        category: bool | None,
        demanded: Demands,
        absent: np.ndarray,
        random: Sequence[float],
        may_stay: bool = False,
    ) -> str | None:
        """Draw another thing than `name`, or None if none fits.

        Args:
            plural: whether the sentence speaks of several. numbers: which it can take.
            category: whether it must (not) be a category; None: either.
            absent: how probably the picture shows none of each row. random: two numbers in [0, 1).
            may_stay: `name` itself may be drawn, so that it stays, if that helps to even out the words.
        """
        table = self.table
        weight = absent * self._things(name, numbers, category, demanded)
        near = weight * table.siblings(name) if random[0] < self.params.same_category else weight
        weight = near if near.any() else weight
        if may_stay and self._evens and name in table.row:
            weight = weight.copy()
            weight[table.row[name]] = STAYS * weight.sum()
        rows = np.flatnonzero(weight)
        kind = "things" if plural else "thing", _said_of(demanded)
        drawn = self._draw(kind, table.row.get(name, -1), rows, weight[rows], random[1])
        return None if drawn is None else table.names[rows[drawn]]

    @lru_cache(maxsize=1 << 12)
    def _things(
        self,
        name: str,
        numbers: frozenset[Number],
        category: bool | None,
        demanded: Demands,
    ) -> np.ndarray:
        """How often each row is said, times how well it fits; 0 for what may be said of the same thing."""
        weight = (self.table.said_as(numbers, category) & ~self.table.confusable(name)).astype(float)
        if self.params.preset != "paper":
            weight *= self.table.weight * self.plausible.fits(demanded)
        return weight * self.table.siblings(name) if demanded.kin else weight

    @lru_cache(maxsize=1 << 14)
    def looks(
        self,
        name: str,
        value: str,
        type_: str,
        held: frozenset[str],
        before_noun: bool,
        of_type: bool = True,
    ) -> WordOptions:
        """Other attributes, that a thing of this name may have in place of one. By the paper's rule, all others that the
        vocabulary knows of such things.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            held: attributes that it must not be like: other options, what such things have in the picture.
            before_noun: it has to stand before the noun, as "taking a picture" cannot.
            of_type: any of the same type excludes it; else only those that are known to.
        """
        options = self._looks(name, value, type_, of_type)
        if self.params.preset == "paper":
            return options
        fits = [
            number
            for number, word in enumerate(options.words)
            if not any(similar(word, other) for other in held) and not (before_noun and "ing " in word)
        ]
        return WordOptions(
            [options.words[number] for number in fits], options.numbers[fits], options.weights[fits]
        )

    @cache
    def relations(self, word: str, subject: str, object_: str, weak: bool) -> WordOptions:
        """Spatial relations or positions that exclude one, by how often each is said, times how well it fits.

        Args:
            subject, object_: names of the things that it relates, "" if not known.
            weak: it is of what is asked for, so one that something is surely found in will not do.
        """
        others = [other for other in exclusive(word) if not (weak and spatial(other) in AROUND)]
        fits = {other: self.plausible.relation(subject, other, object_) for other in others}
        if word in SIDEWAYS and not weak:  # where there is a left of a thing, there is a right of it
            fits[exclusive(word)[0]] = 1.0
        said = {other: (self._described[spatial(other)] + 0.5) * fit for other, fit in fits.items()}
        return self._options("relation", said)

    @property
    def _evens(self) -> bool:
        return bool(self.factors) or self.offers is not None

    def word(
        self, kind: Kind, taken: str, options: WordOptions, random: float, may_stay: bool = False
    ) -> str | None:
        """Draw a look or a relation from options, or None if there are none; `taken` itself too if it may stay."""
        words, numbers, weights = options
        number = self.numbers[kind[0]].get(taken, -1)
        if may_stay and self._evens and words:
            words, numbers = [*words, taken], np.append(numbers, max(number, 0))
            weights = np.append(weights, STAYS * weights.sum())
        drawn = self._draw(kind, number, numbers, weights, random)
        return None if drawn is None else words[drawn]

    def either(self, kind: Kind, taken: str, weights: Mapping[str, float], random: float) -> str | None:
        """Draw one of a few words by their weights, or None if none has any."""
        return self.word(kind, taken, self._options(kind[0], weights), random)

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
            shares = (weights / weights.sum()).astype(np.float32)
            self.offers.append(Offer(kind, taken, words.astype(np.int32), shares))
        factors = self.factors.get(kind, self.factors.get((kind[0], "")))
        total = np.cumsum(weights if factors is None else weights * factors[words])
        return int(np.searchsorted(total, random * total[-1], side="right"))

    @cache
    def _looks(self, name: str, value: str, type_: str, of_type: bool) -> WordOptions:
        """Attributes of a type, if any of it is wanted, and those that exclude one; by how often each is seen, times how
        well it fits, and how probably a picture of such things shows none with it."""
        vocabulary, seen = self.vocabulary, self.vocabulary.attributes
        if self.params.preset == "paper":
            called = {name, lemma(name), *vocabulary.categories.get(name, ())} & vocabulary.objects.keys()
            held = {look for one in called for look in vocabulary.objects[one].attributes}
            return self._options("look", dict.fromkeys(sorted(held - {value}), 1.0))
        types, choices = vocabulary.attribute_types, vocabulary.alternatives.get(value, ())
        words = [w for w in self.numbers["look"] if types.get(w) == type_ or w in choices] if of_type else []
        words += [word for word in excluded(value) if types.get(word, type_) == type_] or excluded(value)
        weights = {
            word: (seen.get(word, 0) + 0.5)
            * self.plausible.look(name, word, type_)
            * (1 - self.presence.look(word, name))
            for word in words
            if not similar(word, value)
        }
        return self._options("look", weights)

    def _options(self, sort: str, weights: Mapping[str, float]) -> WordOptions:
        """The words that have a weight."""
        words = [word for word, weight in weights.items() if weight]
        numbers = [self.numbers[sort].get(word, 0) for word in words]
        return WordOptions(words, np.array(numbers, int), np.array([weights[word] for word in words], float))


def _spatial(counts: Mapping[str, int]) -> Counter[str]:
    """Counts of the relations that have an opposite, without their verbs."""
    spatial_counts: Counter[str] = Counter()
    for relation, count in counts.items():
        if exclusive(relation):
            spatial_counts[spatial(plain_relation(relation))] += count
    return spatial_counts


def _said_of(demanded: Demands) -> str:
    """What a question says of a thing, in short: slots of which the same is said take the same things."""
    related = (f"{plain_relation(relation)} {role}" for relation, role, _ in demanded.relations)
    return ", ".join(sorted({*related, *demanded.types, *("look" for _ in demanded.attributes)}))
