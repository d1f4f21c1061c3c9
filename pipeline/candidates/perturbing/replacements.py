"""Sample replacements for objects, attributes and relations, weighted by frequency and plausibility.

A replacement that no image could show ("the wall holding the sky") would reveal the answer without the image.
So the weight of a word is its frequency, times how well the word fits the rest of the question
(`plausibility`). Implausible words are never sampled. Over all questions, each word is inserted about as
often as it is removed (`raking`).

A *slot* is a place of the question with a word that may be replaced.
"""

# ruff: noqa: B019 - samplers live as long as the process, and so do their cached results.

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline.candidates.perturbing.image_mentions import ImageMentions
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

# If another slot of the question is edited, the word of a slot may also be kept. The weight of the kept word
# is this proportion of the total weight of its replacements.
KEEP_WEIGHT = 0.2
# Objects that an image shows with a higher probability are never inserted. In an image of a person, for
# example, shoes have the probability 0.6.
MAX_PRESENCE_PROBABILITY = 0.58
# Phrases that ask for the name of an object: "WHO is ...?", "WHICH KIND OF animal is ...?".
NAME_QUESTION_PHRASES = (
    "who",
    *(f"{what}{of}" for what in ("what", "which") for of in ("", " kind of", " type of", " sort of")),
)

NO_MENTIONS = ImageMentions()


class WordOptions(NamedTuple):
    """Words that may be sampled.

    Attributes:
        words: The words, [n].
        word_indices: Indices [n] of the words in the list of all words of the same type (object, attribute,
            ...).
        weights: Weights [n] > 0.
    """

    words: Sequence[str]
    word_indices: np.ndarray
    weights: np.ndarray


class PerturbParams(Params):
    """Parameters of the stage perturb.

    Attributes:
        seed: Seed of all random choices.
        preset: "presuppositions" edits only words that a question presupposes, and inserts plausible words.
            "paper" follows RGQA (section 3.1): any noun or adjective may be replaced by any other, whatever
            the question asks for.
        balance_words: Whether to weight replacements so that every word is inserted about as often as it is
            removed (`pipeline/candidates/perturbing/raking.py`). Otherwise a text-only model can detect
            edits.
        same_category_rate: Probability (0 to 1) of replacing an object by an object of its own category, if
            such an object fits.
        max_query_only_proportion: Maximum proportion (0 to 1) of a subset's candidates that are query-only.
            All edits of a query-only candidate concern only what the question asks for, so "nothing" or
            "nobody" may be a true answer (`pipeline/language/presuppositions.py`). Candidates beyond the
            maximum are not made. 1 means no limit.
    """

    removed: ClassVar[Mapping[str, str]] = {"alternatives": "this parameter was removed; delete the line"}

    seed: Seed = 1
    preset: Literal["presuppositions", "paper"] = "presuppositions"
    balance_words: bool = True
    same_category_rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    max_query_only_proportion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


