"""Edits by word classes alone: the paper's rule, and what is left to do for questions that come without a
program.

RGQA (section 3.1): each noun of the vocabulary is replaced by another one, each adjective by another
attribute of the same object, each spatial term by its opposite; whether the question asks for it or takes it
for granted is not looked at. Without a program the definite article tells most of what is presupposed ("the
red shirt"), so only what stands in a phrase with it is touched, and relations only where the answer is not
yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pipeline.core.records import Subset
from pipeline.perturbing.fitting import Swap, follows_kind, possible_numbers, put_opposite, put_thing
from pipeline.perturbing.plausible import Demands
from pipeline.perturbing.slots import EditCase, Slot
from pipeline.programs.noun_phrases import phrase_start
from pipeline.programs.sentence import Sentence
from pipeline.words.relations import ANTONYMS
from pipeline.words.word_tables import DEFINITE, groups

_EXISTENCE = (("is", "there"), ("are", "there"), ("do", "you", "see"))
_YES_NO = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "can", "could"))
_HEADED = _YES_NO | {"of", "'s"}  # before what the question is about
# Words that ask for a type of looks, or for what only some things have: "Which side is the cup on?".
_TYPES = dict(
    groups("""
color, color; colour, color; material, material; made, material; shape, shape; size, size; big, size; pattern, pattern
side, hposition; where, hposition; part, hposition; doing, activity; old, age; tall, height
""")
)
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
            names = {swap.slot.span.first: swap.new for swap in swaps}
            numbers = possible_numbers(sentence, slot)
            demanded = Demands() if every else said_by_words(sentence, slot, names)
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
            yield Slot(word.kind, step, value, span, word.name, phrase_start(sentence, span.first))


def _presupposed(sentence: Sentence, slot: Slot) -> bool:
    """Whether a word stands in a definite phrase, and not in that of "Is there ...?"."""
    if slot.start <= 3 and any(sentence.tokens[: len(start)] == start for start in _EXISTENCE):
        return False
    if slot.kind == "object" and _in_compound(sentence, slot):
        return False
    first = sentence.tokens[slot.start]
    return first == "'s" or (first in DEFINITE and slot.start < slot.span.first)


def _in_compound(sentence: Sentence, noun: Slot) -> bool:
    """Whether another noun follows that belongs to it: "clothing items", "bed sheet"."""
    last = noun.span.last
    nouns = last < len(sentence.tokens) and sentence.tag(last) in ("NN", "NNS")
    return nouns and (sentence.modifies(last) or sentence.tokens[last] in ("item", "items"))


def _related(sentence: Sentence, slots: Sequence[Slot]) -> list[tuple[Slot, Slot | None, Slot | None]]:
    """Each relation with its subject and its object, as far as the order of the words tells."""
    nouns, found = [slot for slot in slots if slot.kind == "object"], []
    for relation in (slot for slot in slots if slot.kind == "relation" and slot.word != "of"):
        before = [noun for noun in nouns if noun.span.last <= relation.span.first]
        other = next((noun for noun in nouns if noun.start == relation.span.last), None)
        subject = before[-1] if before else None
        if other is None and len(before) > 1:  # "the hat (that) the man to the left of the dog is wearing"
            subject = next((n for n in before if sentence.before(n.start) in _HEADED), before[-1])
            clauses = [(n, m) for n, m in pairwise(before) if _relative(sentence, n, m)]
            other, subject = clauses[-1] if clauses else (None, subject)
        found.append((relation, subject, other))
    return found


def _relative(sentence: Sentence, noun: Slot, following: Slot) -> bool:
    """Whether a clause about a noun starts with another: "the hat the man", "the hat that the man"."""
    between = sentence.tokens[noun.span.last : following.start]
    return between in ((), ("that",), ("which",)) and following.start < following.span.first


def said_by_words(sentence: Sentence, thing: Slot, names: Mapping[int, str]) -> Demands:
    """What the words around a thing say of it: looks in its phrase, relations; what is asked of the thing in the middle
    of the question. `names`: token -> what was put in there."""
    slots = list(_slots(sentence))
    slot = next((s for s in slots if s.kind == "object" and s.span.last == thing.span.last), None)
    if slot is None:
        return Demands()
    looks = [s for s in slots if s.kind == "attribute"]
    own: list[tuple[str, ...]] = [(s.word,) for s in looks if slot.start <= s.span.first < slot.span.first]
    relations = []
    for relation, subject, other in _related(sentence, slots):
        for role, one, partner in (("s", subject, other), ("o", other, subject)):
            if one is slot:
                name = names.get(partner.span.first, partner.word) if partner else ""
                relations.append((relation.word, role, name))
    nouns = [s for s in slots if s.kind == "object"]
    head = next((n for n in nouns if sentence.before(n.start) in _HEADED), nouns[0])
    types = [type_ for word, type_ in _TYPES.items() if word in sentence.tokens] if head is slot else []
    if head is slot:
        own.append(tuple(s.word for s in looks if s.span.first >= nouns[-1].span.last))
    return Demands(tuple(group for group in own if group), tuple(relations), tuple(dict.fromkeys(types)))


def _other_looks(case: EditCase, slots: Sequence[Slot], looks: Sequence[Slot], every: bool) -> Iterator[Swap]:
    """The paper takes a look to be the first noun's where it stands before none."""
    nouns = [slot for slot in slots if slot.kind == "object"]
    numbers = (number for pair in case.random for number in pair)
    for slot, random in zip(looks, numbers, strict=False):
        described = [noun for noun in nouns if noun.start <= slot.span.first < noun.span.first]
        for noun in described[:1] or (nouns[:1] if every else ()):
            type_ = case.replacements.vocabulary.attribute_types.get(slot.word, "")
            options = case.replacements.looks(noun.word, slot.word, type_, frozenset(), before_noun=True)
            new = case.replacements.word(("look", type_), slot.word, options, random)
            if new is not None:
                yield Swap(slot, new, new)
