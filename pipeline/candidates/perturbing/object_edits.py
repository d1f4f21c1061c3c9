"""Another thing in the place of one that a question takes for granted (PT-Easy), like what the rest of it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.candidates.perturbing.edit_slots import EditCase, Slot
from pipeline.candidates.perturbing.plausibility import Demands
from pipeline.candidates.perturbing.replacements import ASKING
from pipeline.candidates.perturbing.surface_realization import (
    Numbers,
    Swap,
    after,
    follows_kind,
    possible_numbers,
    put_thing,
)
from pipeline.language.functional_programs import FINDS, NO_LOOK, POSITIONS, Operation, root
from pipeline.language.nouns import singular
from pipeline.language.presuppositions import asked_step
from pipeline.language.word_lists import AS_OBJECT, PERSONS

AS_WHO = 0.1  # weight of "who" beside the category that stands there, before words are evened out
_OTHER_PERSON = {"he": "she", "she": "he"}
_KINDS_COMPARED = frozenset(("species", "breed", "breeds"))  # "of the same species": said of living things


def other_thing(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a slot for a thing that is not in the picture and is none of those put in already."""
    sentence, category = case.sentence, _wants_category(case, slot)
    demanded = everything_said(case, slot, earlier)
    if _as_who(case, slot, demanded, random[0] * 1000 % 1):
        return Swap(replace(slot, span=sentence.span(0, slot.span.last)), "person", "who")
    numbers: Numbers = possible_numbers(sentence, slot)
    types = case.replacements.vocabulary.attribute_types
    sized = any(types.get(attribute) == "size" for group in demanded.attributes for attribute in group)
    if sized and not category:  # no "small water"
        numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
    swap = put_thing(case, slot, numbers, category, demanded, earlier, random, may_stay)
    if swap and _says_who(case, slot):
        forms = dict.fromkeys(ASKING[1:], 1.0)
        form = case.replacements.either(("asking", swap.new), "who", forms, random[1] * 1000 % 1) or "what"
        return replace(swap, text=f"{form} {singular(swap.new) if form.endswith('of') else swap.text}")
    return swap


def other_person(case: EditCase) -> list[Swap]:
    """The swap of "he" for "she", or the other way round, where nobody who may be called so is known to be there."""
    table = case.replacements.table
    for slot in case.premises.persons:
        other = _OTHER_PERSON.get(slot.word, "")
        known = any(not case.absent[table.row[name]] for name in PERSONS.get(other, ()) if name in table.row)
        if other and not known:
            as_subject = case.sentence.tokens[slot.span.first] == slot.word
            return [Swap(slot, other, other if as_subject else AS_OBJECT[other])]
    return []


def _wants_category(case: EditCase, slot: Slot) -> bool | None:
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    asked = slot.step == asked_step(case.program)
    if asked or follows_kind(case.sentence, slot) or _says_who(case, slot):
        return True
    return None if slot.word == "person" else slot.word in case.replacements.vocabulary.categories


def _says_who(case: EditCase, slot: Slot) -> bool:
    """Whether the slot is the word that asks: "WHO is standing?" becomes "WHICH ANIMAL is standing?"."""
    return case.sentence.tokens[slot.span.first] == "who"


def _as_who(case: EditCase, slot: Slot, demanded: Demands, random: float) -> bool:
    """Whether "WHICH ANIMAL is standing?" becomes "WHO is standing?", as often as the other way round; but not "What
    animal is it?", which says nothing of it."""
    sentence, replacements = case.sentence, case.replacements
    form, row = " ".join(sentence.tokens[: slot.span.first]), replacements.table.row.get("person")
    says_more = demanded.attributes or demanded.relations
    asked = says_more and slot.step == asked_step(case.program) and form in ASKING
    if not asked or row is None or sentence.tokens[slot.span.last : slot.span.last + 1] != ("is",):
        return False
    fits = float(case.absent[row]) if replacements.plausible.fits(demanded)[row] else 0.0
    weights = {form: 1.0, "who": AS_WHO * fits}
    return replacements.either(("asking", slot.word), form, weights, random) == "who"


def everything_said(case: EditCase, slot: Slot, earlier: Sequence[Swap]) -> Demands:
    """All that a question says of a thing, in its program and besides. Only something of the same kind will do for the owner of
    a part ("the girl's hair", "the man shirt") and for what is compared, in kind or in age."""
    demanded, tokens = demands(after(case.program, earlier), slot.step), case.sentence.tokens
    after_it = slot.span.last
    owner = tokens[after_it : after_it + 1] == ("'s",)
    owner = owner or any(span.first == after_it for span in case.sentence.names.values())
    ranked = any(operation.verb == "compare" for operation in case.program)
    looks, relations = slot.said
    types = demanded.types
    if slot.step < 0 and slot is case.premises.things[0]:  # "What COLOR is the cup?"
        known = {*case.replacements.vocabulary.attribute_types.values()}
        types = tuple(token for token in tokens if token in known)
    return Demands(
        (*demanded.attributes, *((look,) for look in looks)),
        tuple(dict.fromkeys((*demanded.relations, *relations))),
        types,
        kin=owner or ranked or not _KINDS_COMPARED.isdisjoint(tokens),
    )


def demands(program: Sequence[Operation], step: int) -> Demands:
    """What a program says of the thing that one of its steps names; nothing of what none does (-1)."""
    attributes: list[tuple[str, ...]] = []
    relations: list[tuple[str, str, str]] = []
    types: list[str] = []
    own = program[step] if step >= 0 else None
    if own and own.verb in ("relate", "verify", "choose"):
        other = program[root(program, own.inputs[0])].name
        relations += [(value, "s" if own.subject else "o", other) for value in own.values]
    for operation in program:
        if not any(program[i].verb in FINDS and root(program, i) == step for i in operation.inputs):
            continue
        if operation.verb == "relate" or operation.type == "rel":
            role = "o" if operation.subject else "s"
            relations += [(value, role, operation.name) for value in operation.values]
        elif operation.type in NO_LOOK:
            continue
        elif operation.type in POSITIONS:
            types.append(operation.type)
        elif operation.values and not (operation.negated and operation.type):
            # Also an option (fences are wooden or metallic, shirts neither), and what is "not on" can be on.
            attributes.append(operation.values)
        elif operation.type:  # asked for, or denied: "not red" is said of what has a colour
            types.append(operation.type)
    return Demands(tuple(attributes), tuple(relations), tuple(types))
