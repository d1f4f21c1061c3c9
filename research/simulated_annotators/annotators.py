"""Eight simulated annotators who see the complete truth and err each in their own measure.

They stand in for people in the embedded sample, so that the whole pipeline runs; all they say is marked
`simulated`. They never see what the judge of the pipeline thinks, nor which question is the filter. Where nobody
knows the truth, they can rehearse with what somebody else tells them of the images, marked `rehearsal`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.json_files import content_hash
from pipeline.core.randomness import make_generator
from pipeline.core.records import Choice, SceneGraph, Task, TaskQuestion, Verdict
from research.simulated_annotators.answerability import Unclear, find_obstacle
from research.simulated_annotators.word_senses import WordSenses

# What every photo answers, with or without a program that says so.
ALWAYS_ANSWERABLE = {"Is this indoor or outdoor?", "Is this a color image?", "What place is this?"}

# What to find of a question at an image (its id), as `view` tells it.
FindObstacle = Callable[[TaskQuestion, str], str]


class SimulatedAnnotator(NamedTuple):
    """How often someone errs.

    Attributes:
        misses: share of unanswerable questions taken for valid.
        false_alarms: share of answerable questions taken for invalid. Lower, as in doubt one says valid.
        hesitates: share of questions answered "unsure" where one cannot tell, instead of "valid".
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
    # The careless one: near random.
    SimulatedAnnotator("simulated-8", miss_rate=0.45, false_alarm_rate=0.40, unsure_rate=0.1),
)


def simulate_verdicts(
    tasks: Iterable[Task],
    find_obstacle: FindObstacle,
    votes_per_task: int,
    seed: int,
    rehearsal: bool = False,
    annotators: Sequence[SimulatedAnnotator] = ANNOTATORS,
) -> list[Verdict]:
    """The verdicts of `votes` annotators, drawn by lot, on each task; sorted by verdict id.

    Args:
        look: what is to be seen; what every photo answers, everybody sees. rehearsal: the truth is not known: the verdicts and the annotators' names say that it is a rehearsal.
    """
    answered: Counter[str] = Counter()
    verdicts = []
    for task in tasks:
        views = [
            "" if question.text in ALWAYS_ANSWERABLE else find_obstacle(question, task.image_id)
            for question in (task.first, task.second)
        ]
        rng = make_generator(seed, "simulated", task.task_id)
        for who in sorted(rng.permutation(len(annotators))[:votes_per_task].tolist()):
            annotator = annotators[who]
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
    """What a faultless annotator would find: "" for an answer, a category for none, "unclear".

    Args:
        truth: image id -> complete scene graph. At an image without one, nobody can tell anything.
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
    """What the annotator says, and why if invalid. Always three draws, so that no choice shifts the next."""
    errs, hesitates, invents = rng.random(3)
    if obstacle == "unclear":
        return ("unsure" if hesitates < annotator.unsure_rate else "valid"), ""
    if obstacle:
        return ("valid", "") if errs < annotator.miss_rate else ("invalid", obstacle)
    if errs < annotator.false_alarm_rate:
        return "invalid", "missing object" if invents < 0.5 else "no valid answer"
    return "valid", ""
