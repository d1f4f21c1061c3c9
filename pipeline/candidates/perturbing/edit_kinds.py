"""The kinds of edits, and which of them make a question of a subset.

A new kind of edit is a function of a case, in a module of this room, and a row here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.candidates.perturbing import attribute_edits, object_edits
from pipeline.candidates.perturbing.edit_slots import (
    EditCase,
    find_attribute_and_relation_slots,
    find_object_slots,
)
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.core.records import Subset
from pipeline.language.presuppositions import Presupposition

QUERY_ONLY_QUOTA_REACHED = "only query-only edits are possible, and their quota is reached"

SLOT_FINDERS = {"pt-easy": find_object_slots, "pt-hard": find_attribute_and_relation_slots}
# Made wherever a question has a place for them, without a draw of words; and those made where there is no other edit.
UNCONDITIONAL_EDITS = {
    "pt-easy": (),
    "pt-hard": (attribute_edits.toggle_negation, attribute_edits.swap_center_and_edge),
}
FALLBACK_EDITS = {"pt-easy": (object_edits.replace_pronoun,), "pt-hard": (attribute_edits.add_negation,)}
# Replacements that are drawn for a slot, by its kind.
SAMPLED_EDITS = {
    "object": object_edits.replace_object,
    "attribute": attribute_edits.replace_attribute,
    "relation": attribute_edits.replace_relation,
}


def edit_question(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """The swaps that make a question of a subset, or why there are none. Those of weak premises ("What is ON the wall?")
    are made only where there are no others."""
    slots, reason = SLOT_FINDERS[subset](case)
    always = [swap for kind in UNCONDITIONAL_EDITS[subset] for swap in kind(case)]
    swaps = _sample_swaps(case, slots, always, weak=False)
    swaps = swaps or [swap for kind in FALLBACK_EDITS[subset] for swap in kind(case)]
    if not swaps and case.may_be_query_only:
        swaps = _sample_swaps(case, slots, always, weak=True)
    elif not swaps and any(slot.is_query_only for slot in [*slots, *(swap.slot for swap in always)]):
        reason = QUERY_ONLY_QUOTA_REACHED
    return swaps, "" if swaps else reason


def _sample_swaps(
    case: EditCase, slots: Sequence[Presupposition], always: Sequence[Swap], weak: bool
) -> list[Swap]:
    """Those of `always` and of the slots that something fits, all of them weak, or none.

    Where a question has several, some may stay: one that is not there is enough. Which do is left to the draw, by how
    much seldomer their words are put in than taken out. If all would, none may.
    """
    earlier = [swap for swap in always if swap.slot.is_query_only == weak]
    slots = [
        slot
        for slot in slots
        if slot.is_query_only == weak
        and all(swap.slot.span.first_token != slot.span.first_token for swap in earlier)
    ]
    swaps: list[Swap] = []
    for some_stay in (True, False):
        swaps = list(earlier)
        for slot, random in zip(slots, case.uniforms, strict=False):
            may_stay = some_stay and bool(swaps or slot is not slots[-1])
            swap = SAMPLED_EDITS[slot.kind](case, slot, random, swaps, may_stay)
            swaps += [swap] if swap else []
        if swaps:
            break
    return swaps
