"""Out of the middle: "the cup in the middle of the photo" becomes "the cup in the top of the photo"."""

from __future__ import annotations

from pipeline.perturbing.edit_case import EditCase
from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.slots import Slot, presupposed_filters
from pipeline.programs.attribute_types import ZONES

_PREPOSITION = {"hposition": "on", "vposition": "at"}


def leave_the_middle(case: EditCase) -> list[Swap]:
    """The swaps of a middle that the question takes for granted for one of the edges."""
    sentence, swaps = case.sentence, []
    for step, operation, span in presupposed_filters(case.program, sentence):
        if operation.type not in ZONES or operation.values != ("middle",) or operation.negated:
            continue
        first_edge, _, last_edge = ZONES[operation.type]
        new = first_edge if case.random[-1][-1] < 0.5 else last_edge
        following = sentence.tokens[span.last : span.last + 1]
        # "in the left PART", and GQA says "in the top OF the photo".
        keeps_in = following in (("part",), ("side",)) or (operation.type, following) == (
            "vposition",
            ("of",),
        )
        said_in = sentence.tokens[span.first - 2 : span.first] == ("in", "the")
        changes = () if keeps_in or not said_in else ((span.first - 2, _PREPOSITION[operation.type]),)
        swaps.append(Swap(Slot("relation", step, 0, span, "middle"), new, new, changes))
    return swaps
