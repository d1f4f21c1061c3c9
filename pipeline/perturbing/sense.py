"""What makes sense where a thing is named, whatever the vocabulary has seen: an owner of parts, one thing worn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.core.records import Vocabulary
from pipeline.perturbing.alignment import root
from pipeline.perturbing.demands import Demands
from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.sentence import Sentence
from pipeline.perturbing.slots import Slot
from pipeline.programs.operations import Operation
from pipeline.words.nouns import PAIRED, article, number_of, plural, singular

_OF_PEOPLE = frozenset(("race", "gender"))
_KINDS_COMPARED = frozenset(("species", "breed", "breeds"))  # "of the same species": said of living things


def wants_kin(sentence: Sentence, program: Sequence[Operation], slot: Slot) -> bool:
    """Whether only something of the same kind makes sense: it owns a part ("the girl's hair", "the man shirt"), it is
    one of those that are compared (in kind, in age), or has a look that people have ("Asian")."""
    after = slot.span.last
    owner = sentence.tokens[after : after + 1] == ("'s",)
    owner = owner or any(span.first == after for span in sentence.names.values())
    looks = (o for o in program if o.type in _OF_PEOPLE and o.inputs)
    human = any(root(program, look.inputs[0]) == slot.step for look in looks)
    ranked = program[-1].verb == "compare"
    return owner or human or ranked or not _KINDS_COMPARED.isdisjoint(sentence.tokens)


def has_size(demanded: Demands, vocabulary: Vocabulary) -> bool:
    """Whether a size is said of a thing."""
    said = (attribute for group in demanded.attributes for attribute in group)
    return any(vocabulary.attribute_types.get(attribute) == "size" for attribute in said)


def one_worn(swap: Swap, sentence: Sentence) -> Swap:
    """The swap with a single thing where "wearing shoes" would become "wearing helmets"."""
    slot, one = swap.slot, singular(swap.new)
    worn = sentence.before(slot.start) in ("wearing", "wears", "wear")
    goes_on = sentence.tokens[slot.span.last : slot.span.last + 1] in (("that",), ("which",))
    if not worn or goes_on or one in PAIRED or number_of(one) != "singular" or swap.text != plural(one):
        return swap
    return replace(swap, text=f"{article(one)} {one}" if slot.start == slot.span.first else one)


def says_who(sentence: Sentence, slot: Slot) -> bool:
    """Whether the slot is the word that asks: "WHO is standing?" becomes "WHICH ANIMAL is standing?"."""
    return sentence.tokens[slot.span.first] == "who"
