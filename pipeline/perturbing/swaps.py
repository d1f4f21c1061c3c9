"""From slots to edits: what each slot of a question becomes, in the text and in the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pipeline.core.records import Edit, Step
from pipeline.judge.facts import Facts
from pipeline.judge.programs import Operation
from pipeline.language.agreement import Change, agreeing
from pipeline.language.nouns import PLURAL_ONLY, Number, article, number_of, plural
from pipeline.language.relations import PREPOSITIONS, antonym, spatial
from pipeline.perturbing.alignment import Aligned, root
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.rewriting import Splice, changed
from pipeline.perturbing.slots import Slot, constraints

PIECEWISE = frozenset(("furniture", "clothing"))  # "a piece of furniture"; of food one says "food"
_BEFORE_OBJECT = frozenset(word for phrase in PREPOSITIONS for word in phrase.split()[-1:])
_KINDS = frozenset(("kind", "kinds", "type", "types", "sort", "sorts"))
_ATTRIBUTIVE = {"wood": "wooden"}  # before a noun; "made of wood"


@dataclass(frozen=True, slots=True)
class Swap:
    """One slot's replacement: `new` is the program's word, `text` what the sentence says, `changes` what follows from it."""

    slot: Slot
    new: str
    text: str
    changes: tuple[Change, ...] = ()

    def edit(self, aligned: Aligned) -> Edit:
        span = self.slot.span
        return Edit(start=span.start, end=span.end, kind=self.slot.kind, old=aligned.said(span), new=self.text, step=self.slot.step)

    def splices(self, aligned: Aligned) -> list[Splice]:
        return [(self.slot.span.start, self.slot.span.end, self.text), *changed(aligned, self.changes)]


def swap_objects(
    slots: Iterable[Slot], program: Sequence[Operation], aligned: Aligned, replacements: Replacements, present: np.ndarray,
    random: Sequence[float],
) -> list[Swap]:
    """Another thing for every slot that one fits; `random` holds two numbers a slot."""
    swaps: list[Swap] = []
    table, last = replacements.table, program[-1]
    asked_name = root(program, last.inputs[0]) if last.type == "name" else -1
    taken = present.copy()
    for number, slot in enumerate(slots):
        first, second = random[2 * number], random[2 * number + 1]
        if slot.step == asked_name and last.verb == "choose":
            continue  # "What animal is this, a cow or a sheep?": another category fits neither
        operation = program[slot.step]
        category = slot.step == asked_name or follows_kind(aligned, slot)
        excluded = taken
        if slot.value >= 0:
            category, first = False, 0.0  # an option is replaced by one of its own category
            for other in operation.values:
                excluded = excluded | table.confusable(other)
            attributes, relations, types = [], [], []
        else:
            attributes, relations, types = constraints(program, slot.step)
        numbers = possible_numbers(aligned, slot)
        new = replacements.thing(slot.said, tuple(numbers), category, attributes, relations, types, excluded, (first, second))
        if new is None:
            continue
        taken = taken | table.confusable(new)
        swaps.append(swap_thing(slot, new, aligned, numbers))
    return swaps


def swap_thing(slot: Slot, new: str, aligned: Aligned, numbers: Mapping[Number, tuple[Change, ...]]) -> Swap:
    """The swap of a slot for a thing whose number is among the possible ones."""
    if follows_kind(aligned, slot):
        return Swap(slot, new, new)
    old = surface_number(aligned, slot)
    if new in PIECEWISE:
        return Swap(slot, new, f"pieces of {new}" if old == "plural" else f"piece of {new}")
    if old == "plural" and slot.said in PLURAL_ONLY and number_of(new) == "singular":
        bare = slot.start == slot.span.first
        return Swap(slot, new, f"{article(new)} {new}" if bare else new, numbers["singular"])
    return Swap(slot, new, plural(new) if old == "plural" else new, numbers.get(number_of(new), ()))


def swap_looks(
    slots: Iterable[Slot], program: Sequence[Operation], aligned: Aligned, replacements: Replacements, facts: Facts | None,
    random: Sequence[float],
) -> list[Swap]:
    """Another attribute of the same type and thing for every slot that has one; the opposite of every spatial term."""
    swaps = []
    for slot, drawn in zip(slots, random, strict=False):
        operation = program[slot.step]
        if slot.kind == "relation":
            if drawn < replacements.commonness_of_opposite(slot.said):
                swaps.append(Swap(slot, antonym(slot.said) or "", _opposite(aligned.said(slot.span).lower(), slot.said)))
            continue
        name = program[root(program, operation.inputs[0])].name
        present = [attribute for thing in facts.named(name).sure for attribute in thing.attributes] if facts else []
        type_ = operation.type or replacements.vocabulary.attribute_types.get(slot.said, "")
        others = [value for value in operation.values if value != slot.said] if operation.verb == "choose" else []
        others += [o.values[0] for o in program if o.verb == "filter" and o is not operation and o.inputs and root(program, o.inputs[0]) == root(program, operation.inputs[0])]
        new = replacements.look(name, slot.said, type_, others, present, drawn)
        if new is not None:
            swaps.append(Swap(slot, new, _look(new, aligned, slot)))
    return swaps


def _opposite(said: str, relation: str) -> str:
    """The opposite in the text: of the words that stand there ("right of"), else of the program's relation."""
    return antonym(said) or antonym(spatial(relation)) or ""


