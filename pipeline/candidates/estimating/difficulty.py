"""Classify how difficult it is to notice that something a candidate presupposes is missing.

The classes are the three settings of POPE (Li et al. 2023, section 4.1). POPE asks for objects that often
occur together with the shown objects (adversarial), for objects that are frequent in the data (popular), or
for any objects (random). Here the classes cover objects, attributes and relations. An object is adversarial
if the objects known to be shown make it more probable than in other images. An attribute is adversarial if
objects of the same name have it more often than other objects. A relation is adversarial if objects of the
same names are in this relation more often than other objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.candidates.estimating.answerability import ClaimProbability
from pipeline.candidates.estimating.claims import Claim, ClaimEstimator
from pipeline.core.records import Candidate, Difficulty, Vocabulary
from pipeline.language.nouns import lemmatize

# A claim is adversarial if the image (or the names of the objects) multiplies its odds at least by this
# factor.
MIN_ADVERSARIAL_ODDS_RATIO = 1.5
# The most frequent words that together make up this proportion of all counts are popular.
POPULAR_PROPORTION = 0.5
DIFFICULTY_ORDER: tuple[Difficulty, ...] = ("random", "popular", "adversarial")


class DifficultyClassifier:
    """Classifies the difficulty of candidates by the counts of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, claim_estimator: ClaimEstimator) -> None:
        self._claim_estimator, cooccurrence = claim_estimator, vocabulary.cooccurrence
        types = vocabulary.attribute_types
        objects = {name: cooccurrence.image_counts.get(name, 0) for name in vocabulary.objects}
        self._popular_words = {
            ("object", ""): _find_popular_words(objects, cooccurrence.image_counts),
            ("relation", ""): _find_popular_words(vocabulary.relations, vocabulary.relations),
        }
        for type_ in sorted({types.get(word, "") for word in vocabulary.attributes}):
            counts = {word: n for word, n in vocabulary.attributes.items() if types.get(word, "") == type_}
            self._popular_words["attribute", type_] = _find_popular_words(counts, counts)
        self._types = types

    def __call__(
        self, candidate: Candidate, found: Sequence[ClaimProbability], known: frozenset[str]
    ) -> Difficulty:
        """Return the difficulty of a candidate.

        The difficulty of an edited question is that of its easiest inserted claim, because one missing object
        is enough. The difficulty of any other question is that of the claim with the lowest probability.

        Args:
            candidate: The candidate.
            found: The candidate's claims with their probabilities.
            known: Names of objects that the image is known to show.
        """
        edits = {(edit.step_index, edit.kind) for edit in candidate.edits}
        decisive = [claim for claim, _ in found if (claim.step, claim.kind) in edits]
        if not decisive and found:
            decisive = [min(found, key=lambda row: row.probability).claim]
        difficulties = {self.classify_claim(claim, known) for claim in decisive}
        return DIFFICULTY_ORDER[min(map(DIFFICULTY_ORDER.index, difficulties), default=0)]

    def classify_claim(self, claim: Claim, known_names: frozenset[str]) -> Difficulty:
        """Return the difficulty of one claim.

        Args:
            claim: The claim.
            known_names: Names of objects that the image is known to show.
        """
        presence, base_rate = self._claim_estimator.presence, self._claim_estimator.base_rate
        if claim.kind == "object":
            here, anywhere = (
                presence.estimate_probability(claim.name, known_names),
                presence.estimate_probability(claim.name, ()),
            )
        else:
            here, anywhere = base_rate(claim), base_rate(claim._replace(name="_", other_name="_"))
        if here / (1 - here) >= MIN_ADVERSARIAL_ODDS_RATIO * anywhere / (1 - anywhere):
            return "adversarial"
        words = (lemmatize(claim.name),) if claim.kind == "object" else claim.words
        type_ = self._types.get(words[0], "") if claim.kind == "attribute" else ""
        popular = self._popular_words.get((claim.kind, type_), frozenset())
        return "random" if popular.isdisjoint(words) else "popular"


def _find_popular_words(counts: Mapping[str, int], candidate_counts: Mapping[str, int]) -> frozenset[str]:
    """Return the popular words.

    The most frequent words of `counts` that together make up POPULAR_PROPORTION of all counts determine a
    minimum count. The words of `candidate_counts` with at least this count are popular.
    """
    total, needed = 0, POPULAR_PROPORTION * sum(counts.values())
    for count in sorted(counts.values(), reverse=True):
        total += count
        if total >= needed:
            return frozenset(word for word, n in candidate_counts.items() if n >= max(count, 1))
    return frozenset()
