"""Check candidates for faults.

A candidate has a fault if its question is flawed whatever the image shows. Such a question offers the same
option twice, reveals its answer, or is ungrammatical. A candidate also has a fault if its question has an
answer.
"""

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

# The result of a check: a description of the fault, or True if the reason of the rule is description enough.
# A falsy result means that the candidate has no such fault.
Fault = str | bool | None
UNKNOWN_RESULT = VerifierResult(answerability="unknown")
# Matches the same words on both sides of "or", and the word that follows: "Is it to the right or to the right
# of".
_REPEATED_OPTION = re.compile(
    r"(?<![\w-])(?<!light )(?<!dark )([\w-]+(?: [\w-]+){0,5}) or \1(?![\w-])(?: ([\w-]+))?"
)
# Types of steps that do not ask for an attribute.
_NON_ATTRIBUTE_TYPES = frozenset(("", "name", "rel", "place", "room", "location"))
_ATTRIBUTE_QUESTION = re.compile(r"\b(color|colour|material|pattern|shape|size)\b")
_YES_NO_QUESTION = re.compile(r"(is|are|do|does)\b")
# Words between the attribute type and the noun phrase: "What color ARE THE black shoes?".
_WORDS_BEFORE_NOUN_PHRASE = frozenset(("of", "is", "are", "does", "do", "the", "you", "think"))
# Words at which another phrase starts.
_PHRASE_STARTERS = parse_words("""of, in, on, to, near, next, behind, above, below, under, beside, with, by, that, which, who,
wearing, holding""")


@dataclass(frozen=True)
class ScreenCase:
    """A candidate, with the data that the checks need.

    Attributes:
        candidate: The candidate.
        vocabulary: The vocabulary of the data set.
        question: The image's own question from which the candidate was made by editing, or None if the
            candidate is a question of another image.
        verifier_result: The verifier's result for the candidate.
        own_texts: Normalized texts of the image's own questions.
        kept_texts: Normalized texts of the kept candidates of the same image and subset.
    """

    candidate: Candidate
    vocabulary: Vocabulary
    question: Question | None = None
    verifier_result: VerifierResult = UNKNOWN_RESULT
    own_texts: Collection[str] = ()
    kept_texts: Collection[str] = ()

    @cached_property
    def program(self) -> Sequence[Operation]:
        """The parsed program of the candidate, or () if the candidate has none.

        Raises:
            UserError: The program is malformed.
        """
        candidate = self.candidate
        return parse_program(candidate.program, candidate.candidate_id) if candidate.program else ()


def find_repeated_option(case: ScreenCase) -> Fault:
    """Find two equal options of a choice, in the program or, if there is no program, in the text.

    In the text, a word after the second option may change the meaning of the option ("a car or a car park").
    Words that start a noun phrase do not change the meaning. Neither do "side" and "part", and the "of" in
    "to the left of".
    """
    for operation in case.program:
        if operation.verb == "choose" and len(set(operation.values)) < len(operation.values):
            return " or ".join(operation.values)
    for option, following in () if case.program else _REPEATED_OPTION.findall(case.candidate.text.lower()):
        continues = following not in DETERMINERS | {"", "side", "part"}
        if not continues or f"{option} {following}" in PREPOSITIONS:
            return f"{option} or {option}"
    return None


def find_given_attribute(case: ScreenCase) -> Fault:
    """Find an attribute that the question both states and asks for.

    Such a question asks for the color of something black, or whether something red is red.
    """
    program = case.program
    for operation in program:
        if operation.verb not in ("query", "verify", "choose") or not operation.inputs:
            continue
        for step in (program[i] for i in collect_noun_phrase(program, operation.inputs[0])[:-1]):
            if (
                operation.type not in _NON_ATTRIBUTE_TYPES
                and step.type == operation.type
                and not step.is_negated
            ):
                return f"it asks for the {operation.type} of something {step.values[0]}"
            if not operation.type and step.values[0] in operation.values:
                return f"it asks whether something {step.values[0]} is {step.values[0]}"
    return None


def find_given_name(case: ScreenCase) -> Fault:
    """Find an inserted name that the question asks for.

    "Which kind of furniture is the couch?" reveals its answer. "Which kind of furniture is the furniture?"
    does not. Source questions ask for the name only of categories. Some of these categories are not in the
    vocabulary, so only inserted names are checked.
    """
    asked = find_queried_step(case.program)
    is_inserted = any(edit.kind == "object" and edit.step_index == asked for edit in case.candidate.edits)
    if asked is None or not is_inserted or case.program[asked].name in case.vocabulary.categories:
        return None
    return f"it asks for the name of a {case.program[asked].name}"


