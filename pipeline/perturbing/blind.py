"""Edits by word classes alone: the paper's rule, and what is left to do for questions that come without a program.

RGQA (section 3.1): each noun of the vocabulary is replaced by another one; each adjective by another attribute of the
same object, each spatial term by its opposite; whether the question asks for it or takes it for granted is not looked
at. Without a program the definite article tells most of what is presupposed ("the red shirt"), so only what stands
in a phrase with it is touched, and relations only where the question is not answered by yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.core.records import Subset, Word
from pipeline.judge.programs import Operation
from pipeline.language.frames import DEFINITE
from pipeline.language.relations import ANTONYMS
from pipeline.perturbing.alignment import Aligned, Span
from pipeline.perturbing.replacements import Replacements
from pipeline.perturbing.slots import Slot, phrase_start
from pipeline.perturbing.swaps import Swap, follows_kind, possible_numbers, swap_thing

_EXISTENCE = (("is", "there"), ("are", "there"), ("do", "you", "see"))
_YES_NO = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "can", "could"))


def swap(
    subset: Subset, aligned: Aligned, words: Sequence[Word], program: Sequence[Operation], replacements: Replacements,
    random: Sequence[float], every: bool,
) -> tuple[list[Swap], str]:
    """The swaps of a question by its word classes, or why there is none.

    Args:
        every: the paper's rule. Else only what is presupposed, as far as words tell.
    """
    steps = {span: (i, -1) for i, span in aligned.names.items()} | {span: place for place, span in aligned.values.items()}
    places = {start: i for i, (start, _) in enumerate(aligned.places)}
    slots = []
    for word in words:
        if word.kind in ("other", "frame") or word.start not in places:
            continue
        first = places[word.start]
        last = next((i + 1 for i, (_, end) in enumerate(aligned.places) if end == word.end), None)
        if last is None:
            continue
        span = Span(first, last, word.start, word.end)
        step, value = steps.get(span, (-1, -1))
        slots.append(Slot(word.kind, step, value, span, word.name, phrase_start(aligned, span)))
    if subset == "pt-easy":
        wanted = [slot for slot in slots if slot.kind == "object" and (every or _presupposed(aligned, slot))]
        swaps = list(_other_things(wanted, aligned, replacements, random))
        return swaps, "" if swaps else "no other object fits" if wanted else "names no object"
    wanted = [slot for slot in slots if slot.kind == "attribute" and (every or _presupposed(aligned, slot))]
    swaps = list(_other_looks(wanted, slots, aligned, program, replacements, random, every))
    opposite = [slot for slot in slots if slot.kind == "relation" and slot.said in ANTONYMS and (every or aligned.tokens[0] not in _YES_NO)]
    if every or "or" not in aligned.tokens:
        swaps += [Swap(slot, ANTONYMS[slot.said], ANTONYMS[slot.said]) for slot in opposite]
    return swaps, "" if swaps else "has no attribute or spatial relation with a counterpart"


def _presupposed(aligned: Aligned, slot: Slot) -> bool:
    """Whether a word stands in a definite phrase, which is not that of "Is there ...?"."""
    if any(aligned.tokens[: len(start)] == start for start in _EXISTENCE) and slot.start <= 3:
        return False
    return aligned.tokens[slot.start] in DEFINITE and slot.start < slot.span.first or aligned.tokens[slot.start] == "'s"


def _other_things(slots: Sequence[Slot], aligned: Aligned, replacements: Replacements, random: Sequence[float]) -> Iterator[Swap]:
    table = replacements.table
    taken = np.zeros(len(table.names), dtype=bool)
    for number, slot in enumerate(slots):
        numbers = possible_numbers(aligned, slot)
        category = True if follows_kind(aligned, slot) else None
        new = replacements.thing(slot.said, tuple(numbers), category, (), (), (), taken, (random[2 * number], random[2 * number + 1]))
        if new is not None:
            taken = taken | table.confusable(new)
            yield swap_thing(slot, new, aligned, numbers)


def _other_looks(
    slots: Sequence[Slot], every_slot: Sequence[Slot], aligned: Aligned, program: Sequence[Operation], replacements: Replacements,
    random: Sequence[float], every: bool,
) -> Iterator[Swap]:
    nouns = [slot for slot in every_slot if slot.kind == "object"]
    for number, slot in enumerate(slots):
        after = [noun for noun in nouns if noun.span.first >= slot.span.last]
        noun = after[0] if after and after[0].start <= slot.span.first else (nouns[0] if nouns and every else None)
        if noun is None:
            continue
        type_ = replacements.vocabulary.attribute_types.get(slot.said, "")
        new = (replacements.any_look(noun.said, slot.said, random[number]) if every
               else replacements.look(noun.said, slot.said, type_, (), (), random[number]))
        if new is not None:
            yield Swap(slot, new, new)
