"""Looks that are denied, and looks that can be: "the cup that is not red" becomes "the cup that is red", and back.

A look of which nothing is known to exclude it is denied, but not of what is asked for: "What clothing is not hanging?"
has an answer nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.perturbing.alignment import root
from pipeline.perturbing.fitting import Swap
from pipeline.perturbing.sentence import Sentence
from pipeline.perturbing.slots import NEVER, POSITIONS, Slot
from pipeline.programs.operations import Operation

_VERBS = ("is", "are")
_CONTRACTED = {("isn", "'", "t"): "is", ("aren", "'", "t"): "are"}
_NEVER_DENIED = NEVER | POSITIONS | {"gender"}


def affirm(program: Sequence[Operation], sentence: Sentence) -> list[Swap]:
    """The swaps that take the "not" from what a question takes for granted."""
    swaps = []
    for step, operation in _presupposed(program, sentence):
        first, last = sentence.values[step, 0].first, sentence.values[step, 0].last
        value = sentence.said(sentence.values[step, 0])
        if not operation.negated:
            continue
        verb = _CONTRACTED.get(sentence.tokens[max(first - 3, 0) : first])
        if sentence.before(first) == "not":
            swaps.append(_swap(step, sentence, first - 1, last, operation, value, operation.values[0]))
        elif verb:
            swaps.append(
                _swap(step, sentence, first - 3, last, operation, f"{verb} {value}", operation.values[0])
            )
    return swaps


def deny(program: Sequence[Operation], sentence: Sentence) -> list[Swap]:
    """The swaps that put "not" before what a question takes for granted, where it stands after "is" or "are"."""
    swaps = []
    asked = root(program, program[-1].inputs[0]) if program[-1].type == "name" else -1
    for step, operation in _presupposed(program, sentence):
        span = sentence.values[step, 0]
        if root(program, step) == asked:
            continue
        if not operation.negated and sentence.before(span.first) in _VERBS and span.first >= 2:
            new = f"not({operation.values[0]})"
            text = f"not {sentence.said(span)}"
            swaps.append(_swap(step, sentence, span.first, span.last, operation, text, new))
    return swaps


def _presupposed(program: Sequence[Operation], sentence: Sentence) -> list[tuple[int, Operation]]:
    return [
        (step, operation)
        for step, operation in enumerate(program)
        if operation.verb == "filter"
        and not operation.asserted
        and operation.type not in _NEVER_DENIED
        and (step, 0) in sentence.values
    ]


def _swap(
    step: int, sentence: Sentence, first: int, last: int, operation: Operation, text: str, new: str
) -> Swap:
    return Swap(Slot("attribute", step, 0, sentence.span(first, last), operation.values[0]), new, text)
