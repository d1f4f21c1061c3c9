"""The kinds of edits, and which of them make a question of a subset.

A new kind of edit is a function of a case, in a module of this room, and a row here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.candidates.perturbing import attribute_edits, object_edits
from pipeline.candidates.perturbing.edit_slots import EditCase, Slot, look_and_place_slots, thing_slots
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.core.records import Subset

ONLY_WEAK = "only what it asks for could be edited, and there are enough of these"

SLOTS = {"pt-easy": thing_slots, "pt-hard": look_and_place_slots}
# Made wherever a question has a place for them, without a draw of words; and those made where there is no other edit.
ALWAYS = {
    "pt-easy": (),
    "pt-hard": (attribute_edits.affirm_or_deny, attribute_edits.leave_or_enter_the_middle),
}
OTHERWISE = {"pt-easy": (object_edits.other_person,), "pt-hard": (attribute_edits.deny,)}
# Replacements that are drawn for a slot, by its kind.
DRAWN = {
    "object": object_edits.other_thing,
    "attribute": attribute_edits.other_look,
    "relation": attribute_edits.other_relation,
}


def edit(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """The swaps that make a question of a subset, or why there are none. Those of weak premises ("What is ON the wall?")
    are made only where there are no others."""
    slots, reason = SLOTS[subset](case)
    always = [swap for kind in ALWAYS[subset] for swap in kind(case)]
    swaps = _draw(case, slots, always, weak=False)
    swaps = swaps or [swap for kind in OTHERWISE[subset] for swap in kind(case)]
    if not swaps and case.may_be_weak:
        swaps = _draw(case, slots, always, weak=True)
    elif not swaps and any(slot.weak for slot in [*slots, *(swap.slot for swap in always)]):
        reason = ONLY_WEAK
    return swaps, "" if swaps else reason


def _draw(case: EditCase, slots: Sequence[Slot], always: Sequence[Swap], weak: bool) -> list[Swap]:
    """Those of `always` and of the slots that something fits, all of them weak, or none.

    Where a question has several, some may stay: one that is not there is enough. Which do is left to the draw, by how
    much seldomer their words are put in than taken out. If all would, none may.
    """
    earlier = [swap for swap in always if swap.slot.weak == weak]
    slots = [
        slot
        for slot in slots
        if slot.weak == weak and all(swap.slot.span.first != slot.span.first for swap in earlier)
    ]
    swaps: list[Swap] = []
    for some_stay in (True, False):
        swaps = list(earlier)
        for slot, random in zip(slots, case.random, strict=False):
            may_stay = some_stay and bool(swaps or slot is not slots[-1])
            swap = DRAWN[slot.kind](case, slot, random, swaps, may_stay)
            swaps += [swap] if swap else []
        if swaps:
            break
    return swaps
