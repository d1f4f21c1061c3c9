"""Edits by word classes alone: the paper's rule, and what is left to do for questions that come without a
program.

RGQA (section 3.1): each noun of the vocabulary is replaced by another one, each adjective by another
attribute of the same object, each spatial term by its opposite; whether the question asks for it or takes it
for granted is not looked at. Without a program the definite article tells most of what is presupposed ("the
red shirt"), so only what stands in a phrase with it is touched, and relations only where the answer is not
yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.core.records import Subset
from pipeline.perturbing.fitting import Swap, follows_kind, possible_numbers, put_opposite, put_thing
from pipeline.perturbing.objects import Demands
from pipeline.perturbing.slots import EditCase, Slot, phrase_start
from pipeline.programs.sentence import Sentence
from pipeline.words.relations import ANTONYMS
from pipeline.words.word_tables import DEFINITE

_EXISTENCE = (("is", "there"), ("are", "there"), ("do", "you", "see"))
_YES_NO = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "can", "could"))
_COMMON = frozenset(("on", "under"))  # "on the left" is no relation to anything


def edit_by_words(subset: Subset, case: EditCase, every: bool) -> tuple[list[Swap], str]:
    """The swaps that make a question of a subset by its word classes, or why there are none.

    Args:
        every: the paper's rule. Else only what is presupposed, as far as words tell.
    """
    sentence, slots = case.sentence, list(_slots(case.sentence))
    wanted = [slot for slot in slots if every or _presupposed(sentence, slot)]
    if subset == "pt-easy":
        things = [slot for slot in wanted if slot.kind == "object"]
        swaps: list[Swap] = []
        for slot, random in zip(things, case.random, strict=False):
            category = True if follows_kind(sentence, slot) else None if every else False
            numbers, demanded = possible_numbers(sentence, slot), _said_of(slot, slots)
            swap = put_thing(case, slot, numbers, category, demanded, swaps, random)
            swaps += [swap] if swap else []
        return swaps, "" if swaps else "no other object fits" if things else "names no object"
    looks = [slot for slot in wanted if slot.kind == "attribute"]
    swaps = list(_other_looks(case, slots, looks, every))
    if every or (sentence.tokens[0] not in _YES_NO and "or" not in sentence.tokens):
        spatial = [s for s in slots if s.kind == "relation" and s.word in ANTONYMS and s.word not in _COMMON]
        swaps += [put_opposite(slot, sentence) for slot in spatial]
    return swaps, "" if swaps else "has no attribute or spatial relation with a counterpart"


def _slots(sentence: Sentence) -> Iterator[Slot]:
    """Things, looks and relations among the words; with the program's step where one stands at the same place."""
    steps = {span: (step, -1) for step, span in sentence.names.items()}
    steps |= {span: place for place, span in sentence.values.items()}
    lasts = {end: index + 1 for index, (_, end) in enumerate(sentence.places)}
    for first, word in sorted(sentence.tags.items()):
        if word.kind in ("object", "attribute", "relation") and word.end in lasts:
            span = sentence.span(first, lasts[word.end])
            step, value = steps.get(span, (-1, -1))
            yield Slot(word.kind, step, value, span, word.name, phrase_start(sentence, span))


def _presupposed(sentence: Sentence, slot: Slot) -> bool:
    """Whether a word stands in a definite phrase, and not in that of "Is there ...?"."""
    if slot.start <= 3 and any(sentence.tokens[: len(start)] == start for start in _EXISTENCE):
        return False
    first = sentence.tokens[slot.start]
    return first == "'s" or (first in DEFINITE and slot.start < slot.span.first)


def _said_of(slot: Slot, slots: Sequence[Slot]) -> Demands:
    """What the words around a thing say of it: looks in its phrase, the relation before it and the one after."""
    index = slots.index(slot)
    looks = [s for s in slots[:index] if s.kind == "attribute" and s.span.first >= slot.start]
    relations = [(s.word, "o") for s in slots[:index] if s.kind == "relation" and s.span.last == slot.start]
    after = next((s for s in slots[index + 1 :] if s.kind != "attribute"), None)
    if after is not None and after.kind == "relation" and after.word not in ANTONYMS:
        relations.append((after.word, "s"))
    return Demands(tuple((s.word,) for s in looks), tuple(pair for pair in relations if pair[0] != "of"))


def _other_looks(case: EditCase, slots: Sequence[Slot], looks: Sequence[Slot], every: bool) -> Iterator[Swap]:
    """The paper takes a look to be the first noun's where it stands before none."""
    nouns = [slot for slot in slots if slot.kind == "object"]
    numbers = (number for pair in case.random for number in pair)
    for slot, random in zip(looks, numbers, strict=False):
        described = [noun for noun in nouns if noun.start <= slot.span.first < noun.span.first]
        for noun in described[:1] or (nouns[:1] if every else ()):
            type_ = case.replacements.vocabulary.attribute_types.get(slot.word, "")
            options = case.replacements.looks(noun.word, slot.word, type_, (), before_noun=True)
            new = case.replacements.word(("look", type_), slot.word, options, random)
            if new is not None:
                yield Swap(slot, new, new)
