"""The kinds of edits, and which of them make a question of a subset.

A new kind of edit is a function of a case, in a module of this room, and a row here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.records import Subset
from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.look_edits import affirm, deny, leave_the_middle, other_look, other_relation
from pipeline.perturbing.slots import EditCase, Slot, attribute_slots, object_slots, relation_slots
from pipeline.perturbing.thing_edits import other_thing, reason_for_none

# Made wherever a question has a place for them, without a draw of words; and those made where there is no other edit.
ALWAYS = {"pt-easy": (), "pt-hard": (affirm, leave_the_middle)}
OTHERWISE = {"pt-easy": (), "pt-hard": (deny,)}
# Replacements that are drawn for a slot, by its kind.
DRAWN = {"object": other_thing, "attribute": other_look, "relation": other_relation}


def edit(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """The swaps that make a question of a subset, or why there are none."""
    slots, reason = _slots(subset, case)
    swaps = [swap for kind in ALWAYS[subset] for swap in kind(case)]
    swaps = _draw(case, slots, swaps) or [swap for kind in OTHERWISE[subset] for swap in kind(case)]
    return swaps, "" if swaps else reason


def _slots(subset: Subset, case: EditCase) -> tuple[list[Slot], str]:
    """Slots of a subset, and the reason why a question has no edit if nothing fits them."""
    if subset == "pt-easy":
        things, reason = object_slots(case.program, case.sentence)
        return things, reason or reason_for_none(case, things)
    looks, reason = attribute_slots(case.program, case.sentence)
    relations = relation_slots(case.program, case.sentence)
    if relations and not looks:
        return relations, "its relation has no counterpart"
    return [*looks, *relations], reason or "its attributes have no other value that things of this name have"


def _draw(case: EditCase, slots: Sequence[Slot], earlier: Sequence[Swap]) -> list[Swap]:
    """The earlier swaps and those of the slots that something fits.

    Where a question has several, some may stay: one that is not there is enough. Which do is left to the draw, by how
    much seldomer their words are put in than taken out. If all would, none may.
    """
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
