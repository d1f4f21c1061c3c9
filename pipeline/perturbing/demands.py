"""What the rest of a question says of a thing that it names; whatever takes its place should be like that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.perturbing.slots import Slot
from pipeline.programs.attribute_types import NO_LOOK, POSITIONS
from pipeline.programs.operations import FINDS, Operation, root
from pipeline.programs.sentence import Sentence

_OF_PEOPLE = frozenset(("race", "gender"))
_KINDS_COMPARED = frozenset(("species", "breed", "breeds"))  # "of the same species": said of living things


@dataclass(frozen=True, slots=True)
class Demands:
    """What is said of a thing.

    Attributes:
        attributes: groups of attributes; of each group it should have one.
        relations: (relation, "s" or "o") for one in which it is the subject or the object.
        types: types of attributes of which it should have a value.
        kin: only one of its own category makes sense: "the girl's hair", "the same species".
    """

    attributes: tuple[tuple[str, ...], ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    types: tuple[str, ...] = ()
    kin: bool = False


def demands(program: Sequence[Operation], step: int, kin: bool = False) -> Demands:
    """What a program says of the thing that one of its steps names; `kin` as in Demands."""
    attributes: list[tuple[str, ...]] = []
    relations: list[tuple[str, str]] = []
    types: list[str] = []
    own = program[step]
    if own.verb in ("relate", "verify", "choose"):
        relations += [(value, "s" if own.subject else "o") for value in own.values]
    for operation in program:
        if not any(program[i].verb in FINDS and root(program, i) == step for i in operation.inputs):
            continue
        if operation.verb == "relate" or operation.type == "rel":
            relations += [(value, "o" if operation.subject else "s") for value in operation.values]
        elif operation.type in POSITIONS | NO_LOOK:
            continue
        elif (operation.verb == "filter" and not operation.negated) or (
            operation.values and not operation.type
        ):
            attributes.append(operation.values)
        elif operation.type:  # asked for, or denied: "not red" is said of what has a colour
            types.append(operation.type)
    return Demands(tuple(attributes), tuple(relations), tuple(types), kin)


def wants_kin(sentence: Sentence, program: Sequence[Operation], slot: Slot) -> bool:
    """Whether only something of the same kind makes sense: it owns a part ("the girl's hair", "the man shirt"), it is
    one of those that are compared (in kind, in age), or has a look that people have ("Asian")."""
    after = slot.span.last
    owner = sentence.tokens[after : after + 1] == ("'s",)
    owner = owner or any(span.first == after for span in sentence.names.values())
    looks = (o for o in program if o.type in _OF_PEOPLE and o.inputs)
    human = any(root(program, look.inputs[0]) == slot.step for look in looks)
    ranked = program[-1].verb == "compare"
    return owner or human or ranked or not _KINDS_COMPARED.isdisjoint(sentence.tokens)
