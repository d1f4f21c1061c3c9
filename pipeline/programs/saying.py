"""Programs in words, for the reasons that a judgement gives: `red cup`, `cup on red table`."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.programs.operations import Operation

Program = Sequence[Operation]


def name_of(operation: Operation) -> str:
    return "object" if operation.name == "_" else operation.name


def phrase(program: Program, index: int) -> str:
    """The things a step finds."""
    operation = program[index]
    if operation.verb == "filter":
        attribute = f"not {operation.values[0]}" if operation.negated else operation.values[0]
        return f"{attribute} {phrase(program, operation.inputs[0])}"
    if operation.verb == "relate":
        return clause(program, operation, operation.values[0])
    return name_of(operation)


def clause(program: Program, operation: Operation, relation: str) -> str:
    """What a relation asks for: `cup on table`, or `hat (man wearing it)` when the input is the subject."""
    anchor = phrase(program, operation.inputs[0])
    name = name_of(operation)
    return f"{name} {relation} {anchor}" if operation.subject else f"{name} ({anchor} {relation} it)"
