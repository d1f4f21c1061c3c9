"""Decide whether the answer to one question follows from the answer to another about the same image.

As in GQA, objects are identified by their ids, whatever the questions call them. The presuppositions of the
other question are assumed to hold, because this question is known to have an answer.
"""

from __future__ import annotations

import msgspec

from pipeline.language.functional_programs import MULTI_VALUED_TYPES, OBJECT_SET_VERBS, Operation
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.statement_merging import merge_statements
from pipeline.verifier.statements import Statement, extract_program_statements, make_name_statements
from pipeline.verifier.verification import execute_program

Program = tuple[Operation, ...]
# The parsed program of a question, and its answer.
AnsweredProgram = tuple[Program, str]


def explain_non_entailment(known: AnsweredProgram, other: AnsweredProgram, lexicon: Lexicon) -> str:
    """Explain why the second answer does not follow from the first. "" if it does follow."""
    (program, answer), (_, wanted) = known, other
    grounded = _ground_program(other[0])
    if answer == wanted and _normalize_step(_ground_program(program)) == _normalize_step(grounded):
        return ""
    # "#21" is stated less often than the names of the object, so that it does not become the label of the
    # object.
    handles = []
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
    """Return negated values: an object that is red has none of the other colors in the program.

    In this world, words are exact. In real images, people may call the same color red or pink, and the
    verifier assumes this.
    """
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
    """Replace descriptions by ids: the steps that select object 17 become `select: #17`."""
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
    """Return what a step asks, independent of the order of its inputs and options."""
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
