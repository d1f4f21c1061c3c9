"""Faults that a question has whatever the picture shows: it answers itself, contradicts itself, offers one
choice twice."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from pipeline.programs.operations import Operation
from pipeline.words.frames import DETERMINERS
from pipeline.words.lexicon import OVERLAPPING
from pipeline.words.likeness import similar
from pipeline.words.relations import PREPOSITIONS, antonym

GIVES_AWAY = "gives its answer away"
CONTRADICTS = "contradicts itself"
SAME_CHOICE = "offers the same choice twice"

_NOT_LOOKS = frozenset(("", "name", "rel", "place", "room", "location"))
_MIXED = frozenset(("color", "pattern", "material"))  # "the shirt that looks yellow and white" may be there
# "Is it to the right or to the right of ...": the same words on both sides of "or", and the word after them.
_TWICE = re.compile(r"(?<![\w-])(?<!light )(?<!dark )([\w-]+(?: [\w-]+){0,5}) or \1(?![\w-])(?: ([\w-]+))?")
# "What color are the black shoes?": from the word that asks, the next noun phrase ends where another one
# starts.
_ASKED = re.compile(r"\b(color|colour|material|pattern|shape|size)\b", re.IGNORECASE)
_NEXT_PHRASE = frozenset(
    (
        "of",
        "in",
        "on",
        "to",
        "near",
        "next",
        "behind",
        "above",
        "below",
        "under",
        "beside",
        "with",
        "by",
        "that",
        "which",
        "who",
        "wearing",
        "holding",
    )
)


def fault(
    program: Sequence[Operation], renamed: Collection[int], categories: Collection[str]
) -> tuple[str, str] | None:
    """The first fault of a program, as (reason, detail); None for a sound one.

    Args:
        renamed: steps whose name was replaced. Asking for the name of "the couch" gives it away, that of "the
            furniture" does not. (Source questions ask so of categories alone, of some that are not in
            `categories`.)
    """
    return _same_choice(program) or _contradiction(program) or _given_away(program, renamed, categories)


def text_fault(text: str, attribute_types: Mapping[str, str]) -> tuple[str, str] | None:
    """The same for a question without a program, by its words: it asks for a type of which it names a
    value."""
    asked = _ASKED.search(text)
    if asked is None or re.match(r"(is|are|do|does)\b", text, re.IGNORECASE):
        return None
    type_ = asked[1].lower().replace("colour", "color")
    words = re.findall(r"[\w-]+", text[asked.end() :].lower())
    while words and words[0] in ("of", "is", "are", "does", "do", "the", "you", "think"):
        words.pop(0)
    for word in words:
        if word in _NEXT_PHRASE:
            return None
        if attribute_types.get(word) == type_:
            return GIVES_AWAY, f"it asks for the {type_} of something {word}"
    return None


def choice_said_twice(text: str) -> tuple[str, str] | None:
    """Two equal options in the words of a question, as (reason, detail), whatever its program says.

    A word after the second option may make another thing of it ("a car or a car park"). None does so that
    starts a noun phrase, nor "side", "part", and the "of" of "to the left of".
    """
    for option, following in _TWICE.findall(text.lower()) if " or " in text else ():
        goes_on = following not in DETERMINERS | {"", "side", "part"}
        if not goes_on or f"{option} {following}" in PREPOSITIONS:
            return SAME_CHOICE, f"{option} or {option}"
    return None


def _looks(program: Sequence[Operation], index: int) -> list[Operation]:
    """The filters right on the thing that a step finds."""
    found = []
    while program[index].verb == "filter":
        found.append(program[index])
        index = program[index].inputs[0]
    return found


def _source(program: Sequence[Operation], index: int) -> int:
    while program[index].verb == "filter":
        index = program[index].inputs[0]
    return index


def _same_choice(program: Sequence[Operation]) -> tuple[str, str] | None:
    for operation in program:
        if operation.verb == "choose" and len(set(operation.values)) < len(operation.values):
            return SAME_CHOICE, " or ".join(operation.values)
    return None


def _contradiction(program: Sequence[Operation]) -> tuple[str, str] | None:
    """Two looks of one thing that exclude each other: old and young, red and not red."""
    for index, operation in enumerate(program):
        if operation.verb != "filter":
            continue
        for other in _looks(program, operation.inputs[0]):
            mine, theirs = operation.values[0], other.values[0]
            if operation.negated != other.negated:
                if mine == theirs:
                    return CONTRADICTS, f"{mine} and not {mine}"
            elif (
                not operation.negated
                and operation.type == other.type
                and operation.type not in OVERLAPPING | _MIXED
                and not similar(mine, theirs)
            ):
                return CONTRADICTS, f"{mine} and {theirs}"
    return None


def _given_away(
    program: Sequence[Operation], renamed: Collection[int], categories: Collection[str]
) -> tuple[str, str] | None:
    """The answer stands in the text: "What color are the black shoes?", "Is the red cup red?"."""
    for operation in program:
        if operation.verb not in ("query", "verify", "choose") or not operation.inputs:
            continue
        looks = _looks(program, operation.inputs[0])
        for look in looks:
            if operation.type not in _NOT_LOOKS and look.type == operation.type and not look.negated:
                return GIVES_AWAY, f"it asks for the {operation.type} of something {look.values[0]}"
            if not operation.type and look.values[0] in operation.values:
                return GIVES_AWAY, f"it asks of something {look.values[0]} whether it is"
        if operation.verb == "query" and operation.type == "name":
            source = _source(program, operation.inputs[0])
            if source in renamed and program[source].name not in categories:
                return GIVES_AWAY, f"it asks for the name of a {program[source].name}"
            if again := _there_and_back(program, source):
                return GIVES_AWAY, again
    return None


def _there_and_back(program: Sequence[Operation], index: int) -> str:
    """ "What is to the left of the cup that is to the right of the lamp?": the lamp."""
    outer = program[index]
    if outer.verb != "relate":
        return ""
    inner = program[_source(program, outer.inputs[0])]
    if inner.verb != "relate":
        return ""
    same = inner.values == outer.values and inner.subject != outer.subject
    opposite = antonym(inner.values[0]) == outer.values[0] and inner.subject == outer.subject
    if not (same or opposite):
        return ""
    named = program[_source(program, inner.inputs[0])]
    return f"the {named.name} that the text names is an answer"
