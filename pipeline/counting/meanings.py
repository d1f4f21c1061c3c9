"""What the programs of questions tell of words: types of attributes, categories of things, what is asked
for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipeline.core.records import Question
from pipeline.programs.operations import SCENE, Operation
from pipeline.words.frames import PRONOUNS

# What `query`, `choose` and `filter` speak of that is not a look of one thing.
NO_ATTRIBUTE = frozenset(("", "name", "rel", "hposition", "vposition", "place", "room", "location", "type"))


def attribute_types(
    questions: Iterable[tuple[Question, tuple[Operation, ...]]],
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Attribute -> its commonest GQA type; and attributes without a type -> what else they are offered
    with."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    choices: dict[str, set[str]] = defaultdict(set)
    for question, program in questions:
        for operation in program:
            if operation.inputs and program[operation.inputs[0]].name == SCENE:
                continue
            if operation.verb in ("filter", "verify", "choose") and operation.type not in NO_ATTRIBUTE:
                for value in operation.values:
                    counts[value][operation.type] += 1
            elif operation.verb == "query" and operation.type not in NO_ATTRIBUTE:
                counts[question.answer][operation.type] += 1
            elif operation.verb == "choose" and not operation.type:
                for value in operation.values:
                    choices[value].update(operation.values)
    types = {
        value: min(found, key=lambda kind: (-found[kind], kind)) for value, found in sorted(counts.items())
    }
    return types, {value: tuple(sorted(others - {value})) for value, others in sorted(choices.items())}


def categories(
    questions: Iterable[tuple[Question, tuple[Operation, ...]]],
    names: Mapping[tuple[str, str], str],
    min_members: int,
) -> dict[str, tuple[str, ...]]:
    """Category -> members: a step that says "furniture" of a thing that its graph, or the answer, calls a
    couch.

    Args:
        names: (picture id, object id) -> the scene graph's name.
    """
    members: dict[str, set[str]] = defaultdict(set)
    for question, program in questions:
        for operation in program:
            if operation.name and operation.name not in PRONOUNS:
                members[operation.name].update(
                    names[question.picture_id, i]
                    for i in operation.object_ids
                    if (question.picture_id, i) in names
                )
        last = program[-1]
        if last.type == "name" and last.inputs:
            source = _source(program, last.inputs[0])
            if source.name not in PRONOUNS:
                members[source.name].update((question.answer,) if last.verb == "query" else last.values)
    found = {}
    for name, called in sorted(members.items()):
        others = {other for other in called if other and other != name}
        if len(others) >= min_members:
            found[name] = tuple(sorted(others))
    return found


def _source(program: Sequence[Operation], index: int) -> Operation:
    """The select or relate that a chain of filters starts from."""
    while program[index].verb == "filter":
        index = program[index].inputs[0]
    return program[index]


def asked(programs: Iterable[tuple[Question, tuple[Operation, ...]]]) -> Counter[str]:
    """Name -> how many questions take such a thing for granted."""
    counts: Counter[str] = Counter()
    for _, program in programs:
        counts.update({o.name for o in program if o.name and o.name not in PRONOUNS and not o.asserted})
    return counts


def described(programs: Iterable[tuple[Question, tuple[Operation, ...]]]) -> Counter[str]:
    """Attribute, position or relation -> how many questions take it for granted of something."""
    counts: Counter[str] = Counter()
    for _, program in programs:
        counts.update(
            {
                o.values[0]
                for o in program
                if o.verb in ("filter", "relate") and not o.asserted and not o.negated
            }
        )
    return counts
