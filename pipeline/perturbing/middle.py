"""Out of the middle: "the cup in the middle of the photo" becomes "the cup in the top of the photo"."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.sentence import Sentence
from pipeline.perturbing.slots import Slot
from pipeline.programs.operations import Operation

_EDGES = {"hposition": ("left", "right"), "vposition": ("top", "bottom")}
_PREPOSITION = {"hposition": "on", "vposition": "at"}


def leave(program: Sequence[Operation], sentence: Sentence, drawn: float) -> list[Swap]:
    """The swaps of a middle that the question takes for granted for one of the edges.

    Args:
        drawn: in [0, 1): below a half for the left or the top.
    """
    swaps = []
    for step, operation in enumerate(program):
        middle = operation.verb == "filter" and operation.type in _EDGES and operation.values == ("middle",)
        if not middle or operation.asserted or operation.negated or (step, 0) not in sentence.values:
            continue
        span = sentence.values[step, 0]
        new = _EDGES[operation.type][drawn >= 0.5]
        changes = ()
        said_in = sentence.tokens[span.first - 2 : span.first] == ("in", "the")
        if said_in and not _keeps_in(operation, sentence, span.last):
            changes = ((span.first - 2, _PREPOSITION[operation.type]),)
        swaps.append(Swap(Slot("relation", step, 0, span, "middle"), new, new, changes))
    return swaps


def _keeps_in(operation: Operation, sentence: Sentence, after: int) -> bool:
    """Whether what follows takes "in": "in the left PART", and GQA says "in the top OF the photo"."""
    following = sentence.tokens[after : after + 1]
    return following in (("part",), ("side",)) or (operation.type == "vposition" and following == ("of",))
