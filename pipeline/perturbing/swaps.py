"""From a question to its swaps: other things (PT-Easy), other looks and opposite relations (PT-Hard)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from pipeline.core.records import Step, Vocabulary, Word
from pipeline.judge.facts import Facts
from pipeline.perturbing.alignment import root
from pipeline.perturbing.demands import Demands, demands
from pipeline.perturbing.fitting import (
    Swap,
    follows_kind,
    possible_numbers,
    put_look,
    put_relation,
    put_thing,
    said_of_several,
)
from pipeline.perturbing.middle import leave
from pipeline.perturbing.negation import affirm, deny
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.sense import has_size, one_worn, says_who, wants_kin
from pipeline.perturbing.sentence import Sentence
from pipeline.perturbing.slots import UNSUITED, Slot, attribute_slots, object_slots, relation_slots
from pipeline.programs.operations import Operation
from pipeline.words.opposites import excluded

# "What animal is it, a cow or a sheep?"
GOES_WITH_OPTIONS = "its category goes with the options of a choice"


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
    """Another thing for the presupposed ones that something fits, and if there is none, why.

    Where a question names several, some may stay: one that is not there is enough. Which do is left to the draw,
    by how much seldomer their words are put in than taken out.

    Args:
        random: two numbers in [0, 1) for each slot.
    """
    found = object_slots(case.program, case.sentence)
    swaps, reason = _other_things(case, found.slots, replacements, random, some_stay=True)
    if not swaps:
        swaps, reason = _other_things(case, found.slots, replacements, random, some_stay=False)
    return swaps, "" if swaps else found.reason or reason


def _other_things(
    case: Case, slots: Sequence[Slot], replacements: Replacements, random: Sequence[float], some_stay: bool
) -> tuple[list[Swap], str]:
    sentence, program, last = case.sentence, case.program, case.program[-1]
    asked = root(program, last.inputs[0]) if last.type == "name" else None
    taken = case.present
    swaps, reason = [], "no other object fits"
    for number, slot in enumerate(slots):
        if slot.step == asked and last.verb == "choose":
            reason = GOES_WITH_OPTIONS
            continue
        first, second = random[2 * number], random[2 * number + 1]
        category = _wants_category(slot, asked, sentence, replacements)
        kin = wants_kin(sentence, program, slot)
        demanded = demands(program, slot.step, kin) if slot.step >= 0 else Demands(kin=kin)
        numbers = possible_numbers(sentence, slot)
        if not category and has_size(demanded, replacements.vocabulary):  # no "small water"
            numbers = {number: changes for number, changes in numbers.items() if number != "mass"}
        plural = said_of_several(sentence, slot)
        may_stay = some_stay and bool(swaps or slot is not slots[-1])
        new = replacements.thing(
            slot.word, plural, frozenset(numbers), category, demanded, taken, (first, second), may_stay
        )
        if new is not None and new != slot.word:
            taken = taken | replacements.table.confusable(new)
            swap = put_thing(slot, new, sentence, numbers, second)
            asks = "which " if second < 0.5 else "what "
            swaps.append(
                replace(swap, text=asks + swap.text) if says_who(sentence, slot) else one_worn(swap, sentence)
            )
    return swaps, reason


def _wants_category(
    slot: Slot, asked: int | None, sentence: Sentence, replacements: Replacements
) -> bool | None:
    """Whether a category takes a slot's place: of what is asked for its name and of another category, only
    one does; of a person, whom anything may be, None: either."""
    if slot.step == asked or follows_kind(sentence, slot) or says_who(sentence, slot):
        return True
    return None if slot.word == "person" else slot.word in replacements.vocabulary.categories


def swap_looks(case: Case, replacements: Replacements, random: Sequence[float]) -> tuple[list[Swap], str]:
    """Another attribute of the same type and thing for presupposed ones, and another relation for presupposed
    spatial relations; if there is none, why. Of several, some may stay, as in `swap_things`.

    Args:
        random: two numbers in [0, 1) for each slot.
    """
    looks = attribute_slots(case.program, case.sentence)
    relations = relation_slots(case.program, case.sentence)
    slots = (*looks.slots, *relations.slots)
    first = [*affirm(case.program, case.sentence), *leave(case.program, case.sentence, random[-1])]
    swaps = (
        _other_looks(case, slots, first, replacements, random, some_stay=True)
        or _other_looks(case, slots, first, replacements, random, some_stay=False)
        or deny(case.program, case.sentence)
    )
    if swaps:
        return swaps, ""
    if relations.slots and not looks.slots:
        return [], "its relation has no counterpart"
    return [], looks.reason or "its attributes have no other value that things of this name have"


def _other_looks(
    case: Case,
    slots: Sequence[Slot],
    first: Sequence[Swap],
    replacements: Replacements,
    random: Sequence[float],
    some_stay: bool,
) -> list[Swap]:
    swaps = list(first)
    for slot, drawn in zip(slots, random[::2], strict=False):
        may_stay = some_stay and bool(swaps or slot is not slots[-1])
        if slot.kind == "attribute":
            new = _other_look(case, slot, [swap.new for swap in swaps], replacements, drawn, may_stay)
        else:
            new = replacements.relation(slot.word, *_related(case.program, slot), drawn, may_stay)
        if new is not None and new != slot.word:
            put = put_look(slot, new, case.sentence, drawn) if slot.kind == "attribute" else None
            swaps.append(put or put_relation(slot, new, case.sentence))
    return swaps


def _related(program: Sequence[Operation], slot: Slot) -> tuple[str, str]:
    """The names of the things that a relation's slot relates, subject first; "" for what the question asks for."""
    operation = program[slot.step]
    if operation.verb != "relate":
        return "", ""
    named, other = operation.name.strip("_"), program[root(program, operation.inputs[0])].name
    return (named, other) if operation.subject else (other, named)


def _other_look(
    case: Case,
    slot: Slot,
    given: Sequence[str],
    replacements: Replacements,
    drawn: float,
    may_stay: bool,
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
    found = None
    if type_ not in UNSUITED:
        found = replacements.look(name, slot.word, type_, held, before_noun, drawn, may_stay)
    return found or _opposite_look(slot.word, type_, held, replacements.vocabulary, drawn)


def _opposite_look(
    word: str, type_: str, held: Sequence[str], vocabulary: Vocabulary, drawn: float
) -> str | None:
    """A look that excludes another one whatever it is said of: of the same type and known, if there is any."""
    options = [other for other in excluded(word) if other not in held]
    typed = [other for other in options if vocabulary.attribute_types.get(other, type_) == type_] or options
    options = [other for other in typed if other in vocabulary.attributes] or typed
    return options[int(drawn * len(options))] if options else None


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
        elif operation.verb == "filter":  # "not(red)" has a bracket of its own
            parts, bracket = [swap.new], ""
        else:
            parts = ["|".join(swap.new if value == slot.word else value for value in operation.values)]
        argument = ",".join(parts) + (" (-)" if bracket else "")
        steps[slot.step] = msgspec.structs.replace(step, argument=argument)
    return tuple(steps)
