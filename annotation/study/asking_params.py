"""Section `annotate` of a data set's parameters: how the people's work is asked for."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from annotation.study.asking import AskingRules
from pipeline.core.params import Params
from pipeline.core.records import Task

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class AnnotateParams(Params):
    """Section `annotate` of a data set."""

    votes: Annotated[int, msgspec.Meta(ge=1)] = (
        5  # verdicts per task at most, each of another annotator; odd, best
    )
    sure: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.99  # the probability at which no more are asked
    overlap: Share = 0.1  # of the tasks that get three votes whatever the first say; so does the first wave
    wave: Annotated[int, msgspec.Meta(ge=1)] = 100  # tasks that are finished before the next are begun
    budget: Count = 0  # judgements in all; 0 = no limit
    most_tasks: Count = 0  # per annotator; 0 = no limit
    training: Count = (
        6  # tasks of known answers that each annotator begins with, told after each what is right
    )
    test: Count = 10  # tasks of known answers that each annotator passes then; 0 = none
    test_share: Share = 0.8  # of their questions to be answered as known
    seed: int = 0
    # `local`: pictures are served by Label Studio from data/. Else the address that stands before a picture's path
    # below data/, for a server elsewhere.
    pictures: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"

    def rules(self) -> AskingRules:
        """Those that `Asking` takes."""
        return AskingRules(**{name: getattr(self, name) for name in AskingRules._fields})


def as_asked(task: Task) -> dict[str, Any]:
    """A task as `Asking` takes it."""
    first, second = (
        {"role": row.role, "candidate": row.candidate_id, "expected": row.expected}
        for row in (task.first, task.second)
    )
    return {"key": task.task_id, "block": task.block, "first": first, "second": second}
