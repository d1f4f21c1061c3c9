"""What of a question may be replaced so that it asks in vain: what it takes for granted, not what it asks.

"Is the shirt red?" stays answerable whatever colour is put there (no), "What is the red shirt made of?" does
not. Presupposed are the names, attributes and relations on the way to the final step; asserted are the final
step, what an `exist` asks, "a hat" in "Is the man wearing a hat?", and the options of a choice ("red or blue?").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.records import EditKind
from pipeline.judge.facts import Facts
from pipeline.perturbing.replacements import Replacements
from pipeline.programs.operations import NO_LOOK, POSITIONS, Operation, root
from pipeline.programs.sentence import Sentence, Span
from pipeline.words.nouns import BASE
from pipeline.words.relations import ANTONYMS, excluded, exclusive
from pipeline.words.word_tables import DEFINITE, DETERMINERS, PORTIONS, PRONOUNS

NEVER = NO_LOOK | {"race"}
# Of these a thing may have several values at a time; race is nothing to be judged by looks.
UNSUITED = NEVER | {"activity", "sport", "sportActivity", "other", "flavor"}


@dataclass(frozen=True, slots=True)
class Slot:
    """Something that may be replaced.

    Attributes:
        step, value: the program step, and which of its values (-1: its name).
        span: where it stands. word: what the program calls it.
        start: the token at which its noun phrase starts (its determiner); objects only.
    """

    kind: EditKind
    step: int
    value: int
    span: Span
    word: str
    start: int = -1


@dataclass(frozen=True, slots=True)
class EditCase:
    """A question with what is known of it.

    Attributes:
        program: () if the question came without one.
        facts: the evidence about its picture, if any; present: rows of the objects it shows by that evidence.
        random: two numbers in [0, 1) for each slot, more than any question has.
    """

    sentence: Sentence
    program: Sequence[Operation]
    facts: Facts | None
    present: np.ndarray
    replacements: Replacements
    random: Sequence[Sequence[float]]


Slots = tuple[list[Slot], str]  # of a question; without any, why

ASKED = "its objects are asked for, not presupposed"
ONLY_THIS = "only its own word makes sense there"
NOT_FOUND = "its objects were not found in the text"


def object_slots(program: Sequence[Operation], sentence: Sentence) -> Slots:
    """The things that the question names and takes for granted.

    Of "Is he in front of the wall?" GQA's program names a man and no wall: then the words must tell (step -1).
    """
    named = [i for i, operation in enumerate(program) if operation.name and operation.name not in PRONOUNS]
    if not named:
        return [], "names no object"
    presupposed = [i for i in named if not program[i].asserted]
    whether = program[-1].verb in ("exist", "and", "or")
    slots, reasons = [], set()
    for i in presupposed:
        if i not in sentence.names:
            reasons.add(NOT_FOUND)
            continue
        span = _whole(sentence, sentence.names[i])
        start = phrase_start(sentence, span)
        portion = sentence.before(span.first) == "of" and sentence.before(span.first - 1) in PORTIONS
        compound = any(other.last == span.first for other in sentence.names.values())
        if portion or compound or _named_after(sentence, span):
            reasons.add(ONLY_THIS)  # "a slice of PIZZA", "the grass FIELD", "Are all the ANIMALS dogs?"
        elif sentence.tokens[start] in DEFINITE or not (whether or program[i].verb == "verify"):
            slots.append(Slot("object", i, -1, span, program[i].name, start))
        else:
            reasons.add(ASKED)
    slots = [slot for slot in slots if not _has_other(slot, slots, sentence)]
    if not slots and NOT_FOUND in reasons:
        slots = _who(program, sentence) or list(_definite(sentence))
    why = next((reason for reason in (NOT_FOUND, ONLY_THIS) if reason in reasons), ASKED)
    return slots, "" if slots else why


def asked_step(program: Sequence[Operation]) -> int | None:
    """The step that names what the question asks to be named."""
    return root(program, program[-1].inputs[0]) if program[-1].type == "name" else None


def _has_other(slot: Slot, slots: Sequence[Slot], sentence: Sentence) -> bool:
    """Whether another slot is "the other" one of its kind, which makes no sense without it."""
    said = [other.word for other in slots if sentence.tokens[other.span.first] == "other"]
    return slot.word in said and sentence.tokens[slot.span.first] != "other"


def _who(program: Sequence[Operation], sentence: Sentence) -> list[Slot]:
    """ "Who is standing?" names a person in a word of its own."""
    step = asked_step(program)
    if step is None or program[step].name != "person" or sentence.tokens[0] != "who":
        return []
    return [Slot("object", step, -1, sentence.span(0, 1), "person", 0)]


def _definite(sentence: Sentence) -> Iterator[Slot]:
    """The things that no step of the program names and that stand after "the"."""
    for index, word in sorted(sentence.tags.items()):
        if word.kind != "object" or sentence.taken[index]:
            continue
        last = next(i for i, (_, end) in enumerate(sentence.places) if end >= word.end) + 1
        span = _whole(sentence, sentence.span(index, last))
        start = phrase_start(sentence, span)
        says_more = sentence.tokens[span.last : span.last + 1] in (("that",), ("which",), ("who",), ("made",))
        if start < span.first and sentence.tokens[start] in DEFINITE and not says_more:
            yield Slot("object", -1, -1, span, word.name, start)


def presupposed_filters(
    program: Sequence[Operation], sentence: Sentence, negated: bool = False
) -> Iterator[tuple[Operation, Slot]]:
    """The steps that narrow down what the question takes for granted, where their values stand in the text."""
    for step, operation in enumerate(program):
        filters = operation.verb == "filter" and not operation.asserted and operation.negated == negated
        if filters and (step, 0) in sentence.values:
            yield operation, Slot("attribute", step, 0, sentence.values[step, 0], operation.values[0])


def attribute_slots(program: Sequence[Operation], sentence: Sentence) -> Slots:
    """The attributes that the question takes for granted and that exclude others."""
    no_attribute = POSITIONS | {"rel", "name"}
    said = [o for o in program if o.verb in ("filter", "verify", "choose") and o.type not in no_attribute]
    if not any(operation.verb == "filter" and not operation.asserted for operation in said):
        return [], "its attributes are asked for, not presupposed" if said else "has no attribute"
    slots = [
        slot
        for operation, slot in presupposed_filters(program, sentence)
        if operation.type not in no_attribute | NEVER
        and (operation.type not in UNSUITED or excluded(slot.word))  # something is known to exclude it
    ]
    return slots, "" if slots else "its attributes are not exclusive, or not found in the text"


def relation_slots(program: Sequence[Operation], sentence: Sentence) -> list[Slot]:
    """The spatial relations and positions that the question takes for granted and that exclude others."""
    slots = []
    for step, operation in enumerate(program):
        if operation.asserted or operation.negated or (step, 0) not in sentence.values:
            continue
        word = operation.values[0]
        if operation.verb == "relate":
            # "The man to the left of the other man": there is one to the right, too.
            other = program[root(program, operation.inputs[0])]
            wanted = bool(exclusive(word)) and other.name != operation.name
        else:
            wanted = operation.verb == "filter" and operation.type in POSITIONS and word in ANTONYMS
        if wanted:
            slots.append(Slot("relation", step, 0, sentence.values[step, 0], word))
    return slots


def phrase_start(sentence: Sentence, span: Span) -> int:
    """The token that starts a noun's phrase: its determiner, with only looks in between; else the noun's
    first."""
    nouns = {last for name in sentence.names.values() for last in range(name.first, name.last)}
    for index in range(span.first - 1, max(span.first - 6, -1), -1):
        token = sentence.tokens[index]
        if index in nouns:
            break
        if token in DETERMINERS or token == "'s":
            return index
        look = sentence.taken[index] or sentence.tag(index).startswith(("JJ", "VBN", "RB"))
        if not look and token not in ("and", "other", "not"):
            break
    return span.first


def _whole(sentence: Sentence, span: Span) -> Span:
    """The noun with what belongs to it: "chocolate" of "chocolate cake", "adult" of "adult man", "computer" of
    "laptop computer"; "other" of "the other man", for where there is no man, there is no other."""
    first, last = span.first, span.last
    while last < len(sentence.tokens) and not sentence.taken[last] and _ends_compound(sentence, last):
        last += 1
    while first > 0 and not sentence.taken[first - 1] and sentence.modifies(first - 1):
        first -= 1
    return sentence.span(first, last)


def _ends_compound(sentence: Sentence, index: int) -> bool:
    """Whether a token that no step names is a noun like the one before it, as in "counter top"; "look" is a verb there,
    whatever its tag."""
    token, after = sentence.tokens[index], sentence.tokens[index + 1 : index + 2]
    if token == "top":
        return after != ("of",)
    if sentence.tag(index - 1) == "NNS":  # "the animals dogs" is none
        return False
    return sentence.tag(index) in ("NN", "NNS") and token not in BASE and sentence.modifies(index)


def _named_after(sentence: Sentence, span: Span) -> bool:
    """Whether the noun is followed by what it is said to be: "Are the animals dogs?"."""
    last = len(sentence.tokens) - 2
    return span.last == last and sentence.tag(last) in ("NN", "NNS") and not sentence.taken[last]
