"""What `Asking` is made of: section `annotate` of a data set's parameters, its tasks, and what stages say of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any

import msgspec

from annotation.study.assignment import AskingRules
from pipeline.core.json_files import read_json
from pipeline.core.params import CountOrNone, Params, Seed
from pipeline.core.paths import Folders
from pipeline.core.records import Estimate, Task

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AnnotateParams(Params):
    """Section `annotate` of a data set: the fields of `AskingRules`, and

    Attributes:
        training: tasks of known answers that each annotator begins with, told after each what is right.
        test: tasks of known answers that each annotator passes then. test_share: of their questions to be answered as known.
        pictures: `local`: served by Label Studio from data/; else the address before their paths below data/, on another server.
    """

    votes: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    sure: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.99
    overlap: Share = 0.1
    wave: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 100
    budget: CountOrNone = 0
    most_tasks: CountOrNone = 0
    training: CountOrNone = 6
    test: CountOrNone = 10
    test_share: Share = 0.8
    seed: Seed = 0
    pictures: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"

    def rules(self) -> AskingRules:
        """Those that `Asking` takes."""
        return AskingRules(**{name: getattr(self, name) for name in AskingRules._fields})


def as_asked(task: Task, fallen: Collection[str] = ()) -> dict[str, Any]:
    """A task as `Asking` takes it. The filters of fallen tasks, given by id, tell nothing of anybody."""
    first, second = (
        {"role": row.role, "candidate": row.candidate_id, "expected": row.expected}
        for row in (task.first, task.second)
    )
    if task.task_id in fallen:
        first["expected"] = second["expected"] = None
    return {"key": task.task_id, "block": task.block, "first": first, "second": second}


def estimates(folders: Folders) -> dict[str, float]:
    """Candidate id -> prior probability of having an answer; empty if nothing is estimated, as in a human study."""
    there = folders.rows(Estimate) if folders.file(Estimate).exists() else ()
    return {row.candidate_id: row.answerable for row in there}


class _Filter(msgspec.Struct, frozen=True):
    picture_id: str
    text: str


class _Person(msgspec.Struct, frozen=True):
    name: str
    excluded: tuple[str, ...]
    since: int


class FromCollect(msgspec.Struct, frozen=True):
    """The part of `quality.json` on which the asking rests; empty before stage `collect` has judged people's verdicts.

    Attributes:
        fallen: filter questions that are taken to be wrong. doubtful: candidate id -> probability of having no answer.
    """

    simulated: bool = True
    fallen: tuple[_Filter, ...] = ()
    annotators: tuple[_Person, ...] = ()
    doubtful: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def excluded(self) -> dict[str, int]:
        """Pseudonym -> the place among their own answers from which on they do not count."""
        return {person.name: person.since for person in self.annotators if person.excluded}

    def fallen_tasks(self, tasks: Iterable[Task]) -> list[str]:
        """The ids of the tasks in which a fallen filter stands, sorted."""
        fallen = {(row.picture_id, row.text) for row in self.fallen}
        asked = ((task, row) for task in tasks for row in (task.first, task.second) if row.role == "filter")
        return sorted({task.task_id for task, row in asked if (task.picture_id, row.text) in fallen})


def from_collect(folders: Folders) -> FromCollect:
    """What stage `collect` says of people's verdicts; nothing of simulated ones."""
    path = folders.stage("collect") / "quality.json"
    said = read_json(path, FromCollect) if path.exists() else FromCollect()
    return FromCollect() if said.simulated else said
