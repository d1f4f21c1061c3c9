"""What may be wrong with a candidate: the question is unsound whatever the image shows (it offers one choice twice,
gives its answer away, is badly said), or it has an answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile, takewhile

from pipeline.candidates.screening.grammar import find_grammar_error
from pipeline.core.records import Candidate, Question, VerifierResult, Vocabulary
from pipeline.language.functional_programs import (
    SCENE,
    Operation,
    collect_noun_phrase,
    find_root_step,
    parse_program,
)
from pipeline.language.presuppositions import find_queried_step
from pipeline.language.relations import PREPOSITIONS, get_antonym
from pipeline.language.word_lists import DETERMINERS, parse_words

Fault = str | bool | None  # what is wrong; True where the rule's reason says it all; false where nothing is
UNKNOWN_RESULT = VerifierResult(answerability="unknown")
# "Is it to the right or to the right of ...": the same words on both sides of "or", and the word after them.
_REPEATED_OPTION = re.compile(
    r"(?<![\w-])(?<!light )(?<!dark )([\w-]+(?: [\w-]+){0,5}) or \1(?![\w-])(?: ([\w-]+))?"
)
_NON_ATTRIBUTE_TYPES = frozenset(("", "name", "rel", "place", "room", "location"))  # types
_ATTRIBUTE_QUESTION = re.compile(r"\b(color|colour|material|pattern|shape|size)\b")
_YES_NO_QUESTION = re.compile(r"(is|are|do|does)\b")
# "What color are the black shoes?": between the word that asks and the noun phrase that it asks of.
_WORDS_BEFORE_NOUN_PHRASE = frozenset(("of", "is", "are", "does", "do", "the", "you", "think"))
# There another noun phrase starts.
_PHRASE_STARTERS = parse_words("""of, in, on, to, near, next, behind, above, below, under, beside, with, by, that, which, who,
wearing, holding""")


@dataclass(frozen=True)
class ScreenCase:
    """A candidate with what is known of it.

    Attributes:
        question: the image's own one that it was made from; None for another image's question.
        judgement: of the candidate, by the evidence.
        asked: plain texts of the questions already asked of the image.
        kept: plain texts of the image's candidates of the same subset that stay.
    """

    candidate: Candidate
    vocabulary: Vocabulary
    question: Question | None = None
    verifier_result: VerifierResult = UNKNOWN_RESULT
    own_texts: Collection[str] = ()
    kept_texts: Collection[str] = ()

    @cached_property
    def program(self) -> Sequence[Operation]:
        """The candidate's program, () if it has none.

        Raises:
            UserError: it is malformed.
        """
        candidate = self.candidate
        return parse_program(candidate.program, candidate.candidate_id) if candidate.program else ()


def find_repeated_option(case: ScreenCase) -> Fault:
    """Two equal options of a `choose`; without a program, in its words. There a word after the second option may make another
    thing of it ("a car or a car park"). None does so that starts a noun phrase, nor "side", "part", and the "of" of "to the left
    of"."""
    for operation in case.program:
        if operation.verb == "choose" and len(set(operation.values)) < len(operation.values):
            return " or ".join(operation.values)
    for option, following in () if case.program else _REPEATED_OPTION.findall(case.candidate.text.lower()):
        goes_on = following not in DETERMINERS | {"", "side", "part"}
        if not goes_on or f"{option} {following}" in PREPOSITIONS:
            return f"{option} or {option}"
    return None


def find_given_attribute(case: ScreenCase) -> Fault:
    """It asks for the colour of something black, or whether something red is red."""
    program = case.program
    for operation in program:
        if operation.verb not in ("query", "verify", "choose") or not operation.inputs:
            continue
        for look in (program[i] for i in collect_noun_phrase(program, operation.inputs[0])[:-1]):
            if (
                operation.type not in _NON_ATTRIBUTE_TYPES
                and look.type == operation.type
                and not look.is_negated
            ):
                return f"it asks for the {operation.type} of something {look.values[0]}"
            if not operation.type and look.values[0] in operation.values:
                return f"it asks of something {look.values[0]} whether it is"
    return None


