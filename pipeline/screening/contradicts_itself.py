"""The question speaks of a thing that cannot be: old and young, red and not red."""

from __future__ import annotations

from pipeline.programs.attribute_types import OVERLAPPING
from pipeline.screening.screen_case import Fault, ScreenCase, looks
from pipeline.words.likeness import similar

_MIXED = frozenset(("color", "pattern", "material"))  # "the shirt that looks yellow and white" may be there


def looks_that_exclude_each_other(case: ScreenCase) -> Fault:
    """Two looks of one thing of which it can only have one."""
    for operation in case.program:
        if operation.verb != "filter":
            continue
        look = operation.values[0]
        for other in looks(case.program, operation.inputs[0]):
            other_look = other.values[0]
            if operation.negated != other.negated:
                if look == other_look:
                    return f"{look} and not {look}"
            elif (
                not operation.negated
                and operation.type == other.type
                and operation.type not in OVERLAPPING | _MIXED
                and not similar(look, other_look)
            ):
                return f"{look} and {other_look}"
    return None
