"""The question offers one choice twice: "Is it a cat or a cat?"."""

from __future__ import annotations

import re

from pipeline.screening.screen_case import Fault, ScreenCase
from pipeline.words.frames import DETERMINERS
from pipeline.words.relations import PREPOSITIONS

# "Is it to the right or to the right of ...": the same words on both sides of "or", and the word after them.
_TWICE = re.compile(r"(?<![\w-])(?<!light )(?<!dark )([\w-]+(?: [\w-]+){0,5}) or \1(?![\w-])(?: ([\w-]+))?")


def in_program(case: ScreenCase) -> Fault:
    """Two equal options of a `choose`."""
    for operation in case.program:
        if operation.verb == "choose" and len(set(operation.values)) < len(operation.values):
            return " or ".join(operation.values)
    return None


def in_words(case: ScreenCase) -> Fault:
    """Two equal options in the words of the question, whatever its program says.

    A word after the second option may make another thing of it ("a car or a car park"). None does so that
    starts a noun phrase, nor "side", "part", and the "of" of "to the left of".
    """
    text = case.candidate.text.lower()
    for option, following in _TWICE.findall(text) if " or " in text else ():
        goes_on = following not in DETERMINERS | {"", "side", "part"}
        if not goes_on or f"{option} {following}" in PREPOSITIONS:
            return f"{option} or {option}"
    return None
