"""What `Asking` is made of: section `annotate` of a data set's parameters, its tasks, and what stages say of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any

import msgspec

from annotation.study.assignment import AssignmentRules
from pipeline.core.json_files import read_json
from pipeline.core.params import CountOrUnlimited, Params, Seed
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CandidateEstimate, Task

Proportion = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AnnotateParams(Params):
    """Section `annotate` of a data set: the fields of `AskingRules`, and

    Attributes:
        training: tasks of known answers that each annotator begins with, told after each what is right.
        test: tasks of known answers that each annotator passes then. test_share: of their questions to be answered as known.
        images: `local`: served by Label Studio from data/; else the address before their paths below data/, on another server.
    """

    max_votes: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, lt=1)] = 0.99
    overlap_rate: Proportion = 0.1
    wave_size: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 100
    max_judgements: CountOrUnlimited = 0
    max_tasks_per_annotator: CountOrUnlimited = 0
    training_tasks: CountOrUnlimited = 6
    qualification_tasks: CountOrUnlimited = 10
    min_qualification_accuracy: Proportion = 0.8
    seed: Seed = 0
    image_base_url: Annotated[str, msgspec.Meta(pattern=r"^(local|https?://.+)$")] = "local"

    def to_assignment_rules(self) -> AssignmentRules:
        """Those that `Asking` takes."""
        return AssignmentRules(**{name: getattr(self, name) for name in AssignmentRules._fields})


def to_task_mapping(task: Task, discarded: Collection[str] = ()) -> dict[str, Any]:
    """A task as `Asking` takes it. The filters of fallen tasks, given by id, tell nothing of anybody."""
    first, second = (
        {"role": row.role, "candidate": row.candidate_id, "expected": row.expected_choice}
        for row in (task.first, task.second)
    )
    if task.task_id in discarded:
        first["expected"] = second["expected"] = None
    return {"key": task.task_id, "block": task.priority_block, "first": first, "second": second}


def read_prior_answerable(folders: DatasetFolders) -> dict[str, float]:
    """Candidate id -> prior probability of having an answer; empty if nothing is estimated, as in a human study."""
    there = folders.read_records(CandidateEstimate) if folders.record_file(CandidateEstimate).exists() else ()
    return {row.candidate_id: row.p_answerable for row in there}


class _GoldQuestion(msgspec.Struct, frozen=True):
    image_id: str
    text: str


class _AnnotatorStatus(msgspec.Struct, frozen=True):
    name: str
    exclusion_reasons: tuple[str, ...]
    excluded_since: int


class CollectFeedback(msgspec.Struct, frozen=True):
    """The part of `quality.json` on which the asking rests; empty before stage `collect` has judged people's verdicts.

    Attributes:
        fallen: filter questions that are taken to be wrong. doubtful: candidate id -> probability of having no answer.
    """

    simulated: bool = True
    discarded_gold_questions: tuple[_GoldQuestion, ...] = ()
    annotators: tuple[_AnnotatorStatus, ...] = ()
    doubtful: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def excluded_since(self) -> dict[str, int]:
        """Pseudonym -> the place among their own answers from which on they do not count."""
        return {person.name: person.excluded_since for person in self.annotators if person.exclusion_reasons}

    def find_discarded_tasks(self, tasks: Iterable[Task]) -> list[str]:
        """The ids of the tasks in which a fallen filter stands, sorted."""
        fallen = {(row.image_id, row.text) for row in self.discarded_gold_questions}
        asked = ((task, row) for task in tasks for row in (task.first, task.second) if row.role == "filter")
        return sorted({task.task_id for task, row in asked if (task.image_id, row.text) in fallen})


def read_collect_feedback(folders: DatasetFolders) -> CollectFeedback:
    """What stage `collect` says of people's verdicts; nothing of simulated ones."""
    path = folders.stage_dir("collect") / "quality.json"
    said = read_json(path, CollectFeedback) if path.exists() else CollectFeedback()
    return CollectFeedback() if said.simulated else said
