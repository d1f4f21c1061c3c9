"""Parse GQA's functional programs into typed operations, and describe them in words.

    select: table (17)             the tables in the image
    filter color: not(red)         the tables that are not red
    relate: cup,on,s (21)          cups such that "cup on table": the named object is the subject (s)
    relate: _,wearing,o (4)        objects such that "man wearing object": the named object is the object (o)
    query: name
    verify size: large
    choose color: red|blue
    choose rel: cup,on|under,s (21)
    exist: ?
    and, or
    same color, same: type
    different color
    common
    choose older: ?                which of two objects is older: parsed as `compare`

The number in parentheses is the id of the object from which the question was generated. `-` means that the
image shows no such object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NoReturn, get_args

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Question, Step

ObjectSetVerb = Literal["select", "filter", "relate"]
BooleanVerb = Literal["exist", "verify", "and", "or", "same", "different"]
Verb = Literal[ObjectSetVerb, BooleanVerb, "query", "choose", "compare", "common"]
# Verbs whose value is a set of objects. The value of the other verbs is an answer.
OBJECT_SET_VERBS = frozenset(get_args(ObjectSetVerb))
# Verbs whose answer is yes or no.
BOOLEAN_VERBS = frozenset(get_args(BooleanVerb))
# For each verb, the possible numbers of earlier steps that it builds on.
INPUT_COUNTS: dict[Verb, tuple[int, ...]] = {
    "select": (0,),
    **dict.fromkeys(("filter", "relate", "query", "verify", "choose", "exist"), (1,)),
    **dict.fromkeys(("compare", "and", "or", "common"), (2,)),
    **dict.fromkeys(("same", "different"), (1, 2)),
}
SCENE = "scene"
# Types for the position of an object in the image -> values, from left to right and from top to bottom.
POSITION_VALUES = {"hposition": ("left", "middle", "right"), "vposition": ("top", "middle", "bottom")}
POSITION_TYPES = frozenset(POSITION_VALUES)
# Types that are queried like types of attributes, but whose values are not attributes.
NON_ATTRIBUTE_TYPES = frozenset(("name", "rel", "place", "room", "location", "type"))
# Types of which an object may have several values at the same time. Of every other type, an object has one
# value.
MULTI_VALUED_TYPES = frozenset(("", "activity", "sport", "sportActivity", "other", "weather", "flavor"))
# Recognizes existence questions that have neither a detailed type nor a program.
EXISTENCE_PATTERN = re.compile(
    r"(is|are) there\b|(do|can) you see\b|does the (picture|image|photo) (show|contain)\b", re.IGNORECASE
)

_NAME_AND_IDS_PATTERN = re.compile(r"\s*(?P<words>[^()]*?)\s*(?:\((?P<ids>[^()]*)\))?\s*")
_NEGATION_PATTERN = re.compile(r"not\((.*)\)")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a program.

    Attributes:
        verb: What the step does.
        type: A type of attributes such as "color", or "name", "rel" or "place"; "" if not given.
        name: Name of the object in the steps select, relate, verify rel and choose rel; "" in other steps.
            "_" is any object, "scene" is the scene.
        values: The attribute of filter and verify, the relation, or the options of choose.
        is_negated: Whether the attribute must be absent (`not(...)`).
        is_subject: Whether the named object is the subject of the relation (`s`), not the object (`o`).
        object_ids: The ids of the objects in the question's own image; () if no ids are given.
        is_absent: Whether the id is `-`, because the image is known to show no such object.
        inputs: The indices of the earlier steps that this step builds on.
        is_asserted: Whether the step belongs to the noun phrase that a step `exist` asks about. If such a
            step selects nothing, the answer is no. All other steps that select objects are presupposed: if
            such a step selects nothing, the question has no answer.
    """

    verb: Verb
    type: str = ""
    name: str = ""
    values: tuple[str, ...] = ()
    is_negated: bool = False
    is_subject: bool = False
    object_ids: tuple[str, ...] = ()
    is_absent: bool = False
    inputs: tuple[int, ...] = ()
    is_asserted: bool = False


