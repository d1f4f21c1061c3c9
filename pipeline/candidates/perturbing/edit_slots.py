"""What of a question may be replaced so that it asks in vain: what it fixes or asks for and what something excludes.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does
not: `pipeline/language/presuppositions.py` tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.candidates.perturbing.replacements import Replacements
from pipeline.language.functional_programs import NO_LOOK, Operation, root
from pipeline.language.presuppositions import Premise as Slot
from pipeline.language.presuppositions import Premises, asked_step
from pipeline.language.relations import ANTONYMS, excluded, exclusive
from pipeline.language.sentence import Sentence
from pipeline.language.word_lists import PORTIONS
from pipeline.verifier.evidence import Facts

NEVER = NO_LOOK | {"race"}
# Of these a thing may have several values at a time; race is nothing to be judged by looks.
UNSUITED = NEVER | {"activity", "sport", "sportActivity", "other", "flavor"}

Slots = tuple[list[Slot], str]  # of a question, and why it has no edit if nothing takes their place


@dataclass(frozen=True, slots=True)
class EditCase:
    """A question with what is known of it.

    Attributes:
        program: () if the question came without one; premises: what it says.
        facts: the evidence about its picture, if any; absent: how probably it shows nothing of each row's name.
        random: two numbers in [0, 1) for each slot, more than any question has.
        may_be_weak: it may be edited in weak premises alone.
    """

    sentence: Sentence
    program: Sequence[Operation]
    premises: Premises
    facts: Facts | None
    absent: np.ndarray
    replacements: Replacements
    random: Sequence[Sequence[float]]
    may_be_weak: bool = True


def thing_slots(case: EditCase) -> Slots:
    """The things that may give way."""
    premises, tokens = case.premises, case.sentence.tokens
    slots = [thing for thing in premises.things if not _only_this(thing, case)]
    others = {slot.word for slot in slots if tokens[slot.span.first] == "other"}
    # "The other man" makes no sense without the first one.
    slots = [slot for slot in slots if slot.word not in others or tokens[slot.span.first] == "other"]
    if premises.things:
        return slots, "no other object fits" if slots else "only its own word makes sense there"
    asked = "object" in premises.asserted
    return [], "its objects are asked for, not presupposed" if asked else "names no object"


def _only_this(thing: Slot, case: EditCase) -> bool:
    """Whether no other word makes sense: "a slice of PIZZA", "the GRASS field", "Are all the ANIMALS dogs?", "What ANIMAL is
    it, a cow or a sheep?", and the thing of which the text says more than can be read."""
    sentence, span, last = case.sentence, thing.span, case.sentence.end - 1
    portion = sentence.before(span.first) == "of" and sentence.before(span.first - 1) in PORTIONS
    compound = any(name.last == span.first for name in sentence.names.values())
    named_after = span.last == last and sentence.tag(last) in ("NN", "NNS") and not sentence.is_taken(last)
    has_options = thing.step == asked_step(case.program) and case.program[-1].verb == "choose"
    return portion or compound or named_after or has_options or thing.closed


def look_and_place_slots(case: EditCase) -> Slots:
    """The looks, spatial relations and positions that exclude others."""
    said = case.premises
    looks = [look for look in said.looks if not look.denied and look.type not in NEVER]
    looks = [look for look in looks if look.type not in UNSUITED or excluded(look.word)]
    places = [place for place in said.relations if not place.denied and _has_counterpart(place, case.program)]
    reasons = {
        "its attributes have no other value that things of this name have": looks,
        "no other relation fits": places,
        "its attributes and relations have no counterpart": said.looks or said.relations,
        "its attributes are asked for, not presupposed": "attribute" in said.asserted,
        "its relations are asked for, not presupposed": "relation" in said.asserted,
        "says neither how its things look nor where they are": True,
    }
    return [*looks, *places], next(reason for reason, holds in reasons.items() if holds)


def _has_counterpart(place: Slot, program: Sequence[Operation]) -> bool:
    operation = program[place.step]
    if operation.verb == "filter":
        return place.word in ANTONYMS
    # "The man to the left of the other man": there is one to the right, too.
    return bool(exclusive(place.word)) and program[root(program, operation.inputs[0])].name != operation.name
