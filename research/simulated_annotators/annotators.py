"""Simulate eight annotators who know the complete ground truth and err at different rates.

Simulated annotators replace people in the synthetic sample, so that the whole pipeline can run. All their
verdicts are marked `simulated`. They know neither the result of the verifier nor which question is the gold
question. If the complete ground truth is unknown, they can judge by other evidence (a rehearsal); such verdicts are
marked `rehearsal`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.json_files import content_hash
from pipeline.core.randomness import make_generator
from pipeline.core.records import Choice, SceneGraph, Task, TaskQuestion, Verdict
from research.simulated_annotators.answerability import Unclear, find_obstacle
from research.simulated_annotators.word_senses import WordSenses

# Questions that have an answer for every image, whether they have a program or not.
ALWAYS_ANSWERABLE = {"Is this indoor or outdoor?", "Is this a color image?", "What place is this?"}

# A function of a question and an image id that returns the obstacle to answering the question
# (`find_obstacle_in_truth`).
FindObstacle = Callable[[TaskQuestion, str], str]


class SimulatedAnnotator(NamedTuple):
    """How often an annotator errs.

    Attributes:
        miss_rate: Proportion of unanswerable questions that are called valid.
        false_alarm_rate: Proportion of answerable questions that are called invalid. It is lower than the
            miss rate, because annotators say "valid" when in doubt.
        unsure_rate: Proportion of unclear questions that are answered "unsure" instead of "valid".
    """

    name: str
    miss_rate: float
    false_alarm_rate: float
    unsure_rate: float


ANNOTATORS = (
    SimulatedAnnotator("simulated-1", miss_rate=0.02, false_alarm_rate=0.005, unsure_rate=0.2),
    SimulatedAnnotator("simulated-2", miss_rate=0.03, false_alarm_rate=0.01, unsure_rate=0.5),
    SimulatedAnnotator("simulated-3", miss_rate=0.04, false_alarm_rate=0.01, unsure_rate=0.3),
    SimulatedAnnotator("simulated-4", miss_rate=0.05, false_alarm_rate=0.02, unsure_rate=0.6),
    SimulatedAnnotator("simulated-5", miss_rate=0.06, false_alarm_rate=0.02, unsure_rate=0.1),
    SimulatedAnnotator("simulated-6", miss_rate=0.08, false_alarm_rate=0.03, unsure_rate=0.4),
    SimulatedAnnotator("simulated-7", miss_rate=0.12, false_alarm_rate=0.04, unsure_rate=0.2),
    # The careless annotator answers almost at random.
    SimulatedAnnotator("simulated-8", miss_rate=0.45, false_alarm_rate=0.40, unsure_rate=0.1),
)


# The simulated adjudicator judges the audit sample. The name begins with the prefix of adjudicators.
ADJUDICATOR = SimulatedAnnotator(
    "adjudicator-simulated", miss_rate=0.02, false_alarm_rate=0.005, unsure_rate=0.0
)


def simulate_verdicts(
    tasks: Iterable[Task],
    find_obstacle: FindObstacle,
    votes_per_task: int,
    seed: int,
    rehearsal: bool = False,
    annotators: Sequence[SimulatedAnnotator] = ANNOTATORS,
    audited: Collection[str] = (),
) -> list[Verdict]:
    """Simulate the verdicts of `votes_per_task` random annotators on each task, sorted by verdict id.

    Args:
        tasks: The tasks.
        find_obstacle: Returns the obstacle to answering a question. It is not called for `ALWAYS_ANSWERABLE`
            questions.
        votes_per_task: Number of annotators for each task.
        seed: Seed of the choice of annotators and of their errors.
        rehearsal: Whether this is a rehearsal, because the complete ground truth is unknown. Verdicts and names of
            annotators then say so.
        annotators: The annotators to choose from.
        audited: The ids of the tasks that an adjudicator judges, too.
    """
    answered: Counter[str] = Counter()
    verdicts = []
    for task in tasks:
        views = [
            "" if question.text in ALWAYS_ANSWERABLE else find_obstacle(question, task.image_id)
            for question in (task.first, task.second)
        ]
        rng = make_generator(seed, "simulated", task.task_id)
        chosen = [
            annotators[who] for who in sorted(rng.permutation(len(annotators))[:votes_per_task].tolist())
        ]
        for annotator in [*chosen, *([ADJUDICATOR] if task.task_id in audited else [])]:
            (first, first_reason), (second, second_reason) = (
                choose_verdict(seen, annotator, rng) for seen in views
            )
            verdicts.append(
                Verdict(
                    verdict_id=content_hash("verdict", task.task_id, annotator.name),
                    task_id=task.task_id,
                    annotator=annotator.name.replace("simulated", "rehearsal" if rehearsal else "simulated"),
                    first=first,
                    second=second,
                    first_reason=first_reason,
                    second_reason=second_reason,
                    sequence_index=answered[annotator.name],
                    simulated=True,
                    rehearsal=rehearsal,
                )
            )
            answered[annotator.name] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)


def find_obstacle_in_truth(
    truth: Mapping[str, SceneGraph], words: WordSenses, question: TaskQuestion, image_id: str
) -> str:
    """Return what a faultless annotator finds: "" if there is an answer, else the category of the obstacle,
    or "unclear".

    Args:
        truth: Image id -> complete scene graph. If the image has no scene graph, the result is "unclear".
        words: Meanings of words.
        question: The question.
        image_id: Id of the image.
    """
    try:
        return (
            (find_obstacle(question.program, truth[image_id], words) or "")
            if image_id in truth
            else "unclear"
        )
    except Unclear:
        return "unclear"


def choose_verdict(
    obstacle: str, annotator: SimulatedAnnotator, rng: np.random.Generator
) -> tuple[Choice, str]:
    """Return the annotator's choice, and the reason if it is "invalid".

    The function always draws three random numbers, so that one choice does not change the next ones.
    """
    errs, hesitates, invents = rng.random(3)
    if obstacle == "unclear":
        return ("unsure" if hesitates < annotator.unsure_rate else "valid"), ""
    if obstacle:
        return ("valid", "") if errs < annotator.miss_rate else ("invalid", obstacle)
    if errs < annotator.false_alarm_rate:
        return "invalid", "missing object" if invents < 0.5 else "no valid answer"
    return "valid", ""
