"""A question as the kinds of edits look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.records import Word
from pipeline.judge.facts import Facts
from pipeline.perturbing.replacements import Replacements
from pipeline.programs.operations import Operation
from pipeline.programs.sentence import Sentence


@dataclass(frozen=True, slots=True)
class EditCase:
    """A question with what is known of it.

    Attributes:
        program: () if the question came without one. words: the tagged words of its text.
        facts: the evidence about its picture, if any; present: rows of the objects it shows by that evidence.
        random: two numbers in [0, 1) for each slot, more than any question has.
    """

    sentence: Sentence
    program: Sequence[Operation]
    words: Sequence[Word]
    facts: Facts | None
    present: np.ndarray
    replacements: Replacements
    random: Sequence[Sequence[float]]
