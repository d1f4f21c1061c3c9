"""A candidate as the rules of screening look at it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.core.records import Candidate, Judgement, Question, Vocabulary
from pipeline.programs.operations import Operation, parse

Fault = str | bool | None  # what is wrong; True where the rule's reason says it all; false where nothing is
NOT_JUDGED = Judgement(answerability="unknown")


@dataclass(frozen=True)
class ScreenCase:
    """A candidate with what is known of it.

    Attributes:
        question: the picture's own one that it was made from; None for another picture's question.
        judgement: of the candidate, by the evidence.
        asked: plain texts of the questions already asked of the picture.
        kept: plain texts of the picture's candidates of the same subset that stay.
    """

    candidate: Candidate
    vocabulary: Vocabulary
    question: Question | None = None
    judgement: Judgement = NOT_JUDGED
    asked: Collection[str] = ()
    kept: Collection[str] = ()

    @cached_property
    def program(self) -> Sequence[Operation]:
        """The candidate's program, () if it has none.

        Raises:
            UserError: it is malformed.
        """
        candidate = self.candidate
        return parse(candidate.program, candidate.candidate_id) if candidate.program else ()


def looks(program: Sequence[Operation], index: int) -> list[Operation]:
    """The filters right on the thing that a step finds, the outermost first."""
    filters = []
    while program[index].verb == "filter":
        filters.append(program[index])
        index = program[index].inputs[0]
    return filters
