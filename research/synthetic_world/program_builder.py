"""Build functional programs in GQA's format step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.records import Step
from research.synthetic_world.ontology import ATTRIBUTE_TYPES

# Attribute types that GQA does not write in operations: `filter: open`, but `filter color: red`.
_UNTYPED = ("openness", "light", "fullness")
Program = tuple[Step, ...]


def start_program(selected: str, *rest: tuple[str, str]) -> Program:
    """Return a program: `select`, followed by (operation, argument) steps.

    Each step uses the result of the previous step.
    """
    program: Program = (Step(operation="select", argument=selected, dependencies=()),)
    for operation, argument in rest:
        program = add_step(program, operation, argument)
    return program


def add_step(program: Program, operation: str, argument: str) -> Program:
    """Add a step that uses the result of the last step."""
    return add_joining_step(program, operation, argument, [len(program) - 1])


def add_joining_step(program: Program, operation: str, argument: str, dependencies: Iterable[int]) -> Program:
    """Add a step that uses the results of the steps in `dependencies`."""
    return (*program, Step(operation=operation, argument=argument, dependencies=tuple(dependencies)))


def concatenate_programs(first: Program, second: Program) -> Program:
    """Concatenate two programs and shift the dependencies of the second."""
    shift = len(first)
    return first + tuple(
        Step(
            operation=s.operation, argument=s.argument, dependencies=tuple(d + shift for d in s.dependencies)
        )
        for s in second
    )


def typed_operation(operation: str, value: str) -> str:
    """Return the operation with its type: `filter color` for "red", `filter` for "open"."""
    kind = ATTRIBUTE_TYPES[value]
    return operation if kind in _UNTYPED else f"{operation} {kind}"


def add_filter(program: Program, value: str, negated: bool = False) -> Program:
    """Add a filter that keeps objects with the attribute, or without it."""
    return add_step(program, typed_operation("filter", value), f"not({value})" if negated else value)


def combine_programs(operation: str, first: Program, second: Program) -> Program:
    """Concatenate two programs and add a last step (`and`, `or`, `same color`, ...) that uses both results."""
    both = concatenate_programs(first, second)
    return add_joining_step(both, operation, "", (len(first) - 1, len(both) - 1))


def to_semantic_string(program: Sequence[Step]) -> str:
    """Return the program as text in GQA's format: `select: furniture (17)->filter color: brown [0]->query:
    name [1]`.
    """

    def format_step(step: Step) -> str:
        return f"{step.operation}: {step.argument}"

    return "->".join(
        f"{format_step(s)} {list(s.dependencies)}" if s.dependencies else format_step(s) for s in program
    )
