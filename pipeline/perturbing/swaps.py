"""From a question to its swaps: other things (PT-Easy), other looks and opposite relations (PT-Hard)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pipeline.core.records import Step, Word
from pipeline.judge.facts import Facts
from pipeline.judge.programs import Operation
from pipeline.perturbing.alignment import root
from pipeline.perturbing.demands import demands
from pipeline.perturbing.fitting import (
    Swap,
    follows_kind,
    possible_numbers,
    put_look,
    put_opposite,
    put_thing,
)
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.sentence import Sentence
from pipeline.perturbing.slots import Slot, attribute_slots, object_slots, relation_slots


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what is known of it.

    Attributes:
        program: () if the question came without one. words: the tagged words of its text.
        facts: the evidence about its picture, if any; present: rows of the objects it shows by that evidence.
    """

    sentence: Sentence
    program: Sequence[Operation]
    words: Sequence[Word]
    facts: Facts | None
    present: np.ndarray


def swap_things(case: Case, replacements: Replacements, random: Sequence[float]) -> tuple[list[Swap], str]:
    """Another thing for every presupposed one that something fits, and if there is none, why.

    Args:
        random: two numbers in [0, 1) for each slot.
    """
    sentence, program, last = case.sentence, case.program, case.program[-1]
    found = object_slots(program, sentence)
    asked = root(program, last.inputs[0]) if last.type == "name" else -1
    taken = case.present
    swaps = []
    for number, slot in enumerate(found.slots):
        if slot.step == asked and last.verb == "choose":
            continue  # "What animal is this, a cow or a sheep?": another category fits neither
        first, second = random[2 * number], random[2 * number + 1]
        category = _wants_category(slot, asked, sentence, replacements)
        numbers = possible_numbers(sentence, slot)
        new = replacements.thing(
            slot.word, frozenset(numbers), category, demands(program, slot.step), taken, (first, second)
        )
        if new is not None:
            taken = taken | replacements.table.confusable(new)
            swaps.append(put_thing(slot, new, sentence, numbers, second))
    return swaps, "" if swaps else found.reason or "no other object fits"


def _wants_category(slot: Slot, asked: int, sentence: Sentence, replacements: Replacements) -> bool | None:
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    if slot.step == asked or follows_kind(sentence, slot):
        return True
    return None if slot.word == "person" else slot.word in replacements.vocabulary.categories


def swap_looks(case: Case, replacements: Replacements, random: Sequence[float]) -> tuple[list[Swap], str]:
    """Another attribute of the same type and thing for every presupposed one, and the opposite of every
    presupposed spatial relation; if there is none, why.

    Args:
        random: two numbers in [0, 1) for each slot.
    """
    looks = attribute_slots(case.program, case.sentence)
    relations = relation_slots(case.program, case.sentence)
    swaps: list[Swap] = []
    pairs = zip(random[::2], random[1::2], strict=True)
    for slot, drawn in zip((*looks.slots, *relations.slots), pairs, strict=False):
        if slot.kind == "attribute":
            new = _other_look(case, slot, [swap.new for swap in swaps], replacements, drawn)
            swaps += [put_look(slot, new, case.sentence, drawn[0])] if new else []
        elif drawn[0] < replacements.opposite_share(slot.word):
            swaps.append(put_opposite(slot, case.sentence))
    if swaps:
        return swaps, ""
    if relations.slots and not looks.slots:
        return [], "the opposite of its relation is rarely said"
    return [], looks.reason or "its attributes have no other value that things of this name have"


def _other_look(
    case: Case, slot: Slot, given: Sequence[str], replacements: Replacements, drawn: tuple[float, float]
) -> str | None:
    """Another attribute for a slot; `given` are those that were put in already."""
    operation = case.program[slot.step]
    source = root(case.program, operation.inputs[0])
    name, noun = case.program[source].name, case.sentence.names.get(source)
    held = [*given, *(value for value in operation.values if value != slot.word)]
    held += [
        other.values[0]
        for other in case.program
        if other.verb == "filter" and other is not operation and root(case.program, other.inputs[0]) == source
    ]
    if case.facts:
        held += [attribute for thing in case.facts.named(name).sure for attribute in thing.attributes]
    type_ = operation.type or replacements.vocabulary.attribute_types.get(slot.word, "")
    before_noun = noun is not None and slot.span.last <= noun.first
    return replacements.look(name, slot.word, type_, held, before_noun, drawn)


def edited(
    program: Sequence[Step], operations: Sequence[Operation], swaps: Iterable[Swap]
) -> tuple[Step, ...]:
    """The program with the swaps made; a step that names something else loses its object id (`-`)."""
    steps = list(program)
    for swap in swaps:
        slot, step = swap.slot, steps[swap.slot.step]
        operation = operations[slot.step]
        body, bracket, _ = step.argument.partition("(")
        parts = body.strip().split(",")
        if slot.value < 0:
            parts[0] = swap.new
        elif operation.verb == "relate":
            parts[1] = swap.new
        else:
            parts = ["|".join(swap.new if value == slot.word else value for value in operation.values)]
        argument = ",".join(parts) + (" (-)" if bracket else "")
        steps[slot.step] = msgspec.structs.replace(step, argument=argument)
    return tuple(steps)
