"""Sample the replacement of an object, an attribute or a relation: by frequency, and so that the question stays plausible.

A replacement that no image could show ("the wall holding the sky") would reveal the answer without the image. So each word is weighted by
how often it occurs, times how well it fits the rest of the question (`plausibility`); implausible words are never sampled. Over all
questions, each word is inserted about as often as it is removed (`raking`).
"""

# ruff: noqa: B019 - samplers live as long as the process, and so do their cached results.

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
from pipeline.language.similarity import is_similar_attribute, is_vague_attribute
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.presence_model import PresenceModel, get_known_names

# Weight of keeping a word, as a proportion of the weight of all replacements, where another slot of the question changes.
KEEP_WEIGHT = 0.2
# Objects that an image shows with a higher probability are never inserted, such as shoes where there is a person (0.6).
MAX_PRESENCE_PROBABILITY = 0.58
# Phrases that ask for the name of an object: "WHO is ...?", "WHICH KIND OF animal is ...?".
NAME_QUESTION_PHRASES = (
    "who",
    *(f"{what}{of}" for what in ("what", "which") for of in ("", " kind of", " type of", " sort of")),
)


class WordOptions(NamedTuple):
    """Words [n] that may be sampled, their indices in the list of their sort [n], and weights [n] > 0."""

    words: Sequence[str]
    word_indices: np.ndarray
    weights: np.ndarray


class PerturbParams(Params):
    """Parameters of the stage perturb.

    Attributes:
        seed: Seed of all random choices.
        preset: "presuppositions" edits only what a question presupposes, with plausible replacements. "paper" is RGQA's rule (section
            3.1): every noun and adjective, any replacement, whatever the question asks for.
        balance_words: Weight replacements so that every word is inserted about as often as it is removed
            (`pipeline/candidates/perturbing/raking.py`). Otherwise a text-only model can detect edits.
        same_category_rate: Probability in [0, 1] of replacing an object by one of its own category where one fits.
        max_query_only_proportion: Maximum proportion in [0, 1] of a subset's candidates that are query-only: they edit only what the question asks
            for and does not presuppose, so "nothing" or "nobody" may be a true answer (`pipeline/language/presuppositions.py`). Further ones
            are not made. 1 means no limit.
    """

    removed: ClassVar[Mapping[str, str]] = {"alternatives": "this parameter was removed; delete the line"}

    seed: Seed = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    balance_words: bool = True
    same_category_rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    max_query_only_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