class ReplacementSampler:
    """Samples replacements from a vocabulary.

    With the preset "paper", all objects and all attributes of an object are equally likely.

    Attributes:
        object_table: The objects of the vocabulary.
        plausibility: The model that scores how well a word fits a question.
        presence: The model that estimates which objects an image shows.
        vocabulary: The vocabulary.
        params: The parameters of the stage perturb.
        word_factors: Factors of the weights, fitted to recorded slots by `raking.fit_word_factors`.
        recorded_slots: A list to which the options of each slot are appended while factors are fitted.
            Otherwise None.
        index_by_word: Type of word -> word -> index of the word. Index 0 (the word "") stands for all words
            without an index of their own.
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
        words_by_type = {
            "attribute": attributes,
            "relation": relations,
            "negation": {"not"},
            "name_question": NAME_QUESTION_PHRASES,
            "zone": zones,
        }
        for word_type, words in words_by_type.items():
            self.index_by_word[word_type] = {word: index for index, word in enumerate(["", *sorted(words)])}
        self._spatial_counts = _count_spatial_relations(vocabulary.presupposed_properties)

    def estimate_absence(
        self, evidence: Evidence | None, mentions: ImageMentions = NO_MENTIONS
    ) -> np.ndarray:
        """Estimate for each name of the object table the probability that the image shows no such object.

        Names that may denote an object of the evidence have the probability 0. With the preset "paper" the
        evidence is ignored, and all probabilities are 1.

        Args:
            evidence: The evidence about the image, or None if there is none.
            mentions: What the plain questions of the image mention.

        Returns:
            Probabilities, float [rows of the object table].
        """
        absent = np.ones(len(self.object_table.names))
        if self.params.preset == "paper":
            return absent
        objects = evidence.objects if evidence else ()
        names = {name for obj in objects for name in ((obj.label,) if obj.label else obj.names)}
        for name in sorted(names):
            members = self.vocabulary.categories.get(name, ())
            # In plain questions, "the animal" is the cat of another question.
            is_resolved = mentions.texts and not names.isdisjoint(members)
            matches = self.object_table.match_similar if is_resolved else self.object_table.match_confusable
            absent[matches(name)] = 0
        for name in sorted(mentions.find_names(self.object_table.row_by_name)):
            absent[self.object_table.match_similar(name)] = 0
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
            name: The name of the object to replace.
            is_plural: Whether the sentence uses the plural of `name`.
            numbers: Grammatical numbers that the replacement may have.
            must_be_category: Whether the replacement must be (True) or must not be (False) the name of a
                category, such as "furniture". None allows both.
            constraints: What the question says about the object.
            absence_probabilities: For each row of the object table the probability that the image shows no
                such object.
            uniforms: Two random numbers in [0, 1).
            may_keep: Whether `name` may be kept. It may be kept only if `balance_words` is on.
        """
        table = self.object_table
        weight = absence_probabilities * self._weigh_objects(name, numbers, must_be_category, constraints)
        sibling_weight = (
            weight * table.match_siblings(name) if uniforms[0] < self.params.same_category_rate else weight
        )
        weight = sibling_weight if sibling_weight.any() else weight
        if may_keep and self._is_balancing_words and name in table.row_by_name:
            weight = weight.copy()
            weight[table.row_by_name[name]] = KEEP_WEIGHT * weight.sum()
        return self.sample_weighted_object(name, is_plural, constraints, weight, uniforms[1])

    def sample_weighted_object(
        self, name: str, is_plural: bool, constraints: ObjectConstraints, weight: np.ndarray, uniform: float
    ) -> str | None:
        """Sample an object by the weights [rows of the object table], or return None if no weight is positive.

        The other arguments are as in `sample_object`.
        """
        table, rows = self.object_table, np.flatnonzero(weight)
        word_context = "objects" if is_plural else "object", _describe_constraints(constraints)
        removed_index = table.row_by_name.get(name, -1)
        position = self._sample_index(word_context, removed_index, rows, weight[rows], uniform)
        return None if position is None else table.names[rows[position]]

    @lru_cache(maxsize=1 << 12)
    def _weigh_objects(
        self,
        name: str,
        numbers: frozenset[GrammaticalNumber],
        must_be_category: bool | None,
        constraints: ObjectConstraints,
    ) -> np.ndarray:
        """Weight each row of the object table by its frequency and plausibility.

        Other possible names of an object called `name` get the weight 0.
        """
        table = self.object_table
        weight = (table.match_number(numbers, must_be_category) & ~table.match_confusable(name)).astype(float)
        if self.params.preset != "paper":
            weight *= table.sampling_weights * self.plausibility.score_objects(constraints)
            weight *= self.plausibility.match_unknown_facts(name, constraints)
        return weight * table.match_siblings(name) if constraints.same_category else weight

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
        """List the attributes that may replace an attribute of an object.

        With the preset "paper", these are all other attributes that the vocabulary lists for objects of the
        name.

        Args:
            name: Name of the object.
            value: The attribute to replace.
            type_: Type of the attribute. "" if the type is not known. Then only the listed alternatives of
                the attribute are options (for example, "closed" replaces "open").
            conflicting: Attributes that a replacement must not resemble, such as other attributes in the
                question and attributes of objects of the name in the image.
            before_noun: Whether the attribute stands before the noun. Phrases such as "taking a picture" are
                then left out.
            same_type_excludes: Whether an object has only one attribute of this type. If so, all other
                attributes of the type are options. Otherwise only known opposites are options.
        """
        options = self._weigh_attributes(name, value, type_, same_type_excludes)
        if self.params.preset == "paper":
            return options
        fitting = [
            index
            for index, word in enumerate(options.words)
            if not any(is_similar_attribute(word, other) for other in conflicting)
            and not (before_noun and "ing " in word)
        ]
        return WordOptions(
            [options.words[index] for index in fitting],
            options.word_indices[fitting],
            options.weights[fitting],
        )

    @cache
    def list_relations(self, word: str, subject: str, object_: str, query_only: bool) -> WordOptions:
        """List the spatial relations (or positions) that cannot hold together with a relation (or position).

        The options are weighted by frequency and plausibility.

        Args:
            word: The relation or position to replace.
            subject, object_: Names of the related objects, or "" if a name is not known.
            query_only: Whether the relation belongs to what the question asks for. Relations such as "left
                of" and "in front of" are then left out, because something is always there.
        """
        others = [
            other
            for other in get_excluded_relations(word)
            if not (query_only and extract_spatial_relation(other) in DIRECTIONAL_RELATIONS)
        ]
        fits = {other: self.plausibility.score_relation(subject, other, object_) for other in others}
        # The opposite of left or right always fits, whatever the plausibility model says, because every
        # object has both a left and a right side.
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
            word_context: Type of the word, and its context in the question ("" for any context).
            removed_word: The word to replace.
            options: The possible replacements.
            uniform: A random number in [0, 1).
            may_keep: Whether `removed_word` may be kept. It may be kept only if `balance_words` is on.
        """
        words, word_indices, weights = options
        removed_index = self.index_by_word[word_context[0]].get(removed_word, -1)
        if may_keep and self._is_balancing_words and words:
            words, word_indices = [*words, removed_word], np.append(word_indices, max(removed_index, 0))
            weights = np.append(weights, KEEP_WEIGHT * weights.sum())
        position = self._sample_index(word_context, removed_index, word_indices, weights, uniform)
        return None if position is None else words[position]

    def sample_from_weights(
        self, word_context: WordContext, removed_word: str, weights: Mapping[str, float], uniform: float
    ) -> str | None:
        """Sample one of a few words by their weights, or return None if no weight is positive."""
        return self.sample_word(
            word_context, removed_word, self._make_options(word_context[0], weights), uniform
        )

    def _sample_index(
        self,
        word_context: WordContext,
        removed_index: int,
        word_indices: np.ndarray,
        weights: np.ndarray,
        uniform: float,
    ) -> int | None:
        """Sample one of several words.

        Args:
            word_context: Type of the words, and their context in the question.
            removed_index: Index of the word to replace, or -1 if it has no index.
            word_indices: Indices [n] of the words.
            weights: Weights [n] > 0 of the words.
            uniform: A random number in [0, 1).

        Returns:
            The position of the sampled word in `word_indices`, or None if there are no words.
        """
        if not len(word_indices):
            return None
        if self.recorded_slots is not None:
            probabilities = (weights / weights.sum()).astype(np.float32)
            self.recorded_slots.append(
                SlotOptions(word_context, removed_index, word_indices.astype(np.int32), probabilities)
            )
        factors = self.word_factors.get(word_context, self.word_factors.get((word_context[0], "")))
        total = np.cumsum(weights if factors is None else weights * factors[word_indices])
        return int(np.searchsorted(total, uniform * total[-1], side="right"))

    @cache
    def _weigh_attributes(self, name: str, value: str, type_: str, same_type_excludes: bool) -> WordOptions:
        """Weight the attributes that cannot hold together with `value`.

        If `same_type_excludes`, these include all other attributes of the type. The weight is the frequency,
        times the plausibility, times the probability that an image with objects of the name shows none with
        the attribute.
        """
        vocabulary, counts = self.vocabulary, self.vocabulary.attributes
        if self.params.preset == "paper":
            object_names = {name, lemmatize(name), *vocabulary.categories.get(name, ())}
            known = {
                attribute
                for object_name in object_names & vocabulary.objects.keys()
                for attribute in vocabulary.objects[object_name].attributes
            }
            return self._make_options("attribute", dict.fromkeys(sorted(known - {value}), 1.0))
        types, choices = vocabulary.attribute_types, vocabulary.attribute_alternatives.get(value, ())
        words = (
            [w for w in self.index_by_word["attribute"] if types.get(w) == type_ or w in choices]
            if same_type_excludes
            else []
        )
        words += [
            word for word in get_excluded_attributes(value) if types.get(word, type_) == type_
        ] or get_excluded_attributes(value)
        weights = {
            word: (counts.get(word, 0) + 0.5)
            * self.plausibility.score_attribute(name, word, type_)
            * (1 - self.presence.estimate_attribute_presence(word, name))
            for word in words
            if not is_similar_attribute(word, value) and not (type_ == "color" and is_vague_attribute(word))
        }
        return self._make_options("attribute", weights)

    def _make_options(self, word_type: str, weights: Mapping[str, float]) -> WordOptions:
        """Return the words of a type that have a positive weight."""
        words = [word for word, weight in weights.items() if weight]
        indices = [self.index_by_word[word_type].get(word, 0) for word in words]
        return WordOptions(words, np.array(indices, int), np.array([weights[word] for word in words], float))


def _count_spatial_relations(counts: Mapping[str, int]) -> Counter[str]:
    """Count the relations that have an opposite, under their preposition ("sitting on" counts as "on")."""
    spatial_counts: Counter[str] = Counter()
    for relation, count in counts.items():
        if get_excluded_relations(relation):
            spatial_counts[extract_spatial_relation(canonicalize_relation(relation))] += count
    return spatial_counts


def _describe_constraints(constraints: ObjectConstraints) -> str:
    """Summarize what a question says about an object.

    Slots with the same summary share the factors of their words.
    """
    related = (f"{canonicalize_relation(relation)} {role}" for relation, role, _ in constraints.relations)
    return ", ".join(sorted({*related, *constraints.types, *("attribute" for _ in constraints.attributes)}))
