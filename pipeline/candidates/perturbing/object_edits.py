"""Another thing in the place of one that a question takes for granted (PT-Easy), like what the rest of it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.candidates.perturbing.replacements import NAME_QUESTION_PHRASES
from pipeline.candidates.perturbing.surface_realization import (
    NumberChanges,
    Swap,
    apply_swaps,
    find_possible_numbers,
    follows_kind_of,
    swap_object,
)
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    OBJECT_SET_VERBS,
    POSITION_TYPES,
    Operation,
    find_root_step,
)
from pipeline.language.nouns import singularize
from pipeline.language.presuppositions import Presupposition, find_queried_step
from pipeline.language.word_lists import OBJECT_PRONOUNS, PRONOUN_REFERENTS

WHO_WEIGHT = 0.1  # weight of "who" beside the category that stands there, before words are evened out
_OPPOSITE_PRONOUNS = {"he": "she", "she": "he"}
_SPECIES_NOUNS = frozenset(("species", "breed", "breeds"))  # "of the same species": said of living things


def replace_object(
    case: EditCase,
    slot: Presupposition,
    uniforms: Sequence[float],
    earlier_swaps: Sequence[Swap],
    may_keep: bool,
) -> Swap | None:
    """The swap of a slot for a thing that is not in the image and is none of those put in already."""
    sentence, category = case.sentence, _needs_category(case, slot)
    demanded = collect_constraints(case, slot, earlier_swaps)
    if _should_become_who(case, slot, demanded, uniforms[0] * 1000 % 1):
        return Swap(replace(slot, span=sentence.make_span(0, slot.span.end_token)), "person", "who")
    numbers: NumberChanges = find_possible_numbers(sentence, slot)
    types = case.replacements.vocabulary.attribute_types
    sized = any(types.get(attribute) == "size" for group in demanded.attributes for attribute in group)
    if sized and not category:  # no "small water"
        numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
    swap = swap_object(case, slot, numbers, category, demanded, earlier_swaps, uniforms, may_keep)
    if swap and _is_who(case, slot):
        forms = dict.fromkeys(NAME_QUESTION_PHRASES[1:], 1.0)
        form = (
            case.replacements.sample_from_weights(("name_question", swap.new), "who", forms, uniforms[1] * 1000 % 1)
            or "what"
        )
        return replace(swap, text=f"{form} {singularize(swap.new) if form.endswith('of') else swap.text}")
    return swap


def replace_pronoun(case: EditCase) -> list[Swap]:
    """The swap of "he" for "she", or the other way round, where nobody who may be called so is known to be there."""
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
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    asked = slot.step == find_queried_step(case.program)
    if asked or follows_kind_of(case.sentence, slot) or _is_who(case, slot):
        return True
    return None if slot.word == "person" else slot.word in case.replacements.vocabulary.categories


def _is_who(case: EditCase, slot: Presupposition) -> bool:
    """Whether the slot is the word that asks: "WHO is standing?" becomes "WHICH ANIMAL is standing?"."""
    return case.sentence.tokens[slot.span.first_token] == "who"


def _should_become_who(
    case: EditCase, slot: Presupposition, demanded: ObjectConstraints, random: float
) -> bool:
    """Whether "WHICH ANIMAL is standing?" becomes "WHO is standing?", as often as the other way round; but not "What
    animal is it?", which says nothing of it."""
    sentence, replacements = case.sentence, case.replacements
    form, row = (
        " ".join(sentence.tokens[: slot.span.first_token]),
        replacements.object_table.row_by_name.get("person"),
    )
    says_more = demanded.attributes or demanded.relations
    asked = says_more and slot.step == find_queried_step(case.program) and form in NAME_QUESTION_PHRASES
    if not asked or row is None or sentence.tokens[slot.span.end_token : slot.span.end_token + 1] != ("is",):
        return False
    fits = (
        float(case.absence_probabilities[row])
        if replacements.plausibility.score_objects(demanded)[row]
        else 0.0
    )
    weights = {form: 1.0, "who": WHO_WEIGHT * fits}
    return replacements.sample_from_weights(("name_question", slot.word), form, weights, random) == "who"


def collect_constraints(
    case: EditCase, slot: Presupposition, earlier_swaps: Sequence[Swap]
) -> ObjectConstraints:
    """All that a question says of a thing, in its program and besides. Only something of the same kind will do for the owner of
    a part ("the girl's hair", "the man shirt") and for what is compared, in kind or in age."""
    demanded, tokens = (
        extract_program_constraints(apply_swaps(case.program, earlier_swaps), slot.step),
        case.sentence.tokens,
    )
    after_it = slot.span.end_token
    owner = tokens[after_it : after_it + 1] == ("'s",)
    owner = owner or any(span.first_token == after_it for span in case.sentence.name_spans.values())
    ranked = any(operation.verb == "compare" for operation in case.program)
    looks, relations = slot.modifiers
    types = demanded.types
    if slot.step < 0 and slot is case.presuppositions.objects[0]:  # "What COLOR is the cup?"
        known = {*case.replacements.vocabulary.attribute_types.values()}
        types = tuple(token for token in tokens if token in known)
    return ObjectConstraints(
        (*demanded.attributes, *((look,) for look in looks)),
        tuple(dict.fromkeys((*demanded.relations, *relations))),
        types,
        same_category=owner or ranked or not _SPECIES_NOUNS.isdisjoint(tokens),
    )


def extract_program_constraints(program: Sequence[Operation], step: int) -> ObjectConstraints:
    """What a program says of the thing that one of its steps names; nothing of what none does (-1)."""
    attributes: list[tuple[str, ...]] = []
    relations: list[tuple[str, str, str]] = []
    types: list[str] = []
    own = program[step] if step >= 0 else None
    if own and own.verb in ("relate", "verify", "choose"):
        other = program[find_root_step(program, own.inputs[0])].name
        relations += [(value, "s" if own.is_subject else "o", other) for value in own.values]
    for operation in program:
        if not any(
            program[i].verb in OBJECT_SET_VERBS and find_root_step(program, i) == step
            for i in operation.inputs
        ):
            continue
        if operation.verb == "relate" or operation.type == "rel":
            role = "o" if operation.is_subject else "s"
            relations += [(value, role, operation.name) for value in operation.values]
        elif operation.type in NON_ATTRIBUTE_TYPES:
            continue
        elif operation.type in POSITION_TYPES:
            types.append(operation.type)
        elif operation.values and not (operation.is_negated and operation.type):
            # Also an option (fences are wooden or metallic, shirts neither), and what is "not on" can be on.
            attributes.append(operation.values)
        elif operation.type:  # asked for, or denied: "not red" is said of what has a colour
            types.append(operation.type)
    return ObjectConstraints(tuple(attributes), tuple(relations), tuple(types))
