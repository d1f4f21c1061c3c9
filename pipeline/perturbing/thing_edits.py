"""Another thing in the place of one that a question takes for granted (PT-Easy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.perturbing.demands import Demands, demands, wants_kin
from pipeline.perturbing.edit_case import EditCase
from pipeline.perturbing.fitting import (
    Numbers,
    Swap,
    follows_kind,
    one_worn,
    possible_numbers,
    put_thing,
    said_of_several,
)
from pipeline.perturbing.slots import Slot, asked_step


def other_thing(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a slot for a thing that is not in the picture and is none of those put in already."""
    if _goes_with_options(case, slot):
        return None
    sentence, replacements = case.sentence, case.replacements
    kin, category = wants_kin(sentence, case.program, slot), _wants_category(case, slot)
    demanded = demands(case.program, slot.step, kin) if slot.step >= 0 else Demands(kin=kin)
    numbers: Numbers = possible_numbers(sentence, slot)
    if not category and _has_size(case, demanded):  # no "small water"
        numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
    taken = case.present
    for swap in earlier:
        taken = taken | replacements.table.confusable(swap.new)
    plural = said_of_several(sentence, slot)
    new = replacements.thing(
        slot.word, plural, frozenset(numbers), category, demanded, taken, random, may_stay
    )
    if new is None or new == slot.word:
        return None
    swap = put_thing(slot, new, sentence, numbers, random[1])
    if _says_who(case, slot):
        return replace(swap, text=f"{'which' if random[1] < 0.5 else 'what'} {swap.text}")
    return one_worn(swap, sentence)


def reason_for_none(case: EditCase, slots: Sequence[Slot]) -> str:
    """Why nothing takes the place of any of these slots."""
    if any(_goes_with_options(case, slot) for slot in slots):
        return "its category goes with the options of a choice"
    return "no other object fits"


def _goes_with_options(case: EditCase, slot: Slot) -> bool:
    """Whether options are named of a slot's kind: "What animal is it, a cow or a sheep?"."""
    return case.program[-1].verb == "choose" and slot.step == asked_step(case.program)


def _wants_category(case: EditCase, slot: Slot) -> bool | None:
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    asked = slot.step == asked_step(case.program)
    if asked or follows_kind(case.sentence, slot) or _says_who(case, slot):
        return True
    return None if slot.word == "person" else slot.word in case.replacements.vocabulary.categories


def _has_size(case: EditCase, demanded: Demands) -> bool:
    types = case.replacements.vocabulary.attribute_types
    return any(types.get(attribute) == "size" for group in demanded.attributes for attribute in group)


def _says_who(case: EditCase, slot: Slot) -> bool:
    """Whether the slot is the word that asks: "WHO is standing?" becomes "WHICH ANIMAL is standing?"."""
    return case.sentence.tokens[slot.span.first] == "who"
