"""Another look or place in the place of one that a question takes for granted (PT-Hard)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.records import Vocabulary
from pipeline.perturbing.edit_case import EditCase
from pipeline.perturbing.fitting import Swap, put_look, put_relation
from pipeline.perturbing.slots import UNSUITED, Slot
from pipeline.programs.operations import root
from pipeline.words.opposites import excluded


def other_relation(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a spatial relation or position for one that excludes it."""
    operation = case.program[slot.step]
    subject = object_ = ""  # names of what it relates; "" for what the question asks for
    if operation.verb == "relate":
        subject, object_ = (
            operation.name.strip("_"),
            case.program[root(case.program, operation.inputs[0])].name,
        )
        if not operation.subject:
            subject, object_ = object_, subject
    new = case.replacements.relation(slot.word, subject, object_, random[0], may_stay)
    return None if new is None or new == slot.word else put_relation(slot, new, case.sentence)


def other_look(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of an attribute for another of the same type, which neither the question nor the evidence has of the
    thing."""
    program, vocabulary = case.program, case.replacements.vocabulary
    operation = program[slot.step]
    source = root(program, operation.inputs[0])
    name, noun = program[source].name, case.sentence.names.get(source)
    held = [*(swap.new for swap in earlier), *(value for value in operation.values if value != slot.word)]
    held += [
        other.values[0]
        for other in program
        if other.verb == "filter" and other is not operation and root(program, other.inputs[0]) == source
    ]
    if case.facts:
        held += [attribute for thing in case.facts.named(name).sure for attribute in thing.attributes]
    type_ = operation.type or vocabulary.attribute_types.get(slot.word, "")
    before_noun = noun is not None and slot.span.last <= noun.first
    new = None
    if type_ not in UNSUITED:
        new = case.replacements.look(name, slot.word, type_, held, before_noun, random[0], may_stay)
    new = new or _opposite_look(slot.word, type_, held, vocabulary, random[0])
    return None if new is None or new == slot.word else put_look(slot, new, case.sentence, random[0])


def _opposite_look(
    word: str, type_: str, held: Sequence[str], vocabulary: Vocabulary, random: float
) -> str | None:
    """A look that excludes another one whatever it is said of: of the same type and known, if there is any."""
    options = [other for other in excluded(word) if other not in held]
    typed = [other for other in options if vocabulary.attribute_types.get(other, type_) == type_] or options
    options = [other for other in typed if other in vocabulary.attributes] or typed
    return options[int(random * len(options))] if options else None