def edited(program: Sequence[Step], operations: Sequence[Operation], swaps: Iterable[Swap]) -> tuple[Step, ...]:
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
            parts = ["|".join(swap.new if value == slot.said else value for value in operation.values)]
        argument = ",".join(parts) + (" (-)" if bracket else "")
        steps[slot.step] = msgspec.structs.replace(step, argument=argument)
    return tuple(steps)


def surface_number(aligned: Aligned, slot: Slot) -> Number:
    """The number of the words that stand there: "pieces of furniture" is plural."""
    said = aligned.said(slot.span).lower()
    if slot.said in PIECEWISE and " " in said:
        return "plural" if "s" in (said.split()[0][-1], said.split()[-1][-1]) else "singular"
    number = number_of(said)
    if number == "singular" and (aligned.tokens[slot.start] in ("these", "those") or aligned.tokens[slot.start - 1 : slot.start] in (("are",), ("do",), ("were",))):
        return "plural"  # "the sheep are ..."
    return number


def possible_numbers(aligned: Aligned, slot: Slot) -> dict[Number, tuple[Change, ...]]:
    """The numbers that a new noun may have here, with the changes that each asks for."""
    old = surface_number(aligned, slot)
    if follows_kind(aligned, slot):
        return {"singular": (), "mass": ()}
    head = slot.span.last - 1
    start = slot.start if slot.start >= 0 else slot.span.first
    before = aligned.tokens[start - 1] if start else ""
    in_phrase = before in _BEFORE_OBJECT or before.endswith("ing") or before in ("wear", "wears", "hold", "holds")
    found: dict[Number, tuple[Change, ...]] = {}
    for new in ("singular", "plural", "mass"):
        changes = agreeing(aligned.tokens, start, head, old, new, in_phrase)
        if changes is not None:
            found[new] = tuple(changes)
    if old == "plural" and slot.said in PLURAL_ONLY:
        if start == slot.span.first and in_phrase:
            found["singular"] = ()  # "wearing jeans" becomes "wearing a hat"
    elif old == "plural" and "plural" in found:
        found["singular"] = found["plural"]  # said in the plural
    return found


def follows_kind(aligned: Aligned, slot: Slot) -> bool:
    """Whether the noun follows "kind of": it stands there without article or number."""
    first = slot.span.first
    return first >= 2 and aligned.tokens[first - 1] == "of" and aligned.tokens[first - 2] in _KINDS


def _look(value: str, aligned: Aligned, slot: Slot) -> str:
    """An attribute as it is said here: "wooden" before a noun, "made of wood" after it."""
    before = aligned.tokens[slot.span.first - 1] if slot.span.first else ""
    return value if before in ("of", "or") else _ATTRIBUTIVE.get(value, value)
