"""Looks that are denied, and looks that can be: "the cup that is not red" becomes "the cup that is red", and back.

A look of which nothing is known to exclude it is denied, but not of what is asked for: "What clothing is not hanging?"
has an answer nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.perturbing.edit_case import EditCase
from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.slots import NEVER, Slot, asked_step, presupposed_filters
from pipeline.programs.attribute_types import POSITIONS
from pipeline.programs.operations import Operation, root
from pipeline.programs.sentence import Span

_CONTRACTED: dict[tuple[str, ...], str] = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NEVER_DENIED = NEVER | POSITIONS | {"gender"}


def affirm(case: EditCase) -> list[Swap]:
    """The swaps that take the "not" from what a question takes for granted."""
    sentence, swaps = case.sentence, []
    for step, operation, span in _deniable(case):
        value, look = sentence.said(span), operation.values[0]
        verb = _CONTRACTED.get(sentence.tokens[max(span.first - 3, 0) : span.first])
        if operation.negated and (verb or sentence.before(span.first) == "not"):
            first, text = (span.first - 3, f"{verb} {value}") if verb else (span.first - 1, value)
            slot = Slot("attribute", step, 0, sentence.span(first, span.last), look)
            swaps.append(Swap(slot, look, text))
    return swaps


def deny(case: EditCase) -> list[Swap]:
    """The swaps that put "not" before what a question takes for granted, where it stands after "is" or "are"."""
    sentence, swaps = case.sentence, []
    for step, operation, span in _deniable(case):
        stated = not operation.negated and sentence.before(span.first) in ("is", "are") and span.first >= 2
        if stated and root(case.program, step) != asked_step(case.program):
            look = operation.values[0]
            slot = Slot("attribute", step, 0, span, look)
            swaps.append(Swap(slot, f"not({look})", f"not {sentence.said(span)}"))
    return swaps


def _deniable(case: EditCase) -> Iterator[tuple[int, Operation, Span]]:
    for step, operation, span in presupposed_filters(case.program, case.sentence):
        if operation.type not in _NEVER_DENIED:
            yield step, operation, span
