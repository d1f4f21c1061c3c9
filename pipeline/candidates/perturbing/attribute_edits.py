"""Replace attributes, relations and positions that a question presupposes (PT-Hard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import (
    MULTI_VALUED_TYPES,
    NEVER_EDITED_TYPES,
    EditCase,
)
from pipeline.candidates.perturbing.plausibility import extract_program_constraints
from pipeline.candidates.perturbing.replacements import WordOptions
from pipeline.candidates.perturbing.surface_realization import Swap, apply_swaps, swap_attribute
from pipeline.language.functional_programs import POSITION_VALUES, find_root_step
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.relations import (
    canonicalize_relation,
    extract_spatial_relation,
)

_ZONE_PREPOSITIONS = {"hposition": "on", "vposition": "at"}
_NEGATIVE_CONTRACTIONS: dict[tuple[str, ...], str] = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NEGATION_CONTEXT = ("negation", "")
# Weights before words are balanced: the weight of inserting "not", relative to leaving the text as it is, and
# the weight of the middle, relative to the other edge. "not" and the middle are rare in questions.
NEGATION_WEIGHT, CENTER_WEIGHT = 0.02, 0.05
# Probability of moving an object from the left or right to the middle, whether or not words are balanced. The
# image often shows another object of the name on the other side.
SIDE_TO_CENTER_PROBABILITY = 0.5
_NEVER_NEGATED_TYPES = NEVER_EDITED_TYPES | {"gender", "size"}


def replace_relation(
    case: EditCase,
    slot: Presupposition,
    uniforms: Sequence[float],
    earlier_swaps: Sequence[Swap],
    may_keep: bool,
) -> Swap | None:
    """Swap a spatial relation or position for another one that cannot hold together with it.

    The result is None if no relation fits, or if the word is kept.
    """
    program = apply_swaps(case.program, earlier_swaps)
    operation, related = program[slot.step], ("", "")
    if operation.verb == "relate":
        # The names of the related objects. The name of the object that the question asks for is "".
        related = operation.name.strip("_"), program[find_root_step(program, operation.inputs[0])].name
    subject, object_ = related if operation.is_subject else related[::-1]
    # A general name ("the piece of furniture") often applies to several objects. So the relation of an object
    # whose name is asked for is treated as query-only.
    query_only = slot.is_query_only or slot.object_step == find_queried_step(program)
    options = case.replacements.list_relations(slot.word, subject, object_, query_only)
    # In "The man ON the bench is sitting on what?", the new preposition must not occur twice.
    used = {
        _get_preposition(other)
        for other, role, _ in extract_program_constraints(program, slot.object_step).relations
        if role == "s"
    }
    fitting = [index for index, word in enumerate(options.words) if _get_preposition(word) not in used]
    options = WordOptions(
        [options.words[index] for index in fitting], options.word_indices[fitting], options.weights[fitting]
    )
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
    """Swap an attribute for another attribute that cannot hold together with it.

    The object has the new attribute neither in the question nor in the evidence. The result is None if no
    attribute fits, or if the word is kept.
    """
    program, vocabulary = case.program, case.replacements.vocabulary
    described = (
        noun
        for noun in case.presuppositions.objects
        if noun.phrase_start <= slot.span.first_token < noun.span.end_token
    )
    name = program[slot.object_step].name if slot.object_step >= 0 else next(described).word
    noun = case.sentence.name_spans.get(slot.object_step)
    related = (
        extract_program_constraints(program, slot.object_step).relations if slot.word.endswith("ing") else ()
    )
    if any(relation.startswith(f"{slot.word} ") for relation, role, _ in related if role == "s"):
        # The question says the same again: "What is the SITTING man sitting on?".
        return None
    conflicting = [swap.new for swap in earlier_swaps]
    conflicting += [
        other.word
        for other in case.presuppositions.attributes
        if other.object_step == slot.object_step and other is not slot
    ]
    if case.evidence:
        conflicting += [
            attribute
            for known in case.evidence.select_objects(name).certain
            for attribute in known.attributes
        ]
    conflicting += case.mentions.find_words_beside(name) & case.replacements.index_by_word["attribute"].keys()
    type_ = slot.type or vocabulary.attribute_types.get(slot.word, "")
    before_noun = noun is not None and slot.span.end_token <= noun.first_token
    of_type = type_ not in MULTI_VALUED_TYPES
    options = case.replacements.list_attributes(
        name, slot.word, type_, frozenset(conflicting), before_noun, of_type
    )
    new = case.replacements.sample_word(("attribute", type_), slot.word, options, uniforms[0], may_keep)
    return None if new is None or new == slot.word else swap_attribute(slot, new, case.sentence, uniforms[0])


def swap_center_and_edge(case: EditCase) -> list[Swap]:
    """Swap a presupposed position "middle" for an edge, or an edge for "middle".

    Over all questions, top and bottom are inserted equally often.
    """
    sentence, swaps, uniform = case.sentence, [], case.uniforms[-1][-1]
    for slot in case.presuppositions.relations:
        if slot.type not in POSITION_VALUES or slot.is_negated:
            continue
        first_edge, middle, last_edge = POSITION_VALUES[slot.type]
        first, following = (
            slot.span.first_token,
            sentence.tokens[slot.span.end_token : slot.span.end_token + 1],
        )
        lead = _ZONE_PREPOSITIONS[slot.type], "the"
        if slot.word == middle:
            weights = {first_edge: 1.0, last_edge: 1.0}
            # Some texts continue after the position: "in the left PART". GQA also has "in the top OF the
            # photo".
            continues = following in (("part",), ("side",), *[("of",)] * (slot.type == "vposition"))
            inside = sentence.tokens[first - 2 : first] == ("in", "the") and not continues
            changes = ((first - 2, lead[0]),) if inside else ()
        elif sentence.tokens[max(first - 2, 0) : first] in (lead, ("in", "the")):
            if following == ("side",):
                slot = replace(slot, span=sentence.make_span(first, slot.span.end_token + 1))
            other_edge = first_edge if slot.word == last_edge else last_edge
            moves_to_center = slot.type == "hposition" and uniform < SIDE_TO_CENTER_PROBABILITY
            weights = {middle: 1.0} if moves_to_center else {other_edge: 1.0, middle: CENTER_WEIGHT}
            changes = ((first - 2, "in"),)
        else:
            continue
        new = case.replacements.sample_from_weights(("zone", slot.type), slot.word, weights, uniform) or ""
        swaps += [Swap(slot, new, new, changes)] if middle in (new, slot.word) else []
    return swaps


def toggle_negation(case: EditCase) -> list[Swap]:
    """Remove "not" wherever possible, and insert "not" in some other places.

    Over all questions, "not" is inserted as often as it is removed.
    """
    swaps, replacements = remove_negation(case), case.replacements
    for _ in swaps:
        replacements.sample_from_weights(_NEGATION_CONTEXT, "not", {"": 1.0}, 0.0)
    for swap, (uniform, _) in zip(add_negation(case), reversed(case.uniforms), strict=False):
        swaps += (
            [swap]
            if replacements.sample_from_weights(
                _NEGATION_CONTEXT, "", {"": 1.0, "not": NEGATION_WEIGHT}, uniform
            )
            == "not"
            else []
        )
    return swaps


def remove_negation(case: EditCase) -> list[Swap]:
    """Return the swaps that remove a presupposed "not"."""
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
    """Return the swaps that insert "not" between "is" or "are" and a presupposed attribute.

    Attributes of the object that the question asks for are not negated, because "What clothing is not
    hanging?" has an answer for nearly every image.
    """
    sentence, swaps = case.sentence, []
    for slot in case.presuppositions.attributes:
        follows_verb = slot.span.first_token >= 2 and sentence.get_previous_token(slot.span.first_token) in (
            "is",
            "are",
        )
        # An example is "the clothing item that is not blue" in a question that asks for the name of the item.
        asked = slot.object_step == find_queried_step(case.program)
        if (
            follows_verb
            and not (slot.is_query_only or slot.is_negated or asked)
            and slot.type not in _NEVER_NEGATED_TYPES
        ):
            swaps.append(Swap(slot, f"not({slot.word})", f"not {sentence.get_text(slot.span)}"))
    return swaps