def find_inverse_relation(case: ScreenCase) -> Fault:
    """Find a question whose text contains its answer, because two of its relations are inverse.

    An example is "What is to the left of the cup that is to the right of the lamp?" (the lamp).
    """
    program, asked = case.program, find_queried_step(case.program)
    if asked is None or program[asked].verb != "relate":
        return None
    outer = program[asked]
    inner = program[find_root_step(program, outer.inputs[0])]
    if inner.verb != "relate" or _names_more(program, asked):
        return None
    same = inner.values == outer.values and inner.is_subject != outer.is_subject
    opposite = get_antonym(inner.values[0]) == outer.values[0] and inner.is_subject == outer.is_subject
    named = program[find_root_step(program, inner.inputs[0])].name
    return f"the {named} is an answer, and the text names it" if same or opposite else None


def _names_more(program: Sequence[Operation], asked: int) -> bool:
    """Return whether a program selects an object that none of its steps uses, as programs derived from texts do.

    "What does the man in the red shirt wear ON HIS WRIST?" does not ask for the shirt.
    """
    used = {index for operation in program for index in operation.inputs}
    return any(
        operation.verb == "select" and step not in used and step != asked
        for step, operation in enumerate(program)
    )


def find_given_attribute_in_text(case: ScreenCase) -> Fault:
    """Find an attribute that a question without a program both states and asks for, in its text."""
    text, types = case.candidate.text.lower(), case.vocabulary.attribute_types
    asked = _ATTRIBUTE_QUESTION.search(text)
    if case.program or asked is None or _YES_NO_QUESTION.match(text):
        return None
    type_ = asked[1].replace("colour", "color")
    after = dropwhile(_WORDS_BEFORE_NOUN_PHRASE.__contains__, re.findall(r"[\w-]+", text[asked.end() :]))
    phrase = takewhile(lambda word: word not in _PHRASE_STARTERS, after)
    attribute = next((word for word in phrase if types.get(word) == type_), None)
    return attribute and f"it asks for the {type_} of something {attribute}"


def is_ungrammatical(case: ScreenCase) -> Fault:
    """Return a description of the grammatical error of an edited question or of its source.

    An example is "What is the man that to the left of the cup wearing?".
    """
    texts = (case.candidate.text, *([case.question.text] if case.question else ()))
    return next(filter(None, map(find_grammar_error, texts)), None) if case.candidate.edits else None


def normalize_text(text: str) -> str:
    """Return a text in lower case, without repeated spaces and final punctuation.

    Texts that ask the same question become equal.
    """
    return " ".join(text.rstrip("?. ").lower().split())


def is_unchanged_by_edit(case: ScreenCase) -> Fault:
    """Return whether the edited question still asks the same as its source.

    This is so if both have the same text, or the same options of a choice in another order.
    """
    candidate, question = case.candidate, case.question
    if question is None:
        return None
    text, source = normalize_text(candidate.text), normalize_text(question.text)
    return text == source or (" or " in text and sorted(text.split()) == sorted(source.split()))


def is_already_asked(case: ScreenCase) -> Fault:
    """Return whether one of the image's own questions has the same text."""
    return normalize_text(case.candidate.text) in case.own_texts


def is_duplicate(case: ScreenCase) -> Fault:
    """Return whether a kept candidate of the same image and subset has the same text."""
    return normalize_text(case.candidate.text) in case.kept_texts


def is_image_independent(case: ScreenCase) -> Fault:
    """Return whether the question has an answer for every image."""
    return bool(case.program) and is_always_answerable(case.program)


def is_answerable_by_evidence(case: ScreenCase) -> Fault:
    """Return the source of the evidence if the verifier finds the candidate answerable."""
    return case.verifier_result.answerability == "answerable" and case.verifier_result.evidence_source


def is_always_answerable(program: Sequence[Operation]) -> bool:
    """Return whether a program has an answer for every image.

    This is so if the program asks for the place or the location of the scene, or whether something exists.
    """
    last = program[-1]
    if last.verb in ("query", "verify") or (last.verb == "choose" and last.type == "location"):
        return program[last.inputs[0]].name == SCENE and last.type in ("place", "room", "location")
    truths = ("exist", "and", "or")
    return last.verb in truths and all(step.is_asserted or step.verb in truths for step in program)
