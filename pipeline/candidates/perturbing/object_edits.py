"""Replace objects that a question presupposes, for the subset PT-Easy.

A replacement fits what the rest of the question says about the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plausibility import ObjectConstraints, extract_program_constraints
from pipeline.candidates.perturbing.replacements import NAME_QUESTION_PHRASES
from pipeline.candidates.perturbing.surface_realization import (
    NumberChanges,
    Swap,
    apply_swaps,
    find_possible_numbers,
    follows_kind_of,
    swap_object,
)
from pipeline.language.nouns import singularize
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.word_lists import OBJECT_PRONOUNS, PRONOUN_REFERENTS

# Weight of "who" relative to keeping the category ("which animal"), before words are balanced.
WHO_WEIGHT = 0.1
_OPPOSITE_PRONOUNS = {"he": "she", "she": "he"}
# Only living things have a species or a breed.
_SPECIES_NOUNS = frozenset(("species", "breed", "breeds"))


def replace_object(
    case: EditCase,
    slot: Presupposition,
    uniforms: Sequence[float],
    earlier_swaps: Sequence[Swap],
    may_keep: bool,
) -> Swap | None:
    """Swap an object for another one that the image does not show and that no earlier swap has inserted.

    The result is None if no object fits, or if the word is kept.
    """
    sentence, category = case.sentence, _needs_category(case, slot)
    constraints = collect_constraints(case, slot, earlier_swaps)
    if _should_become_who(case, slot, constraints, uniforms[0] * 1000 % 1):
        return Swap(replace(slot, span=sentence.make_span(0, slot.span.end_token)), "person", "who")
    numbers: NumberChanges = find_possible_numbers(sentence, slot)
    types = case.replacements.vocabulary.attribute_types
    has_size = any(types.get(attribute) == "size" for group in constraints.attributes for attribute in group)
    # Mass nouns have no size ("small water").
    if has_size and not category:
        numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
    swap = swap_object(case, slot, numbers, category, constraints, earlier_swaps, uniforms, may_keep)
    if swap and _is_who(case, slot):
        forms = dict.fromkeys(NAME_QUESTION_PHRASES[1:], 1.0)
        form = (
            case.replacements.sample_from_weights(
                ("name_question", swap.new), "who", forms, uniforms[1] * 1000 % 1
            )
            or "what"
        )
        return replace(swap, text=f"{form} {singularize(swap.new) if form.endswith('of') else swap.text}")
    return swap


def replace_pronoun(case: EditCase) -> list[Swap]:
    """Swap "he" for "she" or the reverse, unless the image may show a person with the new pronoun."""
    table = case.replacements.object_table
    for slot in case.presuppositions.pronouns:
        other = _OPPOSITE_PRONOUNS.get(slot.word, "")
        known = any(
            not case.absence_probabilities[table.row_by_name[name]]
            for name in PRONOUN_REFERENTS.get(other, ())
            if name in table.row_by_name
        )
        if other and not known:
            as_subject = case.sentence.tokens[slot.span.first_token] == slot.word
            return [Swap(slot, other, other if as_subject else OBJECT_PRONOUNS[other])]
    return []


def _needs_category(case: EditCase, slot: Presupposition) -> bool | None:
    """Return whether the replacement must be a category.

    The result is True (it must be one), False (it must not be one) or None (it may be both).
    The replacement must be a category if the question asks for the name of the object, or if the object
    itself is a category. A person may be replaced by any object or category.
    """
    asked = slot.step == find_queried_step(case.program)
    if asked or follows_kind_of(case.sentence, slot) or _is_who(case, slot):
        return True
    return None if slot.word == "person" else slot.word in case.replacements.vocabulary.categories


def _is_who(case: EditCase, slot: Presupposition) -> bool:
    """Return whether the slot is the question word "who".

    For example, "WHO is standing?" becomes "WHICH ANIMAL is standing?".
    """
    return case.sentence.tokens[slot.span.first_token] == "who"


def _should_become_who(
    case: EditCase, slot: Presupposition, constraints: ObjectConstraints, uniform: float
) -> bool:
    """Return whether to replace a category by "who".

    For example, "WHICH ANIMAL is standing?" becomes "WHO is standing?". Over all questions, this happens as
    often as the reverse. "What animal is it?" is never replaced, because the question says nothing else about
    the animal.
    """
    sentence, replacements = case.sentence, case.replacements
    form, row = (
        " ".join(sentence.tokens[: slot.span.first_token]),
        replacements.object_table.row_by_name.get("person"),
    )
    says_more = constraints.attributes or constraints.relations
    asked = says_more and slot.step == find_queried_step(case.program) and form in NAME_QUESTION_PHRASES
    if not asked or row is None or sentence.tokens[slot.span.end_token : slot.span.end_token + 1] != ("is",):
        return False
    fits = (
        float(case.absence_probabilities[row])
        if replacements.plausibility.score_objects(constraints)[row]
        else 0.0
    )
    weights = {form: 1.0, "who": WHO_WEIGHT * fits}
    return replacements.sample_from_weights(("name_question", slot.word), form, weights, uniform) == "who"


def collect_constraints(
    case: EditCase, slot: Presupposition, earlier_swaps: Sequence[Swap]
) -> ObjectConstraints:
    """Collect what a question says about an object, in its program and in its text.

    In some cases only an object of the same category fits. These are the owner of a part ("the girl's hair",
    "the man shirt"), objects whose age or size is compared, and objects whose species is compared.
    """
    from_program, tokens = (
        extract_program_constraints(apply_swaps(case.program, earlier_swaps), slot.step),
        case.sentence.tokens,
    )
    end = slot.span.end_token
    owner = tokens[end : end + 1] == ("'s",)
    owner = owner or any(span.first_token == end for span in case.sentence.name_spans.values())
    ranked = any(operation.verb == "compare" for operation in case.program)
    attributes, relations = slot.modifiers
    types = from_program.types
    # Without a program, the text shows the type that is asked for: "What COLOR is the cup?".
    if slot.step < 0 and slot is case.presuppositions.objects[0]:
        known = {*case.replacements.vocabulary.attribute_types.values()}
        types = tuple(token for token in tokens if token in known)
    return ObjectConstraints(
        (*from_program.attributes, *((attribute,) for attribute in attributes)),
        tuple(dict.fromkeys((*from_program.relations, *relations))),
        types,
        same_category=owner or ranked or not _SPECIES_NOUNS.isdisjoint(tokens),
    )
