"""Edit questions by the rule of RGQA (Zhang et al., section 3.1).

Each noun of the vocabulary is replaced by another noun, each adjective by another attribute of the same
object, and each spatial term by its opposite. It does not matter whether the question presupposes the word or
asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.candidates.perturbing.surface_realization import (
    Swap,
    find_possible_numbers,
    follows_kind_of,
    swap_for_antonym,
    swap_object,
)
from pipeline.core.records import Subset
from pipeline.language.noun_phrases import find_phrase_start
from pipeline.language.presuppositions import Presupposition
from pipeline.language.relations import ANTONYMS
from pipeline.language.sentence import Sentence

# These prepositions have an opposite, but they are not replaced: "on" in "on the left" does not relate two
# objects.
_NON_RELATIONAL_PREPOSITIONS = frozenset(("on", "under"))


def edit_by_paper_rule(subset: Subset, case: EditCase) -> tuple[list[Swap], str]:
    """Edit a question for a subset by its word classes alone.

    Returns:
        The swaps, and the reason why there are no swaps ("" if there are swaps).
    """
    sentence, slots = case.sentence, list(_find_slots(case.sentence))
    nouns = [slot for slot in slots if slot.kind == "object"]
    swaps: list[Swap] = []
    if subset == "pt-easy":
        for slot, uniforms in zip(nouns, case.uniforms, strict=False):
            category = True if follows_kind_of(sentence, slot) else None
            numbers = find_possible_numbers(sentence, slot)
            swap = swap_object(case, slot, numbers, category, ObjectConstraints(), swaps, uniforms)
            swaps += [swap] if swap else []
        return swaps, "" if swaps else "no other object fits" if nouns else "names no object"
    swaps += _replace_attributes(case, nouns, [slot for slot in slots if slot.kind == "attribute"])
    spatial = [
        s
        for s in slots
        if s.kind == "relation" and s.word in ANTONYMS and s.word not in _NON_RELATIONAL_PREPOSITIONS
    ]
    swaps += [swap_for_antonym(slot, sentence) for slot in spatial]
    return swaps, "" if swaps else "has no attribute or spatial relation with a counterpart"


def _find_slots(sentence: Sentence) -> Iterator[Presupposition]:
    """Yield the objects, attributes and relations among the words of a sentence.

    A slot has the index of its program step, or -1 if no step matches.
    """
    steps = {span: (step, -1) for step, span in sentence.name_spans.items()}
    steps |= {span: step_and_value for step_and_value, span in sentence.value_spans.items()}
    token_ends = {end: index + 1 for index, (_, end) in enumerate(sentence.char_spans)}
    for first, word in sorted(sentence.tagged_words.items()):
        if word.word_class in ("object", "attribute", "relation") and word.end in token_ends:
            span = sentence.make_span(first, token_ends[word.end])
            step, value = steps.get(span, (-1, -1))
            yield Presupposition(
                word.word_class, step, value, span, word.name, find_phrase_start(sentence, span.first_token)
            )


def _replace_attributes(
    case: EditCase, nouns: Sequence[Presupposition], attributes: Sequence[Presupposition]
) -> Iterator[Swap]:
    """Yield the swaps of the attributes.

    As in RGQA, an attribute that does not stand before a noun belongs to the first noun of the sentence.
    """
    uniforms = (uniform for pair in case.uniforms for uniform in pair)
    for slot, uniform in zip(attributes, uniforms, strict=False):
        described = [
            noun for noun in nouns if noun.phrase_start <= slot.span.first_token < noun.span.first_token
        ]
        for noun in (described or nouns)[:1]:
            type_ = case.replacements.vocabulary.attribute_types.get(slot.word, "")
            options = case.replacements.list_attributes(
                noun.word, slot.word, type_, frozenset(), before_noun=True
            )
            new = case.replacements.sample_word(("attribute", type_), slot.word, options, uniform)
            if new is not None:
                yield Swap(slot, new, new)
