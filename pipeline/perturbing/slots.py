"""What of a question may be replaced so that it asks in vain: what it fixes or asks for and what something excludes.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does
not: `pipeline/programs/premises.py` tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.judge.facts import Facts
from pipeline.perturbing.replacements import Replacements
from pipeline.programs.operations import NO_LOOK, Operation, root
from pipeline.programs.premises import Premise as Slot  # one that may be replaced
from pipeline.programs.premises import Premises
from pipeline.programs.sentence import Sentence
from pipeline.words.relations import ANTONYMS, excluded, exclusive
from pipeline.words.word_tables import PORTIONS

NEVER = NO_LOOK | {"race"}
# Of these a thing may have several values at a time; race is nothing to be judged by looks.
UNSUITED = NEVER | {"activity", "sport", "sportActivity", "other", "flavor"}

Slots = tuple[list[Slot], str]  # of a question; without any, why

NO_OBJECT = "names no object"
ASKED = "its objects are asked for, not presupposed"
ONLY_THIS = "only its own word makes sense there"
NOT_FOUND = "its objects were not found in the text"
NO_LOOK_NOR_PLACE = "says neither how its things look nor where they are"
LOOKS_ASKED = "its attributes are asked for, not presupposed"
PLACES_ASKED = "its relations are asked for, not presupposed"
LOOKS_SHARED = "its attributes are not exclusive, or not found in the text"
NO_COUNTERPART = "its relation has no counterpart"


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


def object_slots(premises: Premises, sentence: Sentence) -> Slots:
    """The things that may give way."""
    slots = [thing for thing in premises.things if not _only_this(thing, sentence)]
    others = {slot.word for slot in slots if sentence.tokens[slot.span.first] == "other"}
    # "The other man" makes no sense without the first one.
    slots = [s for s in slots if s.word not in others or sentence.tokens[s.span.first] == "other"]
    if premises.things:
        return slots, "" if slots else ONLY_THIS
    return [], NOT_FOUND if premises.missing else ASKED if "object" in premises.asserted else NO_OBJECT


def _only_this(thing: Slot, sentence: Sentence) -> bool:
    """Whether no other word makes sense: "a slice of PIZZA", "the GRASS field", "Are all the ANIMALS dogs?", and the
    thing of which the text says more than can be read."""
    span, last = thing.span, len(sentence.tokens) - 2
    portion = sentence.before(span.first) == "of" and sentence.before(span.first - 1) in PORTIONS
    compound = any(name.last == span.first for name in sentence.names.values())
    named_after = span.last == last and sentence.tag(last) in ("NN", "NNS") and not sentence.taken[last]
    return portion or compound or named_after or thing.closed


def look_slots(premises: Premises) -> list[Slot]:
    """The looks that exclude others."""
    looks = (look for look in premises.looks if not look.denied and look.type not in NEVER)
    return [look for look in looks if look.type not in UNSUITED or excluded(look.word)]


def place_slots(premises: Premises, program: Sequence[Operation]) -> list[Slot]:
    """The spatial relations and positions that exclude others."""
    return [place for place in premises.relations if not place.denied and _has_counterpart(place, program)]


def _has_counterpart(place: Slot, program: Sequence[Operation]) -> bool:
    operation = program[place.step]
    if operation.verb == "filter":
        return place.word in ANTONYMS
    # "The man to the left of the other man": there is one to the right, too.
    return bool(exclusive(place.word)) and program[root(program, operation.inputs[0])].name != operation.name


def why_nothing_to_swap(premises: Premises) -> str:
    """Why a question has neither a look nor a place that may be replaced."""
    if premises.looks:
        return LOOKS_SHARED
    if premises.relations:
        return NO_COUNTERPART
    asserted = [LOOKS_ASKED] * ("attribute" in premises.asserted) + [PLACES_ASKED] * (
        "relation" in premises.asserted
    )
    return (*asserted, NO_LOOK_NOR_PLACE)[0]
