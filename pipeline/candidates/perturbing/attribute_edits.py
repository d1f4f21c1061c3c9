"""Another look or place in the place of one that a question takes for granted (PT-Hard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import NEVER, UNSUITED, EditCase, Slot
from pipeline.candidates.perturbing.object_edits import demands
from pipeline.candidates.perturbing.replacements import WordOptions
from pipeline.candidates.perturbing.surface_realization import Swap, after, put_look
from pipeline.language.functional_programs import ZONES, root
from pipeline.language.presuppositions import asked_step
from pipeline.language.relations import plain_relation, spatial

_PREPOSITION = {"hposition": "on", "vposition": "at"}
_CONTRACTED: dict[tuple[str, ...], str] = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NOT = ("not", "")
# Before words are evened out: weight of "not" where one says none, and of the middle beside the other edge. Few say either.
DENIED, ENTERED = 0.02, 0.05
# Of what is on a side, as another one is often on the other: the share that comes to the middle, evened out or not.
SIDE_ENTERED = 0.5
_NEVER_DENIED = NEVER | {"gender", "size"}


def other_relation(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a spatial relation or position for one that excludes it."""
    program = after(case.program, earlier)
    operation, related = program[slot.step], ("", "")
    if operation.verb == "relate":  # names of what it relates; "" for what the question asks for
        related = operation.name.strip("_"), program[root(program, operation.inputs[0])].name
    subject, object_ = related if operation.subject else related[::-1]
    # Of what has a general name ("the piece of furniture") there are often several.
    weak = slot.weak or slot.of == asked_step(program)
    options = case.replacements.relations(slot.word, subject, object_, weak)
    # "The man ON the bench is sitting on what?"
    said = {_preposition(other) for other, role, _ in demands(program, slot.of).relations if role == "s"}
    fits = [number for number, word in enumerate(options.words) if _preposition(word) not in said]
    options = WordOptions([options.words[i] for i in fits], options.numbers[fits], options.weights[fits])
    new = case.replacements.word(("relation", object_), slot.word, options, random[0], may_stay)
    return None if new is None or new == slot.word else Swap(slot, new, spatial(new))


def _preposition(relation: str) -> str:
    return plain_relation(spatial(relation))


def other_look(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of an attribute for another of the same type, which neither the question nor the evidence has of the
    thing."""
    program, vocabulary = case.program, case.replacements.vocabulary
    described = (thing for thing in case.premises.things if thing.start <= slot.span.first < thing.span.last)
    name = program[slot.of].name if slot.of >= 0 else next(described).word
    noun = case.sentence.names.get(slot.of)
    related = demands(program, slot.of).relations if slot.word.endswith("ing") else ()
    if any(relation.startswith(f"{slot.word} ") for relation, role, _ in related if role == "s"):
        return None  # "What is the SITTING man sitting on?"
    held = [swap.new for swap in earlier]
    held += [look.word for look in case.premises.looks if look.of == slot.of and look is not slot]
    if case.facts:
        held += [attribute for thing in case.facts.named(name).sure for attribute in thing.attributes]
    type_ = slot.type or vocabulary.attribute_types.get(slot.word, "")
    before_noun = noun is not None and slot.span.last <= noun.first
    of_type = type_ not in UNSUITED
    options = case.replacements.looks(name, slot.word, type_, frozenset(held), before_noun, of_type)
    new = case.replacements.word(("look", type_), slot.word, options, random[0], may_stay)
    return None if new is None or new == slot.word else put_look(slot, new, case.sentence, random[0])


def leave_or_enter_the_middle(case: EditCase) -> list[Swap]:
    """The swaps of a middle that the question takes for granted for one of the edges, and of an edge for the middle; of top
    and bottom as many over all questions."""
    sentence, swaps, random = case.sentence, [], case.random[-1][-1]
    for slot in case.premises.relations:
        if slot.type not in ZONES or slot.denied:
            continue
        first_edge, middle, last_edge = ZONES[slot.type]
        first, following = slot.span.first, sentence.tokens[slot.span.last : slot.span.last + 1]
        said = _PREPOSITION[slot.type], "the"
        if slot.word == middle:
            weights = {first_edge: 1.0, last_edge: 1.0}
            # "in the left PART", and GQA says "in the top OF the photo".
            goes_on = following in (("part",), ("side",), *[("of",)] * (slot.type == "vposition"))
            inside = sentence.tokens[first - 2 : first] == ("in", "the") and not goes_on
            changes = ((first - 2, said[0]),) if inside else ()
        elif sentence.tokens[max(first - 2, 0) : first] in (said, ("in", "the")):
            if following == ("side",):
                slot = replace(slot, span=sentence.span(first, slot.span.last + 1))
            other_edge = first_edge if slot.word == last_edge else last_edge
            entered = slot.type == "hposition" and random < SIDE_ENTERED
            weights = {middle: 1.0} if entered else {other_edge: 1.0, middle: ENTERED}
            changes = ((first - 2, "in"),)
        else:
            continue
        new = case.replacements.either(("zone", slot.type), slot.word, weights, random) or ""
        swaps += [Swap(slot, new, new, changes)] if middle in (new, slot.word) else []
    return swaps


def affirm_or_deny(case: EditCase) -> list[Swap]:
    """The swaps that take a "not" away, and of those that put one in some, so that there are as many over all questions."""
    swaps, replacements = affirm(case), case.replacements
    for _ in swaps:
        replacements.either(_NOT, "not", {"": 1.0}, 0.0)
    for swap, (random, _) in zip(deny(case), reversed(case.random), strict=False):
        swaps += [swap] if replacements.either(_NOT, "", {"": 1.0, "not": DENIED}, random) == "not" else []
    return swaps


def affirm(case: EditCase) -> list[Swap]:
    """The swaps that take the "not" from what a question takes for granted."""
    sentence, swaps = case.sentence, []
    for slot in case.premises.looks:
        first, value = slot.span.first, sentence.said(slot.span)
        verb = _CONTRACTED.get(sentence.tokens[max(first - 3, 0) : first])
        if slot.denied and slot.type not in NEVER and (verb or sentence.before(first) == "not"):
            first, text = (first - 3, f"{verb} {value}") if verb else (first - 1, value)
            swaps.append(Swap(replace(slot, span=sentence.span(first, slot.span.last)), slot.word, text))
    return swaps


def deny(case: EditCase) -> list[Swap]:
    """The swaps that put "not" before what a question takes for granted, where it stands after "is" or "are"; but not of
    what is asked for: "What clothing is not hanging?" has an answer nearly everywhere."""
    sentence, swaps = case.sentence, []
    for slot in case.premises.looks:
        stated = slot.span.first >= 2 and sentence.before(slot.span.first) in ("is", "are")
        asked = slot.of == asked_step(case.program)  # "The clothing item that is not blue"
        if stated and not (slot.weak or slot.denied or asked) and slot.type not in _NEVER_DENIED:
            swaps.append(Swap(slot, f"not({slot.word})", f"not {sentence.said(slot.span)}"))
    return swaps
