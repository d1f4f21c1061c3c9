"""Another look or place in the place of one that a question takes for granted (PT-Hard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import MULTI_VALUED_TYPES, NEVER_EDITED_TYPES, EditCase
from pipeline.candidates.perturbing.object_edits import extract_program_constraints
from pipeline.candidates.perturbing.replacements import WordOptions
from pipeline.candidates.perturbing.surface_realization import Swap, apply_swaps, swap_attribute
from pipeline.language.functional_programs import POSITION_VALUES, find_root_step
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.relations import canonicalize_relation, extract_spatial_relation

_ZONE_PREPOSITIONS = {"hposition": "on", "vposition": "at"}
_NEGATIVE_CONTRACTIONS: dict[tuple[str, ...], str] = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NEGATION_CONTEXT = ("negation", "")
# Before words are evened out: weight of "not" where one says none, and of the middle beside the other edge. Few say either.
NEGATION_WEIGHT, CENTER_WEIGHT = 0.02, 0.05
# Of what is on a side, as another one is often on the other: the share that comes to the middle, evened out or not.
SIDE_TO_CENTER_PROBABILITY = 0.5
_NEVER_NEGATED_TYPES = NEVER_EDITED_TYPES | {"gender", "size"}


def replace_relation(
    case: EditCase,
    slot: Presupposition,
    uniforms: Sequence[float],
    earlier_swaps: Sequence[Swap],
    may_keep: bool,
) -> Swap | None:
    """The swap of a spatial relation or position for one that excludes it."""
    program = apply_swaps(case.program, earlier_swaps)
    operation, related = program[slot.step], ("", "")
    if operation.verb == "relate":  # names of what it relates; "" for what the question asks for
        related = operation.name.strip("_"), program[find_root_step(program, operation.inputs[0])].name
    subject, object_ = related if operation.is_subject else related[::-1]
    # Of what has a general name ("the piece of furniture") there are often several.
    weak = slot.is_query_only or slot.object_step == find_queried_step(program)
    options = case.replacements.list_relations(slot.word, subject, object_, weak)
    # "The man ON the bench is sitting on what?"
    said = {
        _get_preposition(other)
        for other, role, _ in extract_program_constraints(program, slot.object_step).relations
        if role == "s"
    }
    fits = [number for number, word in enumerate(options.words) if _get_preposition(word) not in said]
    options = WordOptions([options.words[i] for i in fits], options.word_indices[fits], options.weights[fits])
    new = case.replacements.sample_word(("relation", object_), slot.word, options, uniforms[0], may_keep)
    return None if new is None or new == slot.word else Swap(slot, new, extract_spatial_relation(new))


def _get_preposition(relation: str) -> str:
    return canonicalize_relation(extract_spatial_relation(relation))


def replace_attribute(
    case: EditCase,
    slot: Presupposition,
    uniforms: Sequence[float],
    earlier_swaps: Sequence[Swap],
    may_keep: bool,
) -> Swap | None:
    """The swap of an attribute for another of the same type, which neither the question nor the evidence has of the
    thing."""
    program, vocabulary = case.program, case.replacements.vocabulary
    described = (
        thing
        for thing in case.presuppositions.objects
        if thing.phrase_start <= slot.span.first_token < thing.span.end_token
    )
    name = program[slot.object_step].name if slot.object_step >= 0 else next(described).word
    noun = case.sentence.name_spans.get(slot.object_step)
    related = (
        extract_program_constraints(program, slot.object_step).relations if slot.word.endswith("ing") else ()
    )
    if any(relation.startswith(f"{slot.word} ") for relation, role, _ in related if role == "s"):
        return None  # "What is the SITTING man sitting on?"
    held = [swap.new for swap in earlier_swaps]
    held += [
        look.word
        for look in case.presuppositions.attributes
        if look.object_step == slot.object_step and look is not slot
    ]
    if case.evidence:
        held += [
            attribute
            for thing in case.evidence.select_objects(name).certain
            for attribute in thing.attributes
        ]
    type_ = slot.type or vocabulary.attribute_types.get(slot.word, "")
    before_noun = noun is not None and slot.span.end_token <= noun.first_token
    of_type = type_ not in MULTI_VALUED_TYPES
    options = case.replacements.list_attributes(name, slot.word, type_, frozenset(held), before_noun, of_type)
    new = case.replacements.sample_word(("attribute", type_), slot.word, options, uniforms[0], may_keep)
    return None if new is None or new == slot.word else swap_attribute(slot, new, case.sentence, uniforms[0])


def swap_center_and_edge(case: EditCase) -> list[Swap]:
    """The swaps of a middle that the question takes for granted for one of the edges, and of an edge for the middle; of top
    and bottom as many over all questions."""
    sentence, swaps, random = case.sentence, [], case.uniforms[-1][-1]
    for slot in case.presuppositions.relations:
        if slot.type not in POSITION_VALUES or slot.is_negated:
            continue
        first_edge, middle, last_edge = POSITION_VALUES[slot.type]
        first, following = (
            slot.span.first_token,
            sentence.tokens[slot.span.end_token : slot.span.end_token + 1],
        )
        said = _ZONE_PREPOSITIONS[slot.type], "the"
        if slot.word == middle:
            weights = {first_edge: 1.0, last_edge: 1.0}
            # "in the left PART", and GQA says "in the top OF the photo".
            goes_on = following in (("part",), ("side",), *[("of",)] * (slot.type == "vposition"))
            inside = sentence.tokens[first - 2 : first] == ("in", "the") and not goes_on
            changes = ((first - 2, said[0]),) if inside else ()
        elif sentence.tokens[max(first - 2, 0) : first] in (said, ("in", "the")):
            if following == ("side",):
                slot = replace(slot, span=sentence.make_span(first, slot.span.end_token + 1))
            other_edge = first_edge if slot.word == last_edge else last_edge
            entered = slot.type == "hposition" and random < SIDE_TO_CENTER_PROBABILITY
            weights = {middle: 1.0} if entered else {other_edge: 1.0, middle: CENTER_WEIGHT}
            changes = ((first - 2, "in"),)
        else:
            continue
        new = case.replacements.sample_from_weights(("zone", slot.type), slot.word, weights, random) or ""
        swaps += [Swap(slot, new, new, changes)] if middle in (new, slot.word) else []
    return swaps


def toggle_negation(case: EditCase) -> list[Swap]:
    """The swaps that take a "not" away, and of those that put one in some, so that there are as many over all questions."""
    swaps, replacements = remove_negation(case), case.replacements
    for _ in swaps:
        replacements.sample_from_weights(_NEGATION_CONTEXT, "not", {"": 1.0}, 0.0)
    for swap, (random, _) in zip(add_negation(case), reversed(case.uniforms), strict=False):
        swaps += (
            [swap]
            if replacements.sample_from_weights(
                _NEGATION_CONTEXT, "", {"": 1.0, "not": NEGATION_WEIGHT}, random
            )
            == "not"
            else []
        )
    return swaps


def remove_negation(case: EditCase) -> list[Swap]:
    """The swaps that take the "not" from what a question takes for granted."""
    sentence, swaps = case.sentence, []
    for slot in case.presuppositions.attributes:
        first, value = slot.span.first_token, sentence.get_text(slot.span)
        verb = _NEGATIVE_CONTRACTIONS.get(sentence.tokens[max(first - 3, 0) : first])
        if (
            slot.is_negated
            and slot.type not in NEVER_EDITED_TYPES
            and (verb or sentence.get_previous_token(first) == "not")
        ):
            first, text = (first - 3, f"{verb} {value}") if verb else (first - 1, value)
            swaps.append(
                Swap(replace(slot, span=sentence.make_span(first, slot.span.end_token)), slot.word, text)
            )
    return swaps


def add_negation(case: EditCase) -> list[Swap]:
    """The swaps that put "not" before what a question takes for granted, where it stands after "is" or "are"; but not of
    what is asked for: "What clothing is not hanging?" has an answer nearly everywhere."""
    sentence, swaps = case.sentence, []
    for slot in case.presuppositions.attributes:
        stated = slot.span.first_token >= 2 and sentence.get_previous_token(slot.span.first_token) in (
            "is",
            "are",
        )
        asked = slot.object_step == find_queried_step(case.program)  # "The clothing item that is not blue"
        if (
            stated
            and not (slot.is_query_only or slot.is_negated or asked)
            and slot.type not in _NEVER_NEGATED_TYPES
        ):
            swaps.append(Swap(slot, f"not({slot.word})", f"not {sentence.get_text(slot.span)}"))
    return swaps
