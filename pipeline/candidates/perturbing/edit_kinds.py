"""List the kinds of edits, and choose the edits that turn a question into a candidate of a subset.

To add a kind of edit, write a function of an `EditCase` in this package, and add the function to one of the
tables below.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.candidates.perturbing import attribute_edits, object_edits
from pipeline.candidates.perturbing.edit_slots import (
    EditCase,
    find_attribute_and_relation_slots,
    find_object_slots,
)
from pipeline.candidates.perturbing.plain_questions import edit_plain_question
from pipeline.candidates.perturbing.surface_realization import Swap
from pipeline.core.records import Subset
from pipeline.language.presuppositions import Presupposition

QUERY_ONLY_QUOTA_REACHED = "only query-only edits are possible, and their quota is reached"

SLOT_FINDERS = {"pt-easy": find_object_slots, "pt-hard": find_attribute_and_relation_slots}
# Unconditional edits are made wherever they apply. Fallback edits are made only if no other edit is possible.
UNCONDITIONAL_EDITS = {
    "pt-easy": (),
    "pt-hard": (attribute_edits.toggle_negation, attribute_edits.swap_center_and_edge),
}
FALLBACK_EDITS = {
    "pt-easy": (object_edits.replace_pronoun,),
    "pt-hard": (attribute_edits.add_negation,),
}
# Kind of slot -> the edit that replaces the word of the slot by a sampled word.
SAMPLED_EDITS = {
    "object": object_edits.replace_object,
    "attribute": attribute_edits.replace_attribute,
    "relation": attribute_edits.replace_relation,
}


def edit_question(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """Edit a question for a subset.

    Query-only edits ("What is ON the wall?") are made only if no other edit is possible. Plain questions are
    edited by rules of their own (`plain_questions`).

    Returns:
        The swaps, and the reason why there are no swaps ("" if there are swaps).
    """
    if case.is_plain_question:
        return edit_plain_question(subset, case)
    slots, reason = SLOT_FINDERS[subset](case)
    unconditional = [swap for kind in UNCONDITIONAL_EDITS[subset] for swap in kind(case)]
    swaps = _sample_swaps(case, slots, unconditional, query_only=False)
    swaps = swaps or next(filter(None, (kind(case) for kind in FALLBACK_EDITS[subset])), [])
    if not swaps and case.may_be_query_only:
        swaps = _sample_swaps(case, slots, unconditional, query_only=True)
    elif not swaps and any(slot.is_query_only for slot in [*slots, *(swap.slot for swap in unconditional)]):
        reason = QUERY_ONLY_QUOTA_REACHED
    return swaps, "" if swaps else reason


def _sample_swaps(
    case: EditCase, slots: Sequence[Presupposition], unconditional: Sequence[Swap], query_only: bool
) -> list[Swap]:
    """Return the unconditional swaps and the sampled swaps of the slots.

    Either all swaps are query-only, or none of them is. If a question has several slots, the words of some
    slots may be kept, because one absent object is enough to make the question unanswerable. Whether a word
    is kept is sampled. A word that is inserted less often than removed is kept more often. If all words would
    be kept, all slots are sampled again without keeping words.
    """
    earlier = [swap for swap in unconditional if swap.slot.is_query_only == query_only]
    slots = [
        slot
        for slot in slots
        if slot.is_query_only == query_only
        and all(swap.slot.span.first_token != slot.span.first_token for swap in earlier)
    ]
    swaps: list[Swap] = []
    for some_may_stay in (True, False):
        swaps = list(earlier)
        for slot, uniforms in zip(slots, case.uniforms, strict=False):
            may_keep = some_may_stay and bool(swaps or slot is not slots[-1])
            swap = SAMPLED_EDITS[slot.kind](case, slot, uniforms, swaps, may_keep)
            swaps += [swap] if swap else []
        if swaps:
            break
    return swaps
