"""How hard it is to see that what a candidate lacks is missing: the three settings of POPE (Li et al. 2023, section 4.1) for
objects, attributes and relations alike.

POPE asks for objects that go with what the image shows (adversarial), that are common in the data (popular), or for any
(random). So here: a claim is adversarial if what the image is known to show makes it likelier than it is elsewhere, an
attribute if such things have it more often than others, a relation if such things are in it more often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.candidates.estimating.answerability import ClaimProbability
from pipeline.candidates.estimating.claims import Claim, ClaimEstimator
from pipeline.core.records import Candidate, Difficulty, Vocabulary
from pipeline.language.nouns import lemmatize

# From so many times the odds on, a claim goes with what the image shows.
MIN_ADVERSARIAL_ODDS_RATIO = 1.5
# The commonest words that are together this share of all that is counted are popular.
POPULAR_PROPORTION = 0.5
DIFFICULTY_ORDER: tuple[Difficulty, ...] = ("random", "popular", "adversarial")


class DifficultyClassifier:
    """Difficulties of candidates, by a vocabulary's counts."""

    def __init__(self, vocabulary: Vocabulary, claim_estimator: ClaimEstimator) -> None:
        self._claim_estimator, shown = claim_estimator, vocabulary.cooccurrence
        types = vocabulary.attribute_types
        objects = {name: shown.image_counts.get(name, 0) for name in vocabulary.objects}
        self._popular_words = {
            ("object", ""): _find_popular_words(objects, shown.image_counts),
            ("relation", ""): _find_popular_words(vocabulary.relations, vocabulary.relations),
        }
        for type_ in sorted({types.get(word, "") for word in vocabulary.attributes}):
            counts = {word: n for word, n in vocabulary.attributes.items() if types.get(word, "") == type_}
            self._popular_words["attribute", type_] = _find_popular_words(counts, counts)
        self._types = types

    def __call__(
        self, candidate: Candidate, found: Sequence[ClaimProbability], known: frozenset[str]
    ) -> Difficulty:
        """Of an edited question: of what was put in, the easiest of several, as one that is seen to be missing is enough. Of
        others: of what is most probably missing."""
        edits = {(edit.step_index, edit.kind) for edit in candidate.edits}
        put_in = [claim for claim, _ in found if (claim.step, claim.kind) in edits]
        if not put_in and found:
            put_in = [min(found, key=lambda one: one.probability).claim]
        said = {self.classify_claim(claim, known) for claim in put_in}
        return DIFFICULTY_ORDER[min(map(DIFFICULTY_ORDER.index, said), default=0)]

    def classify_claim(self, claim: Claim, known_names: frozenset[str]) -> Difficulty:
        """The difficulty of one claim, given the names of what the image is known to show."""
        presence, share = self._claim_estimator.presence, self._claim_estimator.base_rate
        if claim.kind == "object":
            here, anywhere = (
                presence.estimate_probability(claim.name, known_names),
                presence.estimate_probability(claim.name, ()),
            )
        else:
            here, anywhere = share(claim), share(claim._replace(name="_", other_name="_"))
        if here / (1 - here) >= MIN_ADVERSARIAL_ODDS_RATIO * anywhere / (1 - anywhere):
            return "adversarial"
        words = (lemmatize(claim.name),) if claim.kind == "object" else claim.words
        type_ = self._types.get(words[0], "") if claim.kind == "attribute" else ""
        popular = self._popular_words.get((claim.kind, type_), frozenset())
        return "random" if popular.isdisjoint(words) else "popular"


def _find_popular_words(counts: Mapping[str, int], of: Mapping[str, int]) -> frozenset[str]:
    """The words that are as common as those which together make up half of all that is counted."""
    total, wanted = 0, POPULAR_PROPORTION * sum(counts.values())
    for count in sorted(counts.values(), reverse=True):
        total += count
        if total >= wanted:
            return frozenset(word for word, n in of.items() if n >= max(count, 1))
    return frozenset()
