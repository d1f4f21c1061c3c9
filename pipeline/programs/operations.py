"""Functional programs: GQA's spelling of a question's steps, read into typed operations.

    select: table (17)                          the tables of the picture
    filter color: not(red)                      those of them that are not red
    relate: cup,on,s (21)                       cups such that "cup on table": the named thing is the subject
    relate: _,wearing,o (4)                     things such that "man wearing thing": it is the object
    query: name / verify size: large / choose color: red|blue / choose rel: cup,on|under,s (21) / exist: ?
    and / or / same color / same: type / different color / common
    choose older: ?                             which of two things is older: read as `compare`

The id in parentheses says which object of its picture the question was made from; `-` that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Step

Verb = Literal[
    "select",
    "filter",
    "relate",
    "query",
    "verify",
    "choose",
    "exist",
    "and",
    "or",
    "same",
    "different",
    "common",
    "compare",
]

INPUTS: dict[str, tuple[int, ...]] = {  # verb -> how many earlier steps it may take
    "select": (0,),
    "filter": (1,),
    "relate": (1,),
    "query": (1,),
    "verify": (1,),
    "choose": (1,),
    "compare": (2,),
    "exist": (1,),
    "and": (2,),
    "or": (2,),
    "same": (1, 2),
    "different": (1, 2),
    "common": (2,),
}
FINDS = frozenset(("select", "filter", "relate"))  # their value is a set of things, the others' an answer
TRUTHS = frozenset(("exist", "verify", "and", "or", "same", "different"))  # the answer is yes or no
SCENE = "scene"

_NAMED = re.compile(r"\s*(?P<words>[^()]*?)\s*(?:\((?P<ids>[^()]*)\))?\s*")
_NOT = re.compile(r"not\((.*)\)")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a program.

    Attributes:
        type: what is spoken of: an attribute's type (color ...), "name", "rel", "place"; "" when not said.
        name: the thing that select, relate, verify rel and choose rel name; "_" for anything, "scene".
        values: the attribute of filter and verify, the relation(s), or the options of choose.
        negated: `not(...)`: the attribute must be absent.
        subject: the named thing is the relation's subject (`s`), not its object (`o`).
        object_ids: ids of the things meant in the question's own picture; () when none is given.
        absent: the id is `-`: the question was made knowing that there is no such thing.
        asserted: part of what an `exist` asks: without it the answer is no. All other steps that find things
            are presupposed: if they find none, the question has no answer.
    """

    verb: Verb
    type: str = ""
    name: str = ""
    values: tuple[str, ...] = ()
    negated: bool = False
    subject: bool = False
    object_ids: tuple[str, ...] = ()
    absent: bool = False
    inputs: tuple[int, ...] = ()
    asserted: bool = False


def parse(program: Sequence[Step], question: str = "") -> tuple[Operation, ...]:
    """Read a program.

    Raises:
        UserError: lists everything that is malformed and names the question (an id or its text).
    """
    problems = Problems(f"program of question {question!r}")
    if not program:
        problems.add("program", "it has no steps")
    operations: list[Operation] = []
    for index, step in enumerate(program):
        read = _read(step.operation.strip(), step.argument)
        where = f"step {index} ({step.operation}: {step.argument})"
        if isinstance(read, str):
            problems.add(where, read)
            read = Operation(verb="select", name="_")
        else:
            for fault in _faults(read.verb, step.dependencies, operations):
                problems.add(where, fault)
        operations.append(msgspec.structs.replace(read, inputs=step.dependencies))
    if operations and operations[-1].verb in FINDS and not problems.lines:
        problems.add("its end", f"the last step is {operations[-1].verb}, which asks nothing")
    problems.raise_if_any()
    return _mark_asserted(operations)


def _faults(verb: str, inputs: tuple[int, ...], earlier: list[Operation]) -> list[str]:
    """What is wrong with the steps an operation builds on."""
    wanted = INPUTS[verb]
    if len(inputs) not in wanted:
        return [f"takes {' or '.join(map(str, wanted))} earlier steps, got {len(inputs)}"]
    faults = []
    for i in inputs:
        if not 0 <= i < len(earlier):
            faults.append(f"builds on step {i}, which is not an earlier step")
        elif verb in ("and", "or"):
            if earlier[i].verb not in TRUTHS:
                faults.append(f"builds on step {i} ({earlier[i].verb}), which is neither true nor false")
        elif earlier[i].verb not in FINDS:
            faults.append(f"builds on step {i} ({earlier[i].verb}), which finds no things")
    return faults


@lru_cache(maxsize=1 << 16)
def _read(operation: str, argument: str) -> Operation | str:
    """One step without its inputs, or what is wrong with it. Few steps differ: each is read once."""
    verb, _, type_ = operation.partition(" ")
    type_ = type_.strip()
    if verb not in INPUTS:
        return f"unknown operation {operation!r}; known are {', '.join(INPUTS)}"
    argument = argument.strip()
    if (type_ == "rel" and verb in ("verify", "choose")) or verb in ("select", "relate"):
        return _read_named(verb, type_, argument)
    if verb == "query":
        return Operation(verb=verb, type=argument) if argument else "asks for no type, such as color or name"
    if verb in ("same", "different"):
        type_ = type_ or argument
        return Operation(verb=verb, type=type_) if type_ else "compares no type, such as color"
    if verb == "choose":
        if type_ and argument == "?":
            return Operation(verb="compare", type=type_)
        return _with_options(Operation(verb=verb, type=type_), argument)
    if verb in ("filter", "verify"):
        negated = _NOT.fullmatch(argument)
        value = negated[1].strip() if negated else argument
        operation = Operation(verb=verb, type=type_, values=(value,), negated=bool(negated))
        return operation if value else "names no attribute"
    return Operation(verb=verb)  # exist, and, or, common have no argument that matters


def _read_named(verb: str, type_: str, argument: str) -> Operation | str:
    match = _NAMED.fullmatch(argument)
    if not match or not match["words"]:
        return "expected words and an object id in parentheses, such as `table (123)`"
    ids = tuple(part.strip() for part in (match["ids"] or "").split(",") if part.strip())
    absent = "-" in ids
    common = {"verb": verb, "type": type_, "object_ids": () if absent else ids, "absent": absent}
    if verb == "select":
        return Operation(name=match["words"], **common)
    parts = [part.strip() for part in match["words"].split(",")]
    if len(parts) != 3 or parts[2] not in ("s", "o") or not parts[0] or not parts[1]:
        return "expected `name,relation,s` or `name,relation,o`"
    operation = Operation(name=parts[0], subject=parts[2] == "s", values=(parts[1],), **common)
    return _with_options(operation, parts[1]) if verb == "choose" else operation


def _with_options(operation: Operation, options: str) -> Operation | str:
    values = tuple(option.strip() for option in options.split("|"))
    if len(values) < 2 or not all(values):
        return "expected at least two options with | between them"
    return msgspec.structs.replace(operation, values=values)


def _mark_asserted(operations: list[Operation]) -> tuple[Operation, ...]:
    """Mark what each `exist` asks: its last noun phrase, back to where that phrase starts."""
    for operation in list(operations):
        if operation.verb == "exist":
            index = operation.inputs[0]
            while True:
                operations[index] = msgspec.structs.replace(operations[index], asserted=True)
                if operations[index].verb != "filter":
                    break
                index = operations[index].inputs[0]
    return tuple(operations)
