"""The only module of `pipeline` that imports `research`.

Each function imports what it needs when it is called.

The synthetic sample needs simulated verdicts, complete scene graphs and its own VQA models from `research`.
Other data sets need none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from pipeline.core.records import Answerability, SceneGraph, Step, Task, Verdict, Vocabulary

if TYPE_CHECKING:
    import typer

    from pipeline.core.paths import DatasetFolders
    from pipeline.inference.attribution.row_attribution import RowAttribution

# Number of simulated annotators: the length of `research.simulated_annotators.annotators.ANNOTATORS`. A test
# checks this.
NUM_SIMULATED_ANNOTATORS = 8


def simulate_from_truth(
    folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int, audited: Collection[str] = ()
) -> list[Verdict]:
    """Return verdicts of simulated annotators who know the complete scene graphs (folder `truth`).

    Args:
        folders: The data set.
        tasks: The annotation tasks.
        votes: Number of verdicts per task.
        seed: Seed of the simulation.
        audited: The ids of the tasks that a simulated adjudicator judges, too.
    """
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_truth(folders, tasks, votes, seed, audited)


def simulate_from_evidence(
    folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int, audited: Collection[str] = ()
) -> list[Verdict]:
    """Return verdicts of simulated annotators who treat the published scene graphs as complete, for a
    rehearsal.

    Args:
        folders: The data set.
        tasks: The annotation tasks.
        votes: Number of verdicts per task.
        seed: Seed of the simulation.
        audited: The ids of the tasks that a simulated adjudicator judges, too.
    """
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_evidence(folders, tasks, votes, seed, audited)


def make_truth_reader(
    vocabulary: Vocabulary,
) -> Callable[[tuple[Step, ...], SceneGraph], Answerability]:
    """Return a function that decides from a complete scene graph whether a question is answerable.

    The function is independent of the verifier, and takes the program of the question and the scene graph.

    Args:
        vocabulary: The vocabulary of the data set.
    """
    from research.simulated_annotators.answerability import true_answerability
    from research.simulated_annotators.word_senses import WordSenses

    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return lambda program, scene: true_answerability(program, scene, words)


def open_reference_row(folders: DatasetFolders, name: str, seed: int) -> RowAttribution:
    """Load the models of a leaderboard row for attribution (measuring where the models look in an image).

    Args:
        folders: The data set that contains the models.
        name: Name of the row.
        seed: Seed with which the models were trained.
    """
    from research.reference_models import row_attribution

    return row_attribution.open_reference_row(folders, name, seed)


def command_groups() -> dict[str, typer.Typer]:
    """Return the commands of `research` by name of the command group.

    Commands under the name "" are not in a group, for example `rgqa baselines`.
    """
    from research.reference_models.cli import app as baselines
    from research.studies.cli import app as study
    from research.synthetic_world.cli import app as sample

    return {"": baselines, "sample": sample, "study": study}
