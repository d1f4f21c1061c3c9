"""Another thing in the place of one that a question takes for granted (PT-Easy), like what the rest of it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.perturbing.fitting import Numbers, Swap, follows_kind, one_worn, possible_numbers, put_thing
from pipeline.perturbing.objects import Demands
from pipeline.perturbing.slots import EditCase, Slot, asked_step
from pipeline.programs.operations import FINDS, NO_LOOK, POSITIONS, Operation, root
from pipeline.programs.sentence import Sentence

_OF_PEOPLE = frozenset(("race", "gender"))
_KINDS_COMPARED = frozenset(("species", "breed", "breeds"))  # "of the same species": said of living things


def other_thing(
    case: EditCase, slot: Slot, random: Sequence[float], earlier: Sequence[Swap], may_stay: bool
) -> Swap | None:
    """The swap of a slot for a thing that is not in the picture and is none of those put in already."""
    if _goes_with_options(case, slot):
        return None
    sentence, category = case.sentence, _wants_category(case, slot)
    kin = wants_kin(sentence, case.program, slot)
    demanded = demands(case.program, slot.step, kin) if slot.step >= 0 else Demands(kin=kin)
    numbers: Numbers = possible_numbers(sentence, slot)
    types = case.replacements.vocabulary.attribute_types
    sized = any(types.get(attribute) == "size" for group in demanded.attributes for attribute in group)
    if sized and not category:  # no "small water"
        numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
    swap = put_thing(case, slot, numbers, category, demanded, earlier, random, may_stay)
    if swap and _says_who(case, slot):
        return replace(swap, text=f"{'which' if random[1] < 0.5 else 'what'} {swap.text}")
    return swap and one_worn(swap, sentence)


def reason_for_none(case: EditCase, slots: Sequence[Slot]) -> str:
    """Why nothing takes the place of any of these slots."""
    if any(_goes_with_options(case, slot) for slot in slots):
        return "its category goes with the options of a choice"
    return "no other object fits"


def _goes_with_options(case: EditCase, slot: Slot) -> bool:
    """Whether options are named of a slot's kind: "What animal is it, a cow or a sheep?"."""
    return case.program[-1].verb == "choose" and slot.step == asked_step(case.program)


def _wants_category(case: EditCase, slot: Slot) -> bool | None:
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    asked = slot.step == asked_step(case.program)
    if asked or follows_kind(case.sentence, slot) or _says_who(case, slot):
        return True
    return None if slot.word == "person" else slot.word in case.replacements.vocabulary.categories


def _says_who(case: EditCase, slot: Slot) -> bool:
    """Whether the slot is the word that asks: "WHO is standing?" becomes "WHICH ANIMAL is standing?"."""
    return case.sentence.tokens[slot.span.first] == "who"


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
