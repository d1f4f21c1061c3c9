"""How a replacement is said where it is put: number, article, portions, the form of an adjective; text and program after
the swaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pipeline.candidates.perturbing.edit_slots import EditCase, Slot
from pipeline.candidates.perturbing.plausibility import Demands
from pipeline.core.records import Edit, Step
from pipeline.language.functional_programs import Operation
from pipeline.language.letter_case import capitalized_as, put_in
from pipeline.language.nouns import (
    PLURAL_ONLY,
    Change,
    Number,
    agreeing,
    article,
    number_of,
    plural,
    singular,
)
from pipeline.language.relations import PREPOSITIONS, antonym, spatial
from pipeline.language.sentence import Sentence

Numbers = Mapping[Number, tuple[Change, ...]]  # a number that fits -> what has to change for it

# "a piece of furniture"; of food one says "food". # is the place of a plural's s.
_BY_THE_PIECE = {
    "furniture": ("piece# of furniture", "item# of furniture"),
    "clothing": ("piece# of clothing", "clothing item#"),
}
_KINDS = frozenset(("kind", "kinds", "type", "types", "sort", "sorts"))
_GOVERNS = frozenset(phrase.split()[-1] for phrase in PREPOSITIONS) | {"wear", "wears", "hold", "holds"}
_FORMS = {"wood": ("wooden", "wood"), "metal": ("metal", "metallic")}  # before a noun, all equally likely


@dataclass(frozen=True, slots=True)
class Swap:
    """One slot's replacement: `new` is the program's word, `text` what the sentence says, `changes` follow
    from it."""

    slot: Slot
    new: str
    text: str
    changes: tuple[Change, ...] = ()

    def edit(self, sentence: Sentence) -> Edit:
        slot, span = self.slot, self.slot.span
        old = sentence.said(span)
        return Edit(start=span.start, end=span.end, kind=slot.kind, old=old, new=self.text, step=slot.step)


def possible_numbers(sentence: Sentence, slot: Slot) -> Numbers:
    """The numbers that another noun may have in a slot."""
    old = _number(sentence, slot)
    if follows_kind(sentence, slot):
        return {"singular": (), "mass": ()}
    start, before = slot.start, sentence.before(slot.start)
    governed = before in _GOVERNS or before.endswith("ing")
    possible: dict[Number, tuple[Change, ...]] = {}
    for new in ("singular", "plural", "mass"):
        changes = agreeing(sentence.tokens, start, slot.span.last - 1, old, new, governed)
        if changes is not None:
            possible[new] = tuple(changes)
    if old == "plural" and slot.word in PLURAL_ONLY:
        if start == slot.span.first and governed:
            possible["singular"] = ()  # "wearing jeans" becomes "wearing a hat"
    elif old == "plural" and "plural" in possible:
        possible["singular"] = possible["plural"]  # "the cups" becomes "the hats"
    return possible


def put_thing(
    case: EditCase,
    slot: Slot,
    numbers: Numbers,
    category: bool | None,
    demanded: Demands,
    earlier: Iterable[Swap],
    random: Sequence[float],
    may_stay: bool = False,
) -> Swap | None:
    """The swap of a slot for a thing that is not in the picture and is none of those put in already; None if none fits,
    or the one that stands there is to stay.

    Args:
        numbers: in one of which it can be said. category, demanded, may_stay: as in `Replacements.thing`.
    """
    sentence, replacements, absent = case.sentence, case.replacements, case.absent
    for swap in earlier:
        absent = absent * ~replacements.table.confusable(swap.new)
    several = _number(sentence, slot) == "plural"
    can_be = frozenset(numbers)
    new = replacements.thing(slot.word, several, can_be, category, demanded, absent, random, may_stay)
    if new is None or new == slot.word:
        return None
    single = singular(new)
    if follows_kind(sentence, slot):
        return Swap(slot, new, single)
    if new in _BY_THE_PIECE:
        return Swap(slot, new, _either(_BY_THE_PIECE[new], random[1]).replace("#", "s" if several else ""))
    number = number_of(single)
    if number == "singular" and several:
        if slot.word not in PLURAL_ONLY:
            return Swap(slot, new, plural(single), numbers["singular"])
        if slot.start == slot.span.first:
            return Swap(slot, new, f"{article(single)} {single}", numbers["singular"])
    return Swap(slot, new, single, numbers[number])


def put_look(slot: Slot, new: str, sentence: Sentence, drawn: float) -> Swap:
    """The swap of a slot for another attribute: "made of wood", but "wooden" or "wood" before a noun."""
    said = sentence.said(slot.span).lower()
    if said.startswith("turned "):
        return Swap(slot, new, f"turned {new}")
    if "made" in sentence.tokens and sentence.before(slot.span.first) in ("of", "or"):
        return Swap(slot, new, new)
    return Swap(slot, new, _either(_FORMS.get(new, (new,)), drawn))


def _either(forms: Sequence[str], drawn: float) -> str:
    """One of a few forms, all equally likely: by the third digit of a number in [0, 1) whose first ones have drawn the
    word itself."""
    return forms[int(drawn * 1000) % len(forms)]


def put_opposite(slot: Slot, sentence: Sentence) -> Swap:
    """The swap of a spatial term for its opposite: of the words that stand there ("left of"), else of the
    program's."""
    said = sentence.said(slot.span).lower()
    return Swap(slot, antonym(slot.word) or "", antonym(said) or antonym(spatial(slot.word)) or "")


