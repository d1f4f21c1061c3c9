"""Functional programs as GQA writes them, put together step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.records import Step
from research.synthetic_world.ontology import ATTRIBUTE_TYPES

_UNTYPED = ("openness", "light", "fullness")  # GQA writes `filter: open`, but `filter color: red`
Program = tuple[Step, ...]


def start_program(selected: str, *rest: tuple[str, str]) -> Program:
    """`select` and further (operation, argument), each taking what the one before yields."""
    program: Program = (Step(operation="select", argument=selected, dependencies=()),)
    for operation, argument in rest:
        program = add_step(program, operation, argument)
    return program


def add_step(program: Program, operation: str, argument: str) -> Program:
    """One more step, which takes what the last one yields."""
    return add_joining_step(program, operation, argument, [len(program) - 1])


def add_joining_step(program: Program, operation: str, argument: str, dependencies: Iterable[int]) -> Program:
    """One more step, which takes what the given ones yield."""
    return (*program, Step(operation=operation, argument=argument, dependencies=tuple(dependencies)))


def concatenate_programs(first: Program, second: Program) -> Program:
    """Both programs in one, the second one's dependencies moved along."""
    shift = len(first)
    return first + tuple(
        Step(
            operation=s.operation, argument=s.argument, dependencies=tuple(d + shift for d in s.dependencies)
        )
        for s in second
    )


def typed_operation(operation: str, value: str) -> str:
    """`filter color` for "red", `filter` for "open"."""
    kind = ATTRIBUTE_TYPES[value]
    return operation if kind in _UNTYPED else f"{operation} {kind}"


def add_filter(program: Program, value: str, negated: bool = False) -> Program:
    """Keep what has the attribute, or what has not."""
    return add_step(program, typed_operation("filter", value), f"not({value})" if negated else value)


def combine_programs(operation: str, first: Program, second: Program) -> Program:
    """Both programs, and a last step (`and`, `or`, `same color`, ...) that takes what they yield."""
    both = concatenate_programs(first, second)
    return add_joining_step(both, operation, "", (len(first) - 1, len(both) - 1))


def to_semantic_string(program: Sequence[Step]) -> str:
    """`select: furniture (17)->filter color: brown [0]->query: name [1]`."""

    def said(step: Step) -> str:
        return f"{step.operation}: {step.argument}"

    return "->".join(f"{said(s)} {list(s.dependencies)}" if s.dependencies else said(s) for s in program)
