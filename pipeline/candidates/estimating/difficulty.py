"""How hard it is to see that what a candidate lacks is missing: the three settings of POPE (Li et al. 2023, section 4.1) for
objects, attributes and relations alike.

POPE asks for objects that go with what the picture shows (adversarial), that are common in the data (popular), or for any
(random). So here: a claim is adversarial if what the picture is known to show makes it likelier than it is elsewhere, an
attribute if such things have it more often than others, a relation if such things are in it more often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.candidates.estimating.answerability import Probable
from pipeline.candidates.estimating.claims import Beliefs, Claim
from pipeline.core.records import Candidate, Difficulty, Vocabulary
from pipeline.language.nouns import lemma

# From so many times the odds on, a claim goes with what the picture shows.
GOES_WITH = 1.5
# The commonest words that are together this share of all that is counted are popular.
POPULAR = 0.5
ORDER: tuple[Difficulty, ...] = ("random", "popular", "adversarial")


class Difficulties:
    """Difficulties of candidates, by a vocabulary's counts."""

    def __init__(self, vocabulary: Vocabulary, beliefs: Beliefs) -> None:
        self._beliefs, shown = beliefs, vocabulary.shown
        types = vocabulary.attribute_types
        objects = {name: shown.names.get(name, 0) for name in vocabulary.objects}
        self._popular = {
            ("object", ""): _popular(objects, shown.names),
            ("relation", ""): _popular(vocabulary.relations, vocabulary.relations),
        }
        for type_ in sorted({types.get(word, "") for word in vocabulary.attributes}):
            counts = {word: n for word, n in vocabulary.attributes.items() if types.get(word, "") == type_}
            self._popular["attribute", type_] = _popular(counts, counts)
        self._types = types

    def __call__(self, candidate: Candidate, found: Sequence[Probable], known: frozenset[str]) -> Difficulty:
        """Of an edited question: of what was put in, the easiest of several, as one that is seen to be missing is enough. Of
        others: of what is most probably missing."""
        edits = {(edit.step, edit.kind) for edit in candidate.edits}
        put_in = [claim for claim, _ in found if (claim.step, claim.kind) in edits]
        if not put_in and found:
            put_in = [min(found, key=lambda one: one.probability).claim]
        said = {self.of(claim, known) for claim in put_in}
        return ORDER[min(map(ORDER.index, said), default=0)]

    def of(self, claim: Claim, known: frozenset[str]) -> Difficulty:
        """The difficulty of one claim, given the names of what the picture is known to show."""
        presence, share = self._beliefs.presence, self._beliefs.share
        if claim.kind == "object":
            here, anywhere = presence.of(claim.name, known), presence.of(claim.name, ())
        else:
            here, anywhere = share(claim), share(claim._replace(name="_", other="_"))
        if here / (1 - here) >= GOES_WITH * anywhere / (1 - anywhere):
            return "adversarial"
        words = (lemma(claim.name),) if claim.kind == "object" else claim.words
        type_ = self._types.get(words[0], "") if claim.kind == "attribute" else ""
        popular = self._popular.get((claim.kind, type_), frozenset())
        return "random" if popular.isdisjoint(words) else "popular"


def _popular(counts: Mapping[str, int], of: Mapping[str, int]) -> frozenset[str]:
    """The words that are as common as those which together make up half of all that is counted."""
    total, wanted = 0, POPULAR * sum(counts.values())
    for count in sorted(counts.values(), reverse=True):
        total += count
        if total >= wanted:
            return frozenset(word for word, n in of.items() if n >= max(count, 1))
    return frozenset()