def follows_kind(sentence: Sentence, slot: Slot) -> bool:
    """Whether the noun follows "kind of": it stands there without article or number."""
    first = slot.span.first
    return sentence.before(first) == "of" and sentence.before(first - 1) in _KINDS


def _number(sentence: Sentence, slot: Slot) -> Number:
    """The number of the words that stand there: "pieces of furniture" is plural, so are the sheep in "are the
    sheep white"."""
    said = sentence.said(slot.span).lower()
    if slot.word in _BY_THE_PIECE and " " in said:
        words = said.split()
        return "plural" if words[0].endswith("s") or words[-1].endswith("s") else "singular"
    number = number_of(said)
    first, before = sentence.token(slot.start), sentence.before(slot.start)
    several = plural(said) == said and (first in ("these", "those") or before in ("are", "do", "were"))
    return "plural" if number == "singular" and several else number


def rewrite(sentence: Sentence, swaps: Sequence[Swap]) -> str:
    """The new text, new words in the letter case of the old ones. Where two swaps change one word (a verb of both), the first
    one's change counts."""
    # Characters [start, end) become this.
    by_start = {swap.slot.span.start: (swap.slot.span.end, swap.text) for swap in swaps}
    for swap in swaps:
        for index, new in swap.changes:
            start, end = sentence.places[index]
            if not new:  # a word that goes takes the blank after it along
                end = sentence.places[index + 1][0]
            by_start.setdefault(start, (end, new))
    for index, token in enumerate(sentence.tokens[:-1]):
        start, end = sentence.places[index]
        following = by_start.get(sentence.places[index + 1][0])
        if token in ("a", "an") and following and following[1]:
            by_start.setdefault(start, (end, article(following[1].lower())))
    parts, position = [], 0
    for start, (end, new) in sorted(by_start.items()):
        parts += [sentence.text[position:start], put_in(new, sentence.text, start, end)]
        position = end
    text = "".join((*parts, sentence.text[position:]))
    return capitalized_as(text, sentence.text)


def after(program: Sequence[Operation], swaps: Iterable[Swap]) -> Sequence[Operation]:
    """The operations with the swaps made."""
    operations = list(program)
    for swap in swaps:
        if (step := swap.slot.step) >= 0:
            name = {"name": swap.new} if swap.slot.value < 0 else {"values": (swap.new,)}
            operations[step] = msgspec.structs.replace(operations[step], **name)
    return operations


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
