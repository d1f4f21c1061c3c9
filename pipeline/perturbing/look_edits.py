"""Another look or place in the place of one that a question takes for granted (PT-Hard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.core.records import Vocabulary
from pipeline.perturbing.fitting import Swap, put_look, put_relation
from pipeline.perturbing.slots import NEVER, UNSUITED, EditCase, Slot, asked_step, presupposed_filters
from pipeline.programs.operations import POSITIONS, ZONES, root
from pipeline.words.relations import excluded

_PREPOSITION = {"hposition": "on", "vposition": "at"}
_CONTRACTED: dict[tuple[str, ...], str] = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NEVER_DENIED = NEVER | POSITIONS | {"gender"}


def other_relation(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a spatial relation or position for one that excludes it."""
    operation, related = case.program[slot.step], ("", "")
    if operation.verb == "relate":  # names of what it relates; "" for what the question asks for
        other = case.program[root(case.program, operation.inputs[0])].name
        related = operation.name.strip("_"), other
    subject, object_ = related if operation.subject else related[::-1]
    options = case.replacements.relations(slot.word, subject, object_)
    new = case.replacements.word(("relation", object_), slot.word, options, random[0], may_stay)
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
        options = case.replacements.looks(name, slot.word, type_, held, before_noun)
        new = case.replacements.word(("look", type_), slot.word, options, random[0], may_stay)
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


def leave_the_middle(case: EditCase) -> list[Swap]:
    """The swaps of a middle that the question takes for granted for one of the edges."""
    sentence, swaps = case.sentence, []
    for operation, slot in presupposed_filters(case.program, sentence):
        if operation.type not in ZONES or slot.word != "middle":
            continue
        first_edge, _, last_edge = ZONES[operation.type]
        new = first_edge if case.random[-1][-1] < 0.5 else last_edge
        first, following = slot.span.first, sentence.tokens[slot.span.last : slot.span.last + 1]
        # "in the left PART", and GQA says "in the top OF the photo".
        keeps_in = following in (("part",), ("side",)) or (
            operation.type == "vposition" and following == ("of",)
        )
        said_in = sentence.tokens[first - 2 : first] == ("in", "the")
        changes = () if keeps_in or not said_in else ((first - 2, _PREPOSITION[operation.type]),)
        swaps.append(Swap(replace(slot, kind="relation"), new, new, changes))
    return swaps


def affirm(case: EditCase) -> list[Swap]:
    """The swaps that take the "not" from what a question takes for granted."""
    sentence, swaps = case.sentence, []
    for operation, slot in presupposed_filters(case.program, sentence, negated=True):
        first, value = slot.span.first, sentence.said(slot.span)
        verb = _CONTRACTED.get(sentence.tokens[max(first - 3, 0) : first])
        if operation.type not in _NEVER_DENIED and (verb or sentence.before(first) == "not"):
            first, text = (first - 3, f"{verb} {value}") if verb else (first - 1, value)
            swaps.append(Swap(replace(slot, span=sentence.span(first, slot.span.last)), slot.word, text))
    return swaps


def deny(case: EditCase) -> list[Swap]:
    """The swaps that put "not" before what a question takes for granted, where it stands after "is" or "are"; but not of
    what is asked for: "What clothing is not hanging?" has an answer nearly everywhere."""
    sentence, swaps = case.sentence, []
    for operation, slot in presupposed_filters(case.program, sentence):
        stated = slot.span.first >= 2 and sentence.before(slot.span.first) in ("is", "are")
        asked = root(case.program, slot.step) == asked_step(case.program)
        if stated and not asked and operation.type not in _NEVER_DENIED:
            swaps.append(Swap(slot, f"not({slot.word})", f"not {sentence.said(slot.span)}"))
    return swaps
