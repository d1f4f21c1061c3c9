"""Simulate verdicts: from the complete ground truth, or (in a rehearsal) from incomplete graphs that are treated as
complete.

All verdicts are marked as simulated; verdicts of a rehearsal are also marked as a rehearsal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache, partial

from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import ImageRecord, Task, TaskQuestion, Verdict
from pipeline.sources import gqa_files
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.verification import verify_question
from research.simulated_annotators.annotators import FindObstacle, find_obstacle_in_truth, simulate_verdicts
from research.simulated_annotators.word_senses import WordSenses

PROGRESS_LABEL = "collect: simulated annotators"


def load_truth_view(folders: DatasetFolders) -> FindObstacle:
    """Load the complete ground truth and return a function that finds obstacles in it.

    Raises:
        UserError: The complete ground truth is unknown.
    """
    truth = gqa_files.read_true_scene_graphs(
        folders.truth, (row.split for row in folders.read_records(ImageRecord))
    )
    vocabulary = folders.read_vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return partial(find_obstacle_in_truth, truth, words)


def simulate_from_truth(
    folders: DatasetFolders,
    tasks: Iterable[Task],
    votes_per_task: int,
    seed: int,
    audited: Collection[str] = (),
) -> list[Verdict]:
    """Simulate verdicts from the complete ground truth."""
    return simulate_verdicts(
        track(tasks, PROGRESS_LABEL, unit="task"),
        load_truth_view(folders),
        votes_per_task,
        seed,
        audited=audited,
    )


def simulate_from_evidence(
    folders: DatasetFolders,
    tasks: Iterable[Task],
    votes_per_task: int,
    seed: int,
    audited: Collection[str] = (),
) -> list[Verdict]:
    """Simulate verdicts from published or reconstructed graphs, which are treated as complete."""
    facts_of = cache(make_evidence_loader(folders, folders.read_vocabulary(), is_complete=True))

    def find_obstacle(question: TaskQuestion, image_id: str) -> str:
        judgement = verify_question(question.program, facts_of(image_id), question.text)
        if judgement.answerability == "answerable":
            return ""
        return "unclear" if judgement.answerability == "unknown" else judgement.category or "unclear"

    return simulate_verdicts(
        track(tasks, PROGRESS_LABEL, unit="task"),
        find_obstacle,
        votes_per_task,
        seed,
        rehearsal=True,
        audited=audited,
    )