Program = Sequence[Operation]


def parse_program(program: Sequence[Step], question: str = "") -> tuple[Operation, ...]:
    """Parse a program.

    Args:
        program: The steps as GQA writes them.
        question: An id or a text that identifies the question in error messages.

    Raises:
        UserError: Lists all malformed steps.
    """
    problems = Problems(f"program of question {question!r}")
    if not program:
        problems.add("program", "it has no steps")
    operations: list[Operation] = []
    for index, step in enumerate(program):
        try:
            operation = _parse_step(step.operation, step.argument, step.dependencies)
            faults = _check_inputs(operation.verb, step.dependencies, operations)
        except ValueError as malformed:
            operation, faults = Operation(verb="select", name="_", inputs=step.dependencies), [str(malformed)]
        for fault in faults:
            problems.add(f"step {index} ({step.operation}: {step.argument})", fault)
        operations.append(operation)
    if operations and operations[-1].verb in OBJECT_SET_VERBS and not problems.lines:
        problems.add("its end", f"the last step is {operations[-1].verb}, which asks nothing")
    problems.raise_if_any()
    # Each step `exist` asks about the noun phrase of the step that it builds on.
    exists = (operation.inputs[0] for operation in operations if operation.verb == "exist")
    asked = {i for last in exists for i in collect_noun_phrase(operations, last)}
    return tuple(
        msgspec.structs.replace(step, is_asserted=True) if i in asked else step
        for i, step in enumerate(operations)
    )


def collect_noun_phrase(program: Program, index: int) -> list[int]:
    """Return the steps of a noun phrase: the filters, the last filter first, then the step that names the
    object.

    Args:
        program: The parsed program.
        index: Index of the last step of the phrase.
    """
    steps = [index]
    while program[steps[-1]].verb == "filter":
        steps.append(program[steps[-1]].inputs[0])
    return steps


def find_root_step(program: Program, index: int) -> int:
    """Return the step that names the object to which a chain of filters applies."""
    return collect_noun_phrase(program, index)[-1]


def get_display_name(operation: Operation) -> str:
    """Return the name of an operation's object for messages."""
    return "object" if operation.name == "_" else operation.name


def describe_objects(program: Program, index: int) -> str:
    """Describe the objects that the step with an index selects.

    >>> table = Step(operation="select", argument="table (1)", dependencies=())
    >>> color = Step(operation="filter color", argument="red", dependencies=(0,))
    >>> size = Step(operation="query", argument="size", dependencies=(1,))
    >>> describe_objects(parse_program([table, color, size]), 1)
    'red table'
    """
    operation = program[index]
    if operation.verb == "filter":
        attribute = f"not {operation.values[0]}" if operation.is_negated else operation.values[0]
        return f"{attribute} {describe_objects(program, operation.inputs[0])}"
    if operation.verb == "relate":
        return describe_relation(program, operation, operation.values[0])
    return get_display_name(operation)


def describe_relation(program: Program, operation: Operation, relation: str) -> str:
    """Describe the objects that a step `relate` selects: `cup on table`, or `hat (man wearing it)`.

    Args:
        program: The parsed program.
        operation: The step.
        relation: The relation to write, which may differ from the relation of the step.
    """
    anchor = describe_objects(program, operation.inputs[0])
    name = get_display_name(operation)
    return f"{name} {relation} {anchor}" if operation.is_subject else f"{name} ({anchor} {relation} it)"


def is_existence_question(question: Question) -> bool:
    """Return whether a question asks if something exists.

    The detailed type of GQA decides if it is known. Otherwise the last step of the program decides (`exist`,
    or `and` or `or` over such steps). Without a program, the first words of the text decide.
    """
    if question.detailed.startswith("exist"):
        return True
    program = question.program
    if not program:
        return not question.detailed and EXISTENCE_PATTERN.match(question.text) is not None

    def asks_existence(index: int) -> bool:
        step = program[index]
        if step.operation in ("and", "or"):
            return bool(step.dependencies) and all(
                0 <= i < index and asks_existence(i) for i in step.dependencies
            )
        return step.operation == "exist"

    return asks_existence(len(program) - 1)