def find_given_name(case: ScreenCase) -> Fault:
    """It asks for the name of what it names since it was edited: that of "the couch", not of "the furniture".
    (Source questions ask so of categories alone, of some that the vocabulary does not know.)"""
    asked = find_queried_step(case.program)
    put_in = any(edit.kind == "object" and edit.step_index == asked for edit in case.candidate.edits)
    if asked is None or not put_in or case.program[asked].name in case.vocabulary.categories:
        return None
    return f"it asks for the name of a {case.program[asked].name}"


def find_inverse_relation(case: ScreenCase) -> Fault:
    """ "What is to the left of the cup that is to the right of the lamp?": the lamp."""
    program, asked = case.program, find_queried_step(case.program)
    if asked is None or program[asked].verb != "relate":
        return None
    outer = program[asked]
    inner = program[find_root_step(program, outer.inputs[0])]
    if inner.verb != "relate":
        return None
    same = inner.values == outer.values and inner.is_subject != outer.is_subject
    opposite = get_antonym(inner.values[0]) == outer.values[0] and inner.is_subject == outer.is_subject
    named = program[find_root_step(program, inner.inputs[0])].name
    return f"the {named} that the text names is an answer" if same or opposite else None


def find_given_attribute_in_text(case: ScreenCase) -> Fault:
    """Without a program its words tell: it asks for a type of look and says one of the thing."""
    text, types = case.candidate.text.lower(), case.vocabulary.attribute_types
    asked = _ATTRIBUTE_QUESTION.search(text)
    if case.program or asked is None or _YES_NO_QUESTION.match(text):
        return None
    type_ = asked[1].replace("colour", "color")
    after = dropwhile(_WORDS_BEFORE_NOUN_PHRASE.__contains__, re.findall(r"[\w-]+", text[asked.end() :]))
    phrase = takewhile(lambda word: word not in _PHRASE_STARTERS, after)
    look = next((word for word in phrase if types.get(word) == type_), None)
    return look and f"it asks for the {type_} of something {look}"


def is_ungrammatical(case: ScreenCase) -> Fault:
    """The slip in the text of an edited question, or in its source's: "What is the man that to the left of the cup
    wearing?"."""
    texts = (case.candidate.text, *([case.question.text] if case.question else ()))
    return next(filter(None, map(find_grammar_error, texts)), None) if case.candidate.edits else None


def normalize_text(text: str) -> str:
    """A text without capitals, doubled blanks and the mark at its end: equal for texts that ask the same way."""
    return " ".join(text.rstrip("?. ").lower().split())


def is_unchanged_by_edit(case: ScreenCase) -> Fault:
    """It still asks what its source asks: the same text, or the options of a choice in another order."""
    candidate, question = case.candidate, case.question
    if question is None:
        return None
    text, source = normalize_text(candidate.text), normalize_text(question.text)
    return text == source or (" or " in text and sorted(text.split()) == sorted(source.split()))


def is_already_asked(case: ScreenCase) -> Fault:
    """The image's own questions have it."""
    return normalize_text(case.candidate.text) in case.own_texts


def is_duplicate(case: ScreenCase) -> Fault:
    """Another candidate of the image and subset, which stays, has the same text."""
    return normalize_text(case.candidate.text) in case.kept_texts


def is_image_independent(case: ScreenCase) -> Fault:
    """It has an answer at every image."""
    return bool(case.program) and is_always_answerable(case.program)


def is_answerable_by_evidence(case: ScreenCase) -> Fault:
    """The judge knows the answer."""
    return case.verifier_result.answerability == "answerable" and case.verifier_result.evidence_source


def is_always_answerable(program: Sequence[Operation]) -> bool:
    """Whether a question has an answer at every image: what place it shows, whether there is something."""
    last = program[-1]
    if last.verb in ("query", "verify") or (last.verb == "choose" and last.type == "location"):
        return program[last.inputs[0]].name == SCENE and last.type in ("place", "room", "location")
    truths = ("exist", "and", "or")
    return last.verb in truths and all(step.is_asserted or step.verb in truths for step in program)
