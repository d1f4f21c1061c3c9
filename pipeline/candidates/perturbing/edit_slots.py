"""Find the slots of a question: the words that can be replaced so that the question becomes unanswerable.

"Is the shirt red?" stays answerable with any color, because the answer is then "no". But "What is the red
shirt made of?" becomes unanswerable if the image shows no shirt of the inserted color.
`pipeline/language/presuppositions.py` distinguishes the two cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.candidates.perturbing.image_mentions import ImageMentions
from pipeline.candidates.perturbing.replacements import NO_MENTIONS, ReplacementSampler
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    Operation,
    find_root_step,
)
from pipeline.language.object_taxonomy import LIVING_KINDS, get_main_kind
from pipeline.language.presuppositions import Presupposition, Presuppositions, find_queried_step
from pipeline.language.relations import (
    ANTONYMS,
    get_excluded_attributes,
    get_excluded_relations,
)
from pipeline.language.sentence import Sentence
from pipeline.language.word_lists import PARTITIVE_NOUNS
from pipeline.verifier.evidence import Evidence

NEVER_EDITED_TYPES = NON_ATTRIBUTE_TYPES | {"race"}
# An object may have several values of these types at the same time. ("race" is included because race must not
# be judged from an image.)
MULTI_VALUED_TYPES = NEVER_EDITED_TYPES | {"activity", "sport", "sportActivity", "other", "flavor"}

# The slots of a question, and the reason that is reported if none of the slots is replaced.
SlotsAndReason = tuple[list[Presupposition], str]


@dataclass(frozen=True, slots=True)
class EditCase:
    """A question, with the data that its edits need.

    Attributes:
        sentence: The parsed text of the question.
        program: The operations of the question's program, or () if the question has no program.
        presuppositions: What the question presupposes and asks for.
        evidence: The evidence about the image, or None if there is none.
        absence_probabilities: For each row of the object table the probability that the image shows no such
            object.
        replacements: The sampler of replacements.
        uniforms: Two random numbers in [0, 1) for each slot. There are more pairs than any question has
            slots.
        may_be_query_only: Whether the question may have a query-only candidate. The edits of such a candidate
            concern only what the question asks for.
        has_text_program: Whether the program was derived from the text.
        mentions: What the plain questions of the image mention.
    """

    sentence: Sentence
    program: Sequence[Operation]
    presuppositions: Presuppositions
    evidence: Evidence | None
    absence_probabilities: np.ndarray
    replacements: ReplacementSampler
    uniforms: Sequence[Sequence[float]]
    may_be_query_only: bool = True
    has_text_program: bool = False
    mentions: ImageMentions = NO_MENTIONS

    @property
    def is_plain_question(self) -> bool:
        """Whether both the question and its image lack annotations: no given program and no scene graph.

        No program can be derived from some texts. Such a question is plain if its image has plain questions.
        """
        has_no_given_program = self.has_text_program or (not self.program and bool(self.mentions.texts))
        return has_no_given_program and (not self.evidence or self.evidence.source == "other questions")


def find_object_slots(case: EditCase) -> SlotsAndReason:
    """Find the objects that may be replaced, and the reason that is reported if none of them is replaced."""
    presuppositions, tokens = case.presuppositions, case.sentence.tokens
    slots = [slot for slot in presuppositions.objects if not _is_irreplaceable(slot, case)]
    others = {slot.word for slot in slots if tokens[slot.span.first_token] == "other"}
    # "The other man" makes no sense if the first man is replaced.
    slots = [slot for slot in slots if slot.word not in others or tokens[slot.span.first_token] == "other"]
    if presuppositions.objects:
        return slots, "no other object fits" if slots else "no other object makes sense there"
    asked = "object" in presuppositions.asserted_kinds
    return [], "its objects are asked for, not presupposed" if asked else "names no object"


def _is_irreplaceable(slot: Presupposition, case: EditCase) -> bool:
    """Return whether a slot must not be replaced, because of its words or because of a pronoun.

    Examples: "a slice of PIZZA", "What is the WOMAN carrying in her hand?".
    """
    sentence = case.sentence
    # "What is the woman carrying in HER hand?" tells whether she was a man.
    has_pronoun = (
        any(
            sentence.get_tag(index) == "PRP$" and index >= slot.span.end_token
            for index in range(len(sentence.tokens))
        )
        and get_main_kind(slot.word) in LIVING_KINDS
    )
    return has_pronoun or is_fixed_expression(slot, case)


def is_fixed_expression(slot: Presupposition, case: EditCase) -> bool:
    """Return whether no other word makes sense in a slot, or the text says more about the object than can be parsed.

    Examples: "a slice of PIZZA", "the GRASS field", "Are all the ANIMALS dogs?", "What ANIMAL is it, a cow or a
    sheep?".
    """
    sentence, span, last = case.sentence, slot.span, case.sentence.num_content_tokens - 1
    portion = (
        sentence.get_previous_token(span.first_token) == "of"
        and sentence.get_previous_token(span.first_token - 1) in PARTITIVE_NOUNS
    )
    compound = any(name.end_token == span.first_token for name in sentence.name_spans.values())
    named_after = (
        span.end_token == last and sentence.get_tag(last) in ("NN", "NNS") and not sentence.is_matched(last)
    )
    has_options = slot.step == find_queried_step(case.program) and case.program[-1].verb == "choose"
    return portion or compound or named_after or has_options or slot.has_unparsed_modifiers


def find_attribute_and_relation_slots(case: EditCase) -> SlotsAndReason:
    """Find the attributes, spatial relations and positions that may be replaced.

    The result has also the reason that is reported if none of them is replaced.
    """
    presuppositions = case.presuppositions
    attributes = [
        slot
        for slot in presuppositions.attributes
        if not slot.is_negated and slot.type not in NEVER_EDITED_TYPES
    ]
    attributes = [
        slot
        for slot in attributes
        if slot.type not in MULTI_VALUED_TYPES or get_excluded_attributes(slot.word)
    ]
    relations = [
        slot
        for slot in presuppositions.relations
        if not slot.is_negated and _has_counterpart(slot, case.program)
    ]
    reasons = {
        "its attributes have no other value that such objects have": attributes,
        "no other relation fits": relations,
        "its attributes and relations have no counterpart": presuppositions.attributes
        or presuppositions.relations,
        "its attributes are asked for, not presupposed": "attribute" in presuppositions.asserted_kinds,
        "its relations are asked for, not presupposed": "relation" in presuppositions.asserted_kinds,
        "names no attribute and no relation": True,
    }
    return [*attributes, *relations], next(reason for reason, holds in reasons.items() if holds)


def _has_counterpart(slot: Presupposition, program: Sequence[Operation]) -> bool:
    """Return whether there is another relation (or position) that cannot hold together with the slot's."""
    operation = program[slot.step]
    if operation.verb == "filter":
        return slot.word in ANTONYMS
    # In "the man to the left of the other man", the relation cannot be replaced: there is also a man to the
    # right of another man.
    return (
        bool(get_excluded_relations(slot.word))
        and program[find_root_step(program, operation.inputs[0])].name != operation.name
    )
