"""What of a question may be replaced so that it asks in vain: what it fixes or asks for and what something excludes.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does
not: `pipeline/language/presuppositions.py` tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.candidates.perturbing.replacements import ReplacementSampler
from pipeline.language.functional_programs import NON_ATTRIBUTE_TYPES, Operation, find_root_step
from pipeline.language.presuppositions import Presupposition, Presuppositions, find_queried_step
from pipeline.language.relations import ANTONYMS, get_excluded_attributes, get_excluded_relations
from pipeline.language.sentence import Sentence
from pipeline.language.word_lists import PARTITIVE_NOUNS
from pipeline.verifier.evidence import Evidence

NEVER_EDITED_TYPES = NON_ATTRIBUTE_TYPES | {"race"}
# Of these a thing may have several values at a time; race is nothing to be judged by looks.
MULTI_VALUED_TYPES = NEVER_EDITED_TYPES | {"activity", "sport", "sportActivity", "other", "flavor"}

SlotsAndReason = tuple[
    list[Presupposition], str
]  # of a question, and why it has no edit if nothing takes their place


@dataclass(frozen=True, slots=True)
class EditCase:
    """A question with what is known of it.

    Attributes:
        program: () if the question came without one; premises: what it says.
        facts: the evidence about its image, if any; absent: how probably it shows nothing of each row's name.
        random: two numbers in [0, 1) for each slot, more than any question has.
        may_be_weak: it may be edited in weak premises alone.
    """

    sentence: Sentence
    program: Sequence[Operation]
    presuppositions: Presuppositions
    evidence: Evidence | None
    absence_probabilities: np.ndarray
    replacements: ReplacementSampler
    uniforms: Sequence[Sequence[float]]
    may_be_query_only: bool = True


def find_object_slots(case: EditCase) -> SlotsAndReason:
    """The things that may give way."""
    premises, tokens = case.presuppositions, case.sentence.tokens
    slots = [thing for thing in premises.objects if not _is_irreplaceable(thing, case)]
    others = {slot.word for slot in slots if tokens[slot.span.first_token] == "other"}
    # "The other man" makes no sense without the first one.
    slots = [slot for slot in slots if slot.word not in others or tokens[slot.span.first_token] == "other"]
    if premises.objects:
        return slots, "no other object fits" if slots else "no other object makes sense there"
    asked = "object" in premises.asserted_kinds
    return [], "its objects are asked for, not presupposed" if asked else "names no object"


def _is_irreplaceable(thing: Presupposition, case: EditCase) -> bool:
    """Whether no other word makes sense: "a slice of PIZZA", "the GRASS field", "Are all the ANIMALS dogs?", "What ANIMAL is
    it, a cow or a sheep?", and the thing of which the text says more than can be read."""
    sentence, span, last = case.sentence, thing.span, case.sentence.num_content_tokens - 1
    portion = (
        sentence.get_previous_token(span.first_token) == "of"
        and sentence.get_previous_token(span.first_token - 1) in PARTITIVE_NOUNS
    )
    compound = any(name.end_token == span.first_token for name in sentence.name_spans.values())
    named_after = (
        span.end_token == last and sentence.get_tag(last) in ("NN", "NNS") and not sentence.is_matched(last)
    )
    has_options = thing.step == find_queried_step(case.program) and case.program[-1].verb == "choose"
    return portion or compound or named_after or has_options or thing.has_unparsed_modifiers


def find_attribute_and_relation_slots(case: EditCase) -> SlotsAndReason:
    """The looks, spatial relations and positions that exclude others."""
    said = case.presuppositions
    looks = [look for look in said.attributes if not look.is_negated and look.type not in NEVER_EDITED_TYPES]
    looks = [
        look for look in looks if look.type not in MULTI_VALUED_TYPES or get_excluded_attributes(look.word)
    ]
    places = [
        place for place in said.relations if not place.is_negated and _has_counterpart(place, case.program)
    ]
    reasons = {
        "its attributes have no other value that such objects have": looks,
        "no other relation fits": places,
        "its attributes and relations have no counterpart": said.attributes or said.relations,
        "its attributes are asked for, not presupposed": "attribute" in said.asserted_kinds,
        "its relations are asked for, not presupposed": "relation" in said.asserted_kinds,
        "names no attribute and no relation": True,
    }
    return [*looks, *places], next(reason for reason, holds in reasons.items() if holds)


def _has_counterpart(place: Presupposition, program: Sequence[Operation]) -> bool:
    operation = program[place.step]
    if operation.verb == "filter":
        return place.word in ANTONYMS
    # "The man to the left of the other man": there is one to the right, too.
    return (
        bool(get_excluded_relations(place.word))
        and program[find_root_step(program, operation.inputs[0])].name != operation.name
    )
