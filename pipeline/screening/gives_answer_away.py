"""The question's text holds its answer: "What color are the black shoes?", "Is the red cup red?"."""

from __future__ import annotations

import re

from pipeline.programs.operations import root
from pipeline.screening.screen_case import Fault, ScreenCase, looks
from pipeline.words.nouns import words
from pipeline.words.relations import antonym

_NO_LOOKS = frozenset(("", "name", "rel", "place", "room", "location"))  # types
_ASKED = re.compile(r"\b(color|colour|material|pattern|shape|size)\b", re.IGNORECASE)
_YES_NO = re.compile(r"(is|are|do|does)\b", re.IGNORECASE)
# "What color are the black shoes?": between the word that asks and the noun phrase that it asks of.
_BETWEEN = frozenset(("of", "is", "are", "does", "do", "the", "you", "think"))
# There another noun phrase starts.
_NEXT_PHRASE = words(
    "of, in, on, to, near, next, behind, above, below, under, beside, with, by, that, which, who, wearing, holding"
)


def asked_look_is_named(case: ScreenCase) -> Fault:
    """It asks for the colour of something black, or whether something red is red."""
    for operation in case.program:
        if operation.verb not in ("query", "verify", "choose") or not operation.inputs:
            continue
        for look in looks(case.program, operation.inputs[0]):
            if operation.type not in _NO_LOOKS and look.type == operation.type and not look.negated:
                return f"it asks for the {operation.type} of something {look.values[0]}"
            if not operation.type and look.values[0] in operation.values:
                return f"it asks of something {look.values[0]} whether it is"
    return None


def asked_name_is_put_in(case: ScreenCase) -> Fault:
    """It asks for the name of what it names since it was edited: that of "the couch", not of "the furniture".
    (Source questions ask so of categories alone, of some that the vocabulary does not know.)"""
    put_in = {edit.step for edit in case.candidate.edits if edit.kind == "object"}
    for step in _asked_for_their_names(case):
        name = case.program[step].name
        if step in put_in and name not in case.vocabulary.categories:
            return f"it asks for the name of a {name}"
    return None


def there_and_back(case: ScreenCase) -> Fault:
    """ "What is to the left of the cup that is to the right of the lamp?": the lamp."""
    program = case.program
    for step in _asked_for_their_names(case):
        outer = program[step]
        inner = program[root(program, outer.inputs[0])] if outer.verb == "relate" else outer
        if outer.verb != "relate" or inner.verb != "relate":
            continue
        same = inner.values == outer.values and inner.subject != outer.subject
        opposite = antonym(inner.values[0]) == outer.values[0] and inner.subject == outer.subject
        if same or opposite:
            return f"the {program[root(program, inner.inputs[0])].name} that the text names is an answer"
    return None


def asked_look_is_said(case: ScreenCase) -> Fault:
    """Without a program its words tell: it asks for a type of look and says one of the thing."""
    text, types = case.candidate.text, case.vocabulary.attribute_types
    asked = _ASKED.search(text)
    if case.program or asked is None or _YES_NO.match(text):
        return None
    type_ = asked[1].lower().replace("colour", "color")
    after = re.findall(r"[\w-]+", text[asked.end() :].lower())
    while after and after[0] in _BETWEEN:
        after.pop(0)
    for word in after:
        if word in _NEXT_PHRASE:
            return None
        if types.get(word) == type_:
            return f"it asks for the {type_} of something {word}"
    return None


def _asked_for_their_names(case: ScreenCase) -> list[int]:
    """The steps that name what the question asks to be named."""
    return [
        root(case.program, operation.inputs[0])
        for operation in case.program
        if operation.verb == "query" and operation.type == "name" and operation.inputs
    ]
