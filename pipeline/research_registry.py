"""The one module of `pipeline` that imports `research`: what belongs to the laboratory is loaded here by name, and late.

The sample's verdicts are simulated, its complete truth is known, and the data set's own nets can be asked where they looked.
A data set of people's own needs none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pipeline.core.records import Answerability, SceneGraph, Step, Task, Verdict, Vocabulary

if TYPE_CHECKING:
    import typer

    from pipeline.core.paths import DatasetFolders
    from pipeline.inference.attribution.row_attribution import RowAttribution

# Of `research.simulated_annotators.annotators.ANNOTATORS`; a test compares the two.
NUM_SIMULATED_ANNOTATORS = 8


def simulated(folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int) -> list[Verdict]:
    """Return verdicts of simulated annotators who see the complete truth; `rehearsed` when they see the published graphs."""
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_truth(folders, tasks, votes, seed)


def rehearsed(folders: DatasetFolders, tasks: Iterable[Task], votes: int, seed: int) -> list[Verdict]:
    """Return verdicts of simulated annotators who take the graphs that there are for complete."""
    from research.simulated_annotators import simulated_verdicts

    return simulated_verdicts.simulate_from_evidence(folders, tasks, votes, seed)


def truth_reader(vocabulary: Vocabulary) -> Callable[[tuple[Step, ...], SceneGraph], Answerability]:
    """Return a function that reads a program on a complete scene, independently of the verifier: answerable, unanswerable, or
    unknown where a careful reader of the truth cannot tell."""
    from research.simulated_annotators.answerability import true_answerability
    from research.simulated_annotators.word_senses import WordSenses

    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return lambda program, scene: true_answerability(program, scene, words)


def open_reference_row(folders: DatasetFolders, name: str, seed: int) -> RowAttribution:
    """Open a row of the data set's own nets for attribution."""
    from research.reference_models import row_attribution

    return row_attribution.open_reference_row(folders, name, seed)


def command_groups() -> dict[str, typer.Typer]:
    """Return the commands of `research` by the name of their group; those under "" have no group (`rgqa baselines`)."""
    from research.reference_models.cli import app as baselines
    from research.studies.cli import app as study
    from research.synthetic_world.cli import app as sample

    return {"": baselines, "sample": sample, "study": study}
