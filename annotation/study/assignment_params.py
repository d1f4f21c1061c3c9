"""Read what `AdaptiveAssigner` needs: section `annotate` of params.yaml, the tasks, and the results of
earlier stages.
"""

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
    """Parameters of the human annotation study (section `annotate`).

    Attributes:
        max_votes: Maximum number of votes per task, each by another annotator. Use an odd number.
        min_posterior: No further vote is requested once the verdict is at least this probable (0.5 to
            1). Lower values cost fewer votes.
        overlap_rate: Proportion (0 to 1) of tasks that get three votes in any case, so that agreement
            can be measured.
        wave_size: Number of tasks that are finished before the next ones begin. All tasks of the first
            wave get three votes.
        max_judgements: Maximum number of judgements in the whole study. 0 means no limit.
        max_tasks_per_annotator: Maximum number of tasks per annotator. 0 means no limit.
        training_tasks: Number of training tasks at the beginning, with feedback after each.
        qualification_tasks: Number of tasks in the qualification test after the training. 0 means no
            test.
        min_qualification_accuracy: Minimum accuracy (0 to 1) on valid and on invalid questions of the
            qualification test.
        seed: Seed of the order of tasks.
        image_base_url: `local`: Label Studio serves the images from data/. Otherwise the URL before the
            image paths below data/, for a server elsewhere.
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
        """Return the parameters that `AdaptiveAssigner` needs."""
        return AssignmentRules(**{name: getattr(self, name) for name in AssignmentRules._fields})


def to_task_mapping(task: Task, discarded: Collection[str] = ()) -> dict[str, Any]:
    """Convert a task to the mapping that `AdaptiveAssigner` expects.

    Args:
        task: The task.
        discarded: Ids of tasks whose gold question is discarded. Their gold questions are not used to assess
            annotators.
    """
    first, second = (
        {"role": row.role, "candidate": row.candidate_id, "expected": row.expected_choice}
        for row in (task.first, task.second)
    )
    if task.task_id in discarded:
        first["expected"] = second["expected"] = None
    return {"key": task.task_id, "block": task.priority_block, "first": first, "second": second}


def read_prior_answerable(folders: DatasetFolders) -> dict[str, float]:
    """Return candidate id -> prior probability of being answerable; empty if there is no stage `estimate`, as
    in a human baseline.
    """
    path = folders.record_file(CandidateEstimate)
    estimates = folders.read_records(CandidateEstimate) if path.exists() else ()
    return {row.candidate_id: row.p_answerable for row in estimates}


class _GoldQuestion(msgspec.Struct, frozen=True):
    image_id: str
    text: str


class _AnnotatorStatus(msgspec.Struct, frozen=True):
    name: str
    exclusion_reasons: tuple[str, ...]
    excluded_since: int


class CollectFeedback(msgspec.Struct, frozen=True):
    """The part of `quality.json` that task assignment uses.

    It is empty until stage `collect` has processed verdicts of people.

    Attributes:
        simulated: Whether the verdicts are simulated.
        discarded_gold_questions: Gold questions that are discarded as mislabelled.
        annotators: Pseudonym and exclusion of each annotator.
        doubtful: Candidate id -> probability of being unanswerable, for candidates whose votes do not decide.
    """

    simulated: bool = True
    discarded_gold_questions: tuple[_GoldQuestion, ...] = ()
    annotators: tuple[_AnnotatorStatus, ...] = ()
    doubtful: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def excluded_since(self) -> dict[str, int]:
        """Excluded pseudonym -> `sequence_index` of the first answer that does not count."""
        return {person.name: person.excluded_since for person in self.annotators if person.exclusion_reasons}

    def find_discarded_tasks(self, tasks: Iterable[Task]) -> list[str]:
        """Return the sorted ids of the tasks that contain a discarded gold question."""
        discarded = {(row.image_id, row.text) for row in self.discarded_gold_questions}
        gold = ((task, row) for task in tasks for row in (task.first, task.second) if row.role == "gold")
        return sorted({task.task_id for task, row in gold if (task.image_id, row.text) in discarded})


def read_collect_feedback(folders: DatasetFolders) -> CollectFeedback:
    """Read the results of stage `collect`. Results from simulated verdicts are ignored."""
    path = folders.stage_dir("collect") / "quality.json"
    feedback = read_json(path, CollectFeedback) if path.exists() else CollectFeedback()
    return CollectFeedback() if feedback.simulated else feedback
