"""The only module of `pipeline` that imports `research`. Everything is imported when it is needed.

The sample needs simulated verdicts, its complete scene graphs and its own VQA models. Other data sets need none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pipeline.core.records import Answerability, SceneGraph, Step, Task, Verdict, Vocabulary

if TYPE_CHECKING:
    import typer

    from pipeline.core.paths import DatasetFolders
    from pipeline.inference.attribution.row_attribution import RowAttribution

# The length of `research.simulated_annotators.annotators.ANNOTATORS`, as a test checks.
NUM_SIMULATED_ANNOTATORS = 8


def simulate_from_truth(
    folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int
) -> list[Verdict]:
    """Return verdicts of simulated annotators who see the complete scene graphs.

    Args:
        folders: The data set.
        tasks: The tasks.
        votes: Number of verdicts per task.
        seed: Seed of the annotators.
    """
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_truth(folders, tasks, votes, seed)


def simulate_from_evidence(
    folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int
) -> list[Verdict]:
    """Return verdicts of simulated annotators who take the published scene graphs for complete, for a rehearsal.

    Args:
        folders: The data set.
        tasks: The tasks.
        votes: Number of verdicts per task.
        seed: Seed of the annotators.
    """
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_evidence(folders, tasks, votes, seed)


def make_truth_reader(
    vocabulary: Vocabulary,
) -> Callable[[tuple[Step, ...], SceneGraph], Answerability]:
    """Return a function that decides whether a question is answerable on a complete scene, independently of the verifier.

    Args:
        vocabulary: The vocabulary of the data set.
    """
    from research.simulated_annotators.answerability import true_answerability
    from research.simulated_annotators.word_senses import WordSenses

    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return lambda program, scene: true_answerability(program, scene, words)


def open_reference_row(folders: DatasetFolders, name: str, seed: int) -> RowAttribution:
    """Return a leaderboard row of the data set's own models for attribution.

    Args:
        folders: The data set.
        name: Name of the row.
        seed: Seed with which its models were trained.
    """
    from research.reference_models import row_attribution

    return row_attribution.open_reference_row(folders, name, seed)


def command_groups() -> dict[str, typer.Typer]:
    """Return the commands of `research` by the name of their group. Commands under "" have no group (`rgqa baselines`)."""
    from research.reference_models.cli import app as baselines
    from research.studies.cli import app as study
    from research.synthetic_world.cli import app as sample

    return {"": baselines, "sample": sample, "study": study}
