"""Draw what a thing, a look or a relation is replaced by: by frequency, and so that the question stays plausible.

A replacement that no image could show ("the wall holding the sky") would tell the answer without a look at
the image. So each word is drawn as often as it is said, times how well it fits what the rest of the question says
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
from pipeline.candidates.perturbing.plausibility import ObjectConstraints, PlausibilityModel
from pipeline.candidates.perturbing.raking import SlotOptions, WordContext
from pipeline.core.params import Params, Seed
from pipeline.core.records import Vocabulary
from pipeline.language.functional_programs import POSITION_VALUES
from pipeline.language.nouns import GrammaticalNumber, lemmatize
from pipeline.language.relations import (
    DIRECTIONAL_RELATIONS,
    LEFT_RIGHT_RELATIONS,
    canonicalize_relation,
    extract_spatial_relation,
    get_excluded_attributes,
    get_excluded_relations,
)
from pipeline.language.similarity import is_similar_attribute
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.presence_model import PresenceModel, get_known_names

# Weight of leaving a word where it is, as a share of that of all replacements, where another slot of the question
# changes.
KEEP_WEIGHT = 0.2
# What an image shows with a higher probability is not put in: shoes and trousers where somebody is there (0.6).
MAX_PRESENCE_PROBABILITY = 0.58
# How one asks for a thing's name: "WHO is ...?", "WHICH KIND OF animal is ...?".
NAME_QUESTION_PHRASES = (
    "who",
    *(f"{what}{of}" for what in ("what", "which") for of in ("", " kind of", " type of", " sort of")),
)


class WordOptions(NamedTuple):
    """Words [n] that may be drawn, their numbers among those of their sort [n] and weights [n] > 0."""

    words: Sequence[str]
    word_indices: np.ndarray
    weights: np.ndarray


class PerturbParams(Params):
    """Parameters of stage `perturb`.

    Attributes:
        seed: Seed of all random choices.
        preset: `presuppositions` edits only what a question presupposes, with replacements that fit.
            `paper` is RGQA's rule (section 3.1): every noun and adjective, any replacement, whatever is
            asked.
        balance_words: Whether replacements are weighted so that each word is inserted about as often as
            it is removed over all questions. Without it, a text-only model can tell edited questions;
            with it, fewer edits are made.
        same_category_rate: Probability (0 to 1) of replacing an object by one of its own category where
            one fits.
        max_query_only_proportion: Maximum proportion (0 to 1) of a subset's candidates that edit only
            what the question asks for ("Who is wearing a hat?": nobody). Further ones are not made.
    """

    removed: ClassVar[Mapping[str, str]] = {"alternatives": "this parameter was removed; delete the line"}

    seed: Seed = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    balance_words: bool = True
    same_category_rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    max_query_only_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


class ReplacementSampler:
    """Draws replacements from a vocabulary; by the paper's rule any object, any of its attributes, all equally likely.

    Attributes:
        factors: by which weights are multiplied, as found from offers (`raking.factors`).
        offers: where what slots offer is noted, so that factors can be found; None: nowhere.
        numbers: sort of word -> word -> its number; of "", that of any other.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        params: PerturbParams,
        word_factors: Mapping[WordContext, np.ndarray] | None = None,
    ) -> None:
        self.object_table = ObjectTable(vocabulary)
        self.plausibility = PlausibilityModel(vocabulary, self.object_table.names)
        self.presence = PresenceModel(vocabulary)
        self.vocabulary = vocabulary
        self.params = params
        self.word_factors = word_factors or {}
        self.recorded_slots: list[SlotOptions] | None = None
        relations = {*vocabulary.relations, *vocabulary.presupposed_properties}
        relations |= {other for relation in relations for other in get_excluded_relations(relation)}
        attributes = {
            *vocabulary.attributes,
            *vocabulary.attribute_alternatives,
            *vocabulary.presupposed_properties,
        }
        self.index_by_word: dict[str, Mapping[str, int]] = dict.fromkeys(
            ("object", "objects"), self.object_table.row_by_name
        )
        zones = {zone for zones in POSITION_VALUES.values() for zone in zones}
        sorts = {
            "attribute": attributes,
            "relation": relations,
            "negation": {"not"},
            "name_question": NAME_QUESTION_PHRASES,
            "zone": zones,
        }
        for sort, words in sorts.items():
            self.index_by_word[sort] = {word: number for number, word in enumerate(["", *sorted(words)])}
        self._spatial_counts = _count_spatial_relations(vocabulary.presupposed_properties)

    def estimate_absence(self, facts: Evidence | None) -> np.ndarray:
        """How probably the image shows nothing of each row's name, by what the evidence says it shows, which may be said
        in several words; by the paper's rule that is not looked at."""
        absent = np.ones(len(self.object_table.names))
        if self.params.preset == "paper":
            return absent
        for thing in facts.objects if facts else ():
            for name in (thing.label,) if thing.label else thing.names:
                absent[self.object_table.match_confusable(name)] = 0
        present = self.presence.estimate_probabilities(get_known_names(facts))
        return np.where(present > MAX_PRESENCE_PROBABILITY, 0, absent * (1 - present))

    def sample_object(
        self,
        name: str,
        is_plural: bool,
        numbers: frozenset[GrammaticalNumber],
        must_be_category: bool | None,
        constraints: ObjectConstraints,
        absence_probabilities: np.ndarray,
        uniforms: Sequence[float],
        may_keep: bool = False,
    ) -> str | None:
        """Draw another thing than `name`, or None if none fits.

        Args:
            plural: whether the sentence speaks of several. numbers: which it can take.
            category: whether it must (not) be a category; None: either.
            absent: how probably the image shows none of each row. random: two numbers in [0, 1).
            may_stay: `name` itself may be drawn, so that it stays, if that helps to even out the words.
        """
        table = self.object_table
        weight = absence_probabilities * self._weigh_objects(name, numbers, must_be_category, constraints)
        near = weight * table.match_siblings(name) if uniforms[0] < self.params.same_category_rate else weight
        weight = near if near.any() else weight
        if may_keep and self._is_balancing_words and name in table.row_by_name:
            weight = weight.copy()
            weight[table.row_by_name[name]] = KEEP_WEIGHT * weight.sum()
        rows = np.flatnonzero(weight)
        kind = "objects" if is_plural else "object", _describe_constraints(constraints)
        drawn = self._sample_index(kind, table.row_by_name.get(name, -1), rows, weight[rows], uniforms[1])
        return None if drawn is None else table.names[rows[drawn]]

    @lru_cache(maxsize=1 << 12)
    def _weigh_objects(
        self,
        name: str,
        numbers: frozenset[GrammaticalNumber],
        category: bool | None,
        demanded: ObjectConstraints,
    ) -> np.ndarray:
        """How often each row is said, times how well it fits; 0 for what may be said of the same thing."""
        weight = (
            self.object_table.match_number(numbers, category) & ~self.object_table.match_confusable(name)
        ).astype(float)
        if self.params.preset != "paper":
            weight *= self.object_table.sampling_weights * self.plausibility.score_objects(demanded)
        return weight * self.object_table.match_siblings(name) if demanded.same_category else weight

    @lru_cache(maxsize=1 << 14)
    def list_attributes(
        self,
        name: str,
        value: str,
        type_: str,
        conflicting: frozenset[str],
        before_noun: bool,
        same_type_excludes: bool = True,
    ) -> WordOptions:
        """Other attributes, that a thing of this name may have in place of one. By the paper's rule, all others that the
        vocabulary knows of such things.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            held: attributes that it must not be like: other options, what such things have in the image.
            before_noun: it has to stand before the noun, as "taking an image" cannot.
            of_type: any of the same type excludes it; else only those that are known to.
        """
        options = self._weigh_attributes(name, value, type_, same_type_excludes)
        if self.params.preset == "paper":
            return options
        fits = [
            number
            for number, word in enumerate(options.words)
            if not any(is_similar_attribute(word, other) for other in conflicting)
            and not (before_noun and "ing " in word)
        ]
        return WordOptions(
            [options.words[number] for number in fits], options.word_indices[fits], options.weights[fits]
        )

    @cache
    def list_relations(self, word: str, subject: str, object_: str, query_only: bool) -> WordOptions:
        """Spatial relations or positions that exclude one, by how often each is said, times how well it fits.

        Args:
            subject, object_: names of the things that it relates, "" if not known.
            weak: it is of what is asked for, so one that something is surely found in will not do.
        """
        others = [
            other
            for other in get_excluded_relations(word)
            if not (query_only and extract_spatial_relation(other) in DIRECTIONAL_RELATIONS)
        ]
        fits = {other: self.plausibility.score_relation(subject, other, object_) for other in others}
        if (
            word in LEFT_RIGHT_RELATIONS and not query_only
        ):  # where there is a left of a thing, there is a right of it
            fits[get_excluded_relations(word)[0]] = 1.0
        said = {
            other: (self._spatial_counts[extract_spatial_relation(other)] + 0.5) * fit
            for other, fit in fits.items()
        }
        return self._make_options("relation", said)

    @property
    def _is_balancing_words(self) -> bool:
        return bool(self.word_factors) or self.recorded_slots is not None

    def sample_word(
        self,
        word_context: WordContext,
        removed_word: str,
        options: WordOptions,
        uniform: float,
        may_keep: bool = False,
    ) -> str | None:
        """Draw a look or a relation from options, or None if there are none; `taken` itself too if it may stay."""
        words, numbers, weights = options
        number = self.index_by_word[word_context[0]].get(removed_word, -1)
        if may_keep and self._is_balancing_words and words:
            words, numbers = [*words, removed_word], np.append(numbers, max(number, 0))
            weights = np.append(weights, KEEP_WEIGHT * weights.sum())
        drawn = self._sample_index(word_context, number, numbers, weights, uniform)
        return None if drawn is None else words[drawn]

    def sample_from_weights(
        self, word_context: WordContext, removed_word: str, weights: Mapping[str, float], uniform: float
    ) -> str | None:
        """Draw one of a few words by their weights, or None if none has any."""
        return self.sample_word(
            word_context, removed_word, self._make_options(word_context[0], weights), uniform
        )

    def _sample_index(
        self, kind: WordContext, taken: int, words: np.ndarray, weights: np.ndarray, random: float
    ) -> int | None:
        """Draw one of the words [n], given by their numbers among those of a sort, with weights [n] > 0.

        Returns:
            Its place among them, None if there are none.
        """
        if not len(words):
            return None
        if self.recorded_slots is not None:
            shares = (weights / weights.sum()).astype(np.float32)
            self.recorded_slots.append(SlotOptions(kind, taken, words.astype(np.int32), shares))
        factors = self.word_factors.get(kind, self.word_factors.get((kind[0], "")))
        total = np.cumsum(weights if factors is None else weights * factors[words])
        return int(np.searchsorted(total, random * total[-1], side="right"))

    @cache
    def _weigh_attributes(self, name: str, value: str, type_: str, of_type: bool) -> WordOptions:
        """Attributes of a type, if any of it is wanted, and those that exclude one; by how often each is seen, times how
        well it fits, and how probably an image of such things shows none with it."""
        vocabulary, seen = self.vocabulary, self.vocabulary.attributes
        if self.params.preset == "paper":
            called = {name, lemmatize(name), *vocabulary.categories.get(name, ())} & vocabulary.objects.keys()
            held = {look for one in called for look in vocabulary.objects[one].attributes}
            return self._make_options("attribute", dict.fromkeys(sorted(held - {value}), 1.0))
        types, choices = vocabulary.attribute_types, vocabulary.attribute_alternatives.get(value, ())
        words = (
            [w for w in self.index_by_word["attribute"] if types.get(w) == type_ or w in choices]
            if of_type
            else []
        )
        words += [
            word for word in get_excluded_attributes(value) if types.get(word, type_) == type_
        ] or get_excluded_attributes(value)
        weights = {
            word: (seen.get(word, 0) + 0.5)
            * self.plausibility.score_attribute(name, word, type_)
            * (1 - self.presence.estimate_attribute_presence(word, name))
            for word in words
            if not is_similar_attribute(word, value)
        }
        return self._make_options("attribute", weights)

    def _make_options(self, sort: str, weights: Mapping[str, float]) -> WordOptions:
        """The words that have a weight."""
        words = [word for word, weight in weights.items() if weight]
        numbers = [self.index_by_word[sort].get(word, 0) for word in words]
        return WordOptions(words, np.array(numbers, int), np.array([weights[word] for word in words], float))


def _count_spatial_relations(counts: Mapping[str, int]) -> Counter[str]:
    """Counts of the relations that have an opposite, without their verbs."""
    spatial_counts: Counter[str] = Counter()
    for relation, count in counts.items():
        if get_excluded_relations(relation):
            spatial_counts[extract_spatial_relation(canonicalize_relation(relation))] += count
    return spatial_counts


def _describe_constraints(demanded: ObjectConstraints) -> str:
    """What a question says of a thing, in short: slots of which the same is said take the same things."""
    related = (f"{canonicalize_relation(relation)} {role}" for relation, role, _ in demanded.relations)
    return ", ".join(sorted({*related, *demanded.types, *("attribute" for _ in demanded.attributes)}))
