"""Whether the answer to one question follows from the answer to another about the same image.

As in GQA, things are told apart by their ids, however they are described; what the other question presupposes
of them is granted, since it is known to have an answer.
"""

from __future__ import annotations

import msgspec

from pipeline.language.functional_programs import MULTI_VALUED_TYPES, OBJECT_SET_VERBS, Operation
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.statement_merging import merge_statements
from pipeline.verifier.statements import Statement, extract_program_statements, make_name_statements
from pipeline.verifier.verification import execute_program

Program = tuple[Operation, ...]
AnsweredProgram = tuple[Program, str]  # a question's parsed program and its answer


def explain_non_entailment(known: AnsweredProgram, other: AnsweredProgram, lexicon: Lexicon) -> str:
    """What keeps the second answer from following from the first; "" when it does follow."""
    (program, answer), (_, wanted) = known, other
    grounded = _ground_program(other[0])
    if answer == wanted and _normalize_step(_ground_program(program)) == _normalize_step(grounded):
        return ""
    handles = []  # "#21" is said of the thing less often than its own names, so that it is not what it is called
    for operation in grounded:
        if operation.name.startswith("#"):
            handles += [
                *make_name_statements(operation.name, operation.object_ids),
                Statement("unique", value=operation.name),
            ]
    said = list(extract_program_statements(program, answer))
    said += _exactly(said, grounded, lexicon)
    facts, _ = merge_statements(dict.fromkeys(said, ("", "")) | dict.fromkeys(handles, ("",)), lexicon)
    outcome = execute_program(grounded, facts)
    return (
        ""
        if outcome.possible_answers == (wanted,)
        else outcome.detail or " or ".join(outcome.possible_answers)
    )


def _exactly(said: list[Statement], program: Program, lexicon: Lexicon) -> list[Statement]:
    """In this world words are exact: what is said to be red is none of the other colours that a program speaks of. (The
    judge holds that of real images people may call the same sight red and pink.)"""
    values = {value for operation in program for value in operation.values}
    has = {
        (statement.subject, statement.value)
        for statement in said
        if statement.kind == "attribute" and statement.holds
    }
    return [
        Statement("attribute", subject, type_, other, holds=False)
        for subject, value in sorted(has)
        if (type_ := lexicon.get_attribute_type(value)) and type_ not in MULTI_VALUED_TYPES
        for other in sorted(values)
        if lexicon.get_attribute_type(other) == type_ and (subject, other) not in has
    ]


def _ground_program(program: Program) -> Program:
    """The program with ids in place of descriptions: `select: #17` for whatever finds the thing 17."""
    filtered = {operation.inputs[0] for operation in program if operation.verb == "filter"}
    grounded: list[Operation] = []
    for index, operation in enumerate(program):
        ids = grounded[operation.inputs[0]].object_ids if operation.verb == "filter" else operation.object_ids
        asks_whether = operation.verb == "select" and operation.is_asserted and index not in filtered
        if ids and not asks_whether:
            alias = "#" + ",".join(ids)
            operation = msgspec.structs.replace(operation, name=alias, object_ids=ids)
            if operation.verb == "select" or (
                operation.verb in OBJECT_SET_VERBS and not operation.is_asserted
            ):
                operation = Operation(verb="select", name=alias, object_ids=ids)
        grounded.append(operation)
    return tuple(grounded)


def _normalize_step(program: Program, index: int = -1) -> tuple:
    """What a step asks, whatever the order of its inputs and options."""
    operation = program[index]
    inputs = tuple(sorted(_normalize_step(program, i) for i in operation.inputs))
    return (
        operation.verb,
        operation.type,
        operation.name,
        tuple(sorted(operation.values)),
        operation.is_negated,
        operation.is_subject,
        inputs,
    )