def _check_inputs(verb: Verb, inputs: tuple[int, ...], earlier: list[Operation]) -> list[str]:
    """Return messages about what is wrong with the steps that an operation builds on; [] if nothing is wrong."""
    wanted = INPUT_COUNTS[verb]
    if len(inputs) not in wanted:
        return [f"takes {' or '.join(map(str, wanted))} earlier steps, got {len(inputs)}"]
    faults = []
    for i in inputs:
        if not 0 <= i < len(earlier):
            faults.append(f"builds on step {i}, which is not an earlier step")
        elif verb in ("and", "or"):
            if earlier[i].verb not in BOOLEAN_VERBS:
                faults.append(f"builds on step {i} ({earlier[i].verb}), which is neither true nor false")
        elif earlier[i].verb not in OBJECT_SET_VERBS:
            faults.append(f"builds on step {i} ({earlier[i].verb}), which selects no objects")
    return faults


@lru_cache(maxsize=1 << 16)
def _parse_step(operation: str, argument: str, inputs: tuple[int, ...]) -> Operation:
    """Parse one step. Results are cached, because many programs have the same steps.

    Raises:
        ValueError: The step is malformed.
    """
    return msgspec.structs.replace(_parse_operation(operation.strip(), argument.strip()), inputs=inputs)


def _parse_operation(operation: str, argument: str) -> Operation:
    first, _, type_ = operation.partition(" ")
    type_ = type_.strip()
    verb: Verb | None = next((verb for verb in INPUT_COUNTS if verb == first), None)
    if verb is None:
        _raise_malformed(f"unknown operation {operation!r}; known are {', '.join(INPUT_COUNTS)}")
    if verb in ("select", "relate") or (type_ == "rel" and verb in ("verify", "choose")):
        return _parse_named_operation(verb, type_, argument)
    if verb == "query":
        return Operation(
            verb=verb, type=argument or _raise_malformed("asks for no type, such as color or name")
        )
    if verb in ("same", "different"):
        return Operation(
            verb=verb, type=type_ or argument or _raise_malformed("compares no type, such as color")
        )
    if verb == "choose" and type_ and argument == "?":
        return Operation(verb="compare", type=type_)
    if verb == "choose":
        return Operation(verb=verb, type=type_, values=_parse_options(argument))
    if verb in ("filter", "verify"):
        negated = _NEGATION_PATTERN.fullmatch(argument)
        value = (negated[1].strip() if negated else argument) or _raise_malformed("names no attribute")
        return Operation(verb=verb, type=type_, values=(value,), is_negated=bool(negated))
    # The arguments of exist, and, or and common carry no information.
    return Operation(verb=verb)


def _parse_named_operation(verb: Verb, type_: str, argument: str) -> Operation:
    match = _NAME_AND_IDS_PATTERN.fullmatch(argument)
    if not match or not match["words"]:
        _raise_malformed("expected words and an object id in parentheses, such as `table (123)`")
    ids = tuple(part.strip() for part in (match["ids"] or "").split(",") if part.strip())
    meant = Operation(verb=verb, type=type_, object_ids=() if "-" in ids else ids, is_absent="-" in ids)
    if verb == "select":
        return msgspec.structs.replace(meant, name=match["words"])
    name, relation, role = (*(part.strip() for part in match["words"].split(",")), "", "")[:3]
    if not (name and relation and role in ("s", "o")) or match["words"].count(",") != 2:
        _raise_malformed("expected `name,relation,s` or `name,relation,o`")
    values = _parse_options(relation) if verb == "choose" else (relation,)
    return msgspec.structs.replace(meant, name=name, is_subject=role == "s", values=values)


def _parse_options(text: str) -> tuple[str, ...]:
    options = tuple(option.strip() for option in text.split("|"))
    if len(options) < 2 or not all(options):
        _raise_malformed("expected at least two options with | between them")
    return options


def _raise_malformed(problem: str) -> NoReturn:
    raise ValueError(problem)