class ReplacementSampler:
    """Samples replacements from a vocabulary. With the preset "paper", all objects and all attributes of an object are equally likely.

    Attributes:
        word_factors: Factors of the weights, fitted to recorded slots by `raking.fit_word_factors`.
        recorded_slots: List to which the options of each slot are appended while factors are fitted; None otherwise.
        index_by_word: Sort of word -> word -> its index. The index of "" stands for all other words.
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

    def estimate_absence(self, evidence: Evidence | None) -> np.ndarray:
        """Estimate how probably the image shows nothing of each row's name, given the evidence.

        Objects of the evidence may have several names. With the preset "paper" the evidence is ignored.

        Returns:
            Probabilities [rows of the object table].
        """
        absent = np.ones(len(self.object_table.names))
        if self.params.preset == "paper":
            return absent
        for known in evidence.objects if evidence else ():
            for name in (known.label,) if known.label else known.names:
                absent[self.object_table.match_confusable(name)] = 0
        present = self.presence.estimate_probabilities(get_known_names(evidence))
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
        """Sample an object to replace `name`, or return None if none fits.

        Args:
            is_plural: Whether the sentence uses the plural.
            numbers: Grammatical numbers that the sentence can take.
            must_be_category: Whether the replacement must (True) or must not (False) be a category; None for either.
            absence_probabilities: How probably the image shows nothing of each row's name.
            uniforms: Two random numbers in [0, 1).
            may_keep: Whether `name` itself may be sampled, so that it stays, if this helps to balance the words.
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
        chosen = self._sample_index(kind, table.row_by_name.get(name, -1), rows, weight[rows], uniforms[1])
        return None if chosen is None else table.names[rows[chosen]]

    @lru_cache(maxsize=1 << 12)
    def _weigh_objects(
        self,
        name: str,
        numbers: frozenset[GrammaticalNumber],
        category: bool | None,
        demanded: ObjectConstraints,
    ) -> np.ndarray:
        """Weight each row by its frequency and plausibility; 0 for names that may denote the same object."""
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
        """List other attributes that an object of this name may have in place of one.

        With the preset "paper", these are all others that the vocabulary knows of such objects.

        Args:
            name: Name of the object.
            value: The attribute to replace.
            type_: Type of the attribute; "" for one that only has listed alternatives (open, closed).
            conflicting: Attributes that the replacement must not resemble: other options, and what such objects have in the image.
            before_noun: Whether it has to stand before the noun, as "taking an image" cannot.
            same_type_excludes: Whether any attribute of the same type excludes it; otherwise only known opposites do.
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
        """List the spatial relations or positions that exclude one, weighted by frequency and plausibility.

        Args:
            subject, object_: Names of the related objects; "" if unknown.
            query_only: Whether the relation belongs to what is asked for. A relation in which something is always found is then skipped.
        """
        others = [
            other
            for other in get_excluded_relations(word)
            if not (query_only and extract_spatial_relation(other) in DIRECTIONAL_RELATIONS)
        ]
        fits = {other: self.plausibility.score_relation(subject, other, object_) for other in others}
        # Every object has both a left and a right side.
        if word in LEFT_RIGHT_RELATIONS and not query_only:
            fits[get_excluded_relations(word)[0]] = 1.0
        weights = {
            other: (self._spatial_counts[extract_spatial_relation(other)] + 0.5) * fit
            for other, fit in fits.items()
        }
        return self._make_options("relation", weights)

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
        """Sample an attribute or a relation, or return None if there are no options.

        Args:
            may_keep: Whether `removed_word` itself may be sampled, if this helps to balance the words.
        """
        words, numbers, weights = options
        number = self.index_by_word[word_context[0]].get(removed_word, -1)
        if may_keep and self._is_balancing_words and words:
            words, numbers = [*words, removed_word], np.append(numbers, max(number, 0))
            weights = np.append(weights, KEEP_WEIGHT * weights.sum())
        chosen = self._sample_index(word_context, number, numbers, weights, uniform)
        return None if chosen is None else words[chosen]

    def sample_from_weights(
        self, word_context: WordContext, removed_word: str, weights: Mapping[str, float], uniform: float
    ) -> str | None:
        """Sample one of a few words by their weights, or return None if no weight is positive."""
        return self.sample_word(
            word_context, removed_word, self._make_options(word_context[0], weights), uniform
        )

    def _sample_index(
        self, kind: WordContext, taken: int, words: np.ndarray, weights: np.ndarray, random: float
    ) -> int | None:
        """Sample one of the words [n], given by their indices, with weights [n] > 0.

        Returns:
            The position among the words, or None if there are none.
        """
        if not len(words):
            return None
        if self.recorded_slots is not None:
            probabilities = (weights / weights.sum()).astype(np.float32)
            self.recorded_slots.append(SlotOptions(kind, taken, words.astype(np.int32), probabilities))
        factors = self.word_factors.get(kind, self.word_factors.get((kind[0], "")))
        total = np.cumsum(weights if factors is None else weights * factors[words])
        return int(np.searchsorted(total, random * total[-1], side="right"))

    @cache
    def _weigh_attributes(self, name: str, value: str, type_: str, of_type: bool) -> WordOptions:
        """Weight attributes that exclude `value`, and all of its type if `of_type`.

        The weight is the frequency, times the plausibility, times the probability that an image with such objects shows none with the attribute.
        """
        vocabulary, seen = self.vocabulary, self.vocabulary.attributes
        if self.params.preset == "paper":
            called = {name, lemmatize(name), *vocabulary.categories.get(name, ())} & vocabulary.objects.keys()
            known = {attribute for one in called for attribute in vocabulary.objects[one].attributes}
            return self._make_options("attribute", dict.fromkeys(sorted(known - {value}), 1.0))
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
            if not is_similar_attribute(word, value) and not (type_ == "color" and is_vague_attribute(word))
        }
        return self._make_options("attribute", weights)

    def _make_options(self, sort: str, weights: Mapping[str, float]) -> WordOptions:
        """Return the words with a positive weight."""
        words = [word for word, weight in weights.items() if weight]
        numbers = [self.index_by_word[sort].get(word, 0) for word in words]
        return WordOptions(words, np.array(numbers, int), np.array([weights[word] for word in words], float))


def _count_spatial_relations(counts: Mapping[str, int]) -> Counter[str]:
    """Count the relations that have an opposite, without their verbs."""
    spatial_counts: Counter[str] = Counter()
    for relation, count in counts.items():
        if get_excluded_relations(relation):
            spatial_counts[extract_spatial_relation(canonicalize_relation(relation))] += count
    return spatial_counts


def _describe_constraints(demanded: ObjectConstraints) -> str:
    """Summarize what a question says of an object. Slots with the same summary share the factors of their words."""
    related = (f"{canonicalize_relation(relation)} {role}" for relation, role, _ in demanded.relations)
    return ", ".join(sorted({*related, *demanded.types, *("attribute" for _ in demanded.attributes)}))
