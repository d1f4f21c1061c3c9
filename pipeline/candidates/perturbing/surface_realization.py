"""Rewrite the text and the program of a question with its replacements.

In the text, the grammatical number, the article, partitives ("piece of") and the form of an adjective are
adapted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.plausibility import ObjectConstraints
from pipeline.core.records import Edit, Step
from pipeline.language.functional_programs import Operation
from pipeline.language.letter_case import copy_initial_capital, match_surrounding_case
from pipeline.language.nouns import (
    PLURAL_ONLY_NOUNS,
    GrammaticalNumber,
    TokenEdit,
    choose_article,
    compute_agreement_edits,
    get_grammatical_number,
    pluralize,
    singularize,
)
from pipeline.language.presuppositions import Presupposition
from pipeline.language.relations import PREPOSITIONS, extract_spatial_relation, get_antonym
from pipeline.language.sentence import Sentence

# A grammatical number that fits -> the changes of other words that this number requires.
NumberChanges = Mapping[GrammaticalNumber, tuple[TokenEdit, ...]]

# Categories that need a partitive ("a piece of furniture"), unlike "food". "#" marks the place where the
# plural adds an s.
_PARTITIVE_FORMS = {
    "furniture": ("piece# of furniture", "item# of furniture"),
    "clothing": ("piece# of clothing", "clothing item#"),
}
_KIND_NOUNS = frozenset(("kind", "kinds", "type", "types", "sort", "sorts"))
_GOVERNING_WORDS = frozenset(phrase.split()[-1] for phrase in PREPOSITIONS) | {
    "wear",
    "wears",
    "hold",
    "holds",
}
# Forms of an adjective before a noun. All forms are equally likely.
_PRENOMINAL_FORMS = {"wood": ("wooden", "wood"), "metal": ("metal", "metallic")}


@dataclass(frozen=True, slots=True)
class Swap:
    """The replacement of one slot.

    Attributes:
        slot: The slot whose word is replaced.
        new: The new word in the program.
        text: The new words in the sentence.
        changes: Changes of other tokens that the replacement requires.
    """

    slot: Presupposition
    new: str
    text: str
    changes: tuple[TokenEdit, ...] = ()

    def to_edit(self, sentence: Sentence) -> Edit:
        slot, span = self.slot, self.slot.span
        old = sentence.get_text(span)
        return Edit(
            start=span.start, end=span.end, kind=slot.kind, old=old, new=self.text, step_index=slot.step
        )


def find_possible_numbers(sentence: Sentence, slot: Presupposition) -> NumberChanges:
    """Return the grammatical numbers that a noun may have in a slot, with the changes that each requires."""
    old = detect_number(sentence, slot)
    if follows_kind_of(sentence, slot):
        return {"singular": (), "mass": ()}
    start, before = slot.phrase_start, sentence.get_previous_token(slot.phrase_start)
    governed = before in _GOVERNING_WORDS or before.endswith("ing")
    possible: dict[GrammaticalNumber, tuple[TokenEdit, ...]] = {}
    for new in ("singular", "plural", "mass"):
        changes = compute_agreement_edits(sentence.tokens, start, slot.span.end_token - 1, old, new, governed)
        if changes is not None:
            possible[new] = tuple(changes)
    if old == "plural" and slot.word in PLURAL_ONLY_NOUNS:
        if start == slot.span.first_token and governed:
            # "Wearing jeans" becomes "wearing a hat".
            possible["singular"] = ()
    elif old == "plural" and "plural" in possible:
        # "The cups" becomes "the hats".
        possible["singular"] = possible["plural"]
    return possible


def swap_object(
    case: EditCase,
    slot: Presupposition,
    numbers: NumberChanges,
    must_be_category: bool | None,
    constraints: ObjectConstraints,
    earlier_swaps: Iterable[Swap],
    uniforms: Sequence[float],
    may_keep: bool = False,
) -> Swap | None:
    """Swap an object for another one that the image does not show and that no earlier swap has inserted.

    Args:
        case: The question.
        slot: The slot of the object.
        numbers: Grammatical numbers that the new noun may have, each with the changes that the number
            requires.
        must_be_category, constraints, may_keep: As in `ReplacementSampler.sample_object`.
        earlier_swaps: The swaps of earlier slots of the question.
        uniforms: Two random numbers in [0, 1).

    Returns:
        The swap, or None if no object fits, or if the original word is kept.
    """
    sentence, replacements, absent = case.sentence, case.replacements, case.absence_probabilities
    for swap in earlier_swaps:
        absent = absent * ~replacements.object_table.match_confusable(swap.new)
    is_plural = detect_number(sentence, slot) == "plural"
    new = replacements.sample_object(
        slot.word, is_plural, frozenset(numbers), must_be_category, constraints, absent, uniforms, may_keep
    )
    return (
        None
        if new is None or new == slot.word
        else make_object_swap(sentence, slot, new, numbers, uniforms[1])
    )


def make_object_swap(
    sentence: Sentence, slot: Presupposition, new: str, numbers: NumberChanges, uniform: float
) -> Swap:
    """Return the swap of an object for another one, in the grammatical number of the words that it replaces.

    Args:
        sentence: The sentence.
        slot: The slot of the object.
        new: The name of the new object.
        numbers: Grammatical numbers that the new noun may have, each with the changes that the number
            requires.
        uniform: A random number in [0, 1).
    """
    is_plural = detect_number(sentence, slot) == "plural"
    singular = singularize(new)
    if follows_kind_of(sentence, slot):
        return Swap(slot, new, singular)
    if new in _PARTITIVE_FORMS:
        return Swap(
            slot, new, _pick_form(_PARTITIVE_FORMS[new], uniform).replace("#", "s" if is_plural else "")
        )
    grammatical_number = get_grammatical_number(singular)
    if grammatical_number == "singular" and is_plural:
        if slot.word not in PLURAL_ONLY_NOUNS:
            return Swap(slot, new, pluralize(singular), numbers["singular"])
        if slot.phrase_start == slot.span.first_token:
            return Swap(slot, new, f"{choose_article(singular)} {singular}", numbers["singular"])
    return Swap(slot, new, singular, numbers[grammatical_number])


def swap_attribute(slot: Presupposition, new: str, sentence: Sentence, uniform: float) -> Swap:
    """Swap a slot for another attribute, in the form that fits the text.

    For example, the attribute "wood" is written "wood" after "made of", and "wooden" or "wood" before a noun.
    """
    old_text = sentence.get_text(slot.span).lower()
    if old_text.startswith("turned "):
        return Swap(slot, new, f"turned {new}")
    if "made" in sentence.tokens and sentence.get_previous_token(slot.span.first_token) in ("of", "or"):
        return Swap(slot, new, new)
    return Swap(slot, new, _pick_form(_PRENOMINAL_FORMS.get(new, (new,)), uniform))


def _pick_form(forms: Sequence[str], uniform: float) -> str:
    """Pick one of several equally likely forms.

    The third digit of `uniform` decides, because the first digits have already decided which word is
    inserted.
    """
    return forms[int(uniform * 1000) % len(forms)]


def swap_for_antonym(slot: Presupposition, sentence: Sentence) -> Swap:
    """Swap a spatial term for its opposite.

    The new text is the opposite of the words in the sentence ("left of") if it is known. Otherwise it is the
    opposite of the program's word.
    """
    old_text = sentence.get_text(slot.span).lower()
    return Swap(
        slot,
        get_antonym(slot.word) or "",
        get_antonym(old_text) or get_antonym(extract_spatial_relation(slot.word)) or "",
    )


def follows_kind_of(sentence: Sentence, slot: Presupposition) -> bool:
    """Return whether the noun follows "kind of". There a noun has no article and no plural."""
    first = slot.span.first_token
    return (
        sentence.get_previous_token(first) == "of" and sentence.get_previous_token(first - 1) in _KIND_NOUNS
    )


def detect_number(sentence: Sentence, slot: Presupposition) -> GrammaticalNumber:
    """Return the grammatical number of the words in a slot.

    "Pieces of furniture" is plural, and so is "sheep" in "are the sheep white".
    """
    old_text = sentence.get_text(slot.span).lower()
    if slot.word in _PARTITIVE_FORMS and " " in old_text:
        words = old_text.split()
        return "plural" if words[0].endswith("s") or words[-1].endswith("s") else "singular"
    number = get_grammatical_number(old_text)
    first, before = sentence.get_token(slot.phrase_start), sentence.get_previous_token(slot.phrase_start)
    is_plural = pluralize(old_text) == old_text and (
        first in ("these", "those") or before in ("are", "do", "were")
    )
    return "plural" if number == "singular" and is_plural else number


def rewrite_text(sentence: Sentence, swaps: Sequence[Swap]) -> str:
    """Return the new text. New words take the letter case of the words that they replace.

    If two swaps change the same other word (such as a verb), the change of the first swap counts.
    """
    # Start of a span of characters -> end of the span, and the new text of the span.
    by_start = {swap.slot.span.start: (swap.slot.span.end, swap.text) for swap in swaps}
    for swap in swaps:
        for index, new in swap.changes:
            start, end = sentence.char_spans[index]
            # A removed word takes the following space with it.
            if not new:
                end = sentence.char_spans[index + 1][0]
            by_start.setdefault(start, (end, new))
    for index, token in enumerate(sentence.tokens[:-1]):
        start, end = sentence.char_spans[index]
        following = by_start.get(sentence.char_spans[index + 1][0])
        if token in ("a", "an") and following and following[1]:
            by_start.setdefault(start, (end, choose_article(following[1].lower())))
    parts, position = [], 0
    for start, (end, new) in sorted(by_start.items()):
        parts += [sentence.text[position:start], match_surrounding_case(new, sentence.text, start, end)]
        position = end
    text = "".join((*parts, sentence.text[position:]))
    return copy_initial_capital(text, sentence.text)


def apply_swaps(program: Sequence[Operation], swaps: Iterable[Swap]) -> Sequence[Operation]:
    """Return the operations with the swaps applied."""
    operations = list(program)
    for swap in swaps:
        if (step := swap.slot.step) >= 0:
            name = {"name": swap.new} if swap.slot.value_index < 0 else {"values": (swap.new,)}
            operations[step] = msgspec.structs.replace(operations[step], **name)
    return operations


def edit_program(
    program: Sequence[Step], operations: Sequence[Operation], swaps: Iterable[Swap]
) -> tuple[Step, ...]:
    """Return the program with the swaps applied. In an edited step, the object id is replaced by `-`."""
    steps = list(program)
    for swap in swaps:
        slot, step = swap.slot, steps[swap.slot.step]
        operation = operations[slot.step]
        body, bracket, _ = step.argument.partition("(")
        parts = body.strip().split(",")
        if slot.value_index < 0:
            parts[0] = swap.new
        elif operation.verb == "relate":
            parts[1] = swap.new
        elif operation.verb == "filter":
            # A bracket in the argument of a filter belongs to "not(red)", and not to an object id.
            parts, bracket = [swap.new], ""
        else:
            parts = ["|".join(swap.new if value == slot.word else value for value in operation.values)]
        argument = ",".join(parts) + (" (-)" if bracket else "")
        steps[slot.step] = msgspec.structs.replace(step, argument=argument)
    return tuple(steps)
