"""The paper's rule, RGQA section 3.1: each noun of the vocabulary is replaced by another one, each adjective by another
attribute of the same object, each spatial term by its opposite; whether the question asks for it or takes it for granted is not
looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.candidates.perturbing.edit_slots import EditCase, Slot
from pipeline.candidates.perturbing.plausibility import Demands
from pipeline.candidates.perturbing.surface_realization import (
    Swap,
    follows_kind,
    possible_numbers,
    put_opposite,
    put_thing,
)
from pipeline.core.records import Subset
from pipeline.language.noun_phrases import phrase_start
from pipeline.language.relations import ANTONYMS
from pipeline.language.sentence import Sentence

_COMMON = frozenset(("on", "under"))  # "on the left" is no relation to anything


def edit_by_words(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """The swaps that make a question of a subset by its word classes alone, or why there are none."""
    sentence, slots = case.sentence, list(_slots(case.sentence))
    nouns = [slot for slot in slots if slot.kind == "object"]
    swaps: list[Swap] = []
    if subset == "pt-easy":
        for slot, random in zip(nouns, case.random, strict=False):
            category = True if follows_kind(sentence, slot) else None
            numbers = possible_numbers(sentence, slot)
            swap = put_thing(case, slot, numbers, category, Demands(), swaps, random)
            swaps += [swap] if swap else []
        return swaps, "" if swaps else "no other object fits" if nouns else "names no object"
    swaps += _other_looks(case, nouns, [slot for slot in slots if slot.kind == "attribute"])
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
            yield Slot(word.kind, step, value, span, word.name, phrase_start(sentence, span.first))


def _other_looks(case: EditCase, nouns: Sequence[Slot], looks: Sequence[Slot]) -> Iterator[Swap]:
    """The paper takes a look to be the first noun's where it stands before none."""
    numbers = (number for pair in case.random for number in pair)
    for slot, random in zip(looks, numbers, strict=False):
        described = [noun for noun in nouns if noun.start <= slot.span.first < noun.span.first]
        for noun in (described or nouns)[:1]:
            type_ = case.replacements.vocabulary.attribute_types.get(slot.word, "")
            options = case.replacements.looks(noun.word, slot.word, type_, frozenset(), before_noun=True)
            new = case.replacements.word(("look", type_), slot.word, options, random)
            if new is not None:
                yield Swap(slot, new, new)
