"""Eight simulated annotators who see the complete truth and err each in their own measure.

They stand in for people in the embedded sample, so that the whole pipeline runs; all they say is marked
`simulated`. They never see what the judge of the pipeline thinks, nor which question is the filter. Where nobody
knows the truth, they can rehearse with what somebody else tells them of the pictures, marked `rehearsal`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.json_files import content_key
from pipeline.core.randomness import generator
from pipeline.core.records import Choice, Scene, Task, TaskQuestion, Verdict
from research.simulated_annotators.answerability import Unclear, obstacle
from research.simulated_annotators.word_senses import WordSenses

# What every photo answers, with or without a program that says so.
ANSWERED_BY_EVERY_PHOTO = {"Is this indoor or outdoor?", "Is this a color image?", "What place is this?"}

# What to find of a question at a picture (its id), as `view` tells it.
Look = Callable[[TaskQuestion, str], str]


class SimulatedAnnotator(NamedTuple):
    """How often someone errs.

    Attributes:
        misses: share of unanswerable questions taken for valid.
        false_alarms: share of answerable questions taken for invalid. Lower, as in doubt one says valid.
        hesitates: share of questions answered "unsure" where one cannot tell, instead of "valid".
    """

    name: str
    misses: float
    false_alarms: float
    hesitates: float


ANNOTATORS = (
    SimulatedAnnotator("simulated-1", misses=0.02, false_alarms=0.005, hesitates=0.2),
    SimulatedAnnotator("simulated-2", misses=0.03, false_alarms=0.01, hesitates=0.5),
    SimulatedAnnotator("simulated-3", misses=0.04, false_alarms=0.01, hesitates=0.3),
    SimulatedAnnotator("simulated-4", misses=0.05, false_alarms=0.02, hesitates=0.6),
    SimulatedAnnotator("simulated-5", misses=0.06, false_alarms=0.02, hesitates=0.1),
    SimulatedAnnotator("simulated-6", misses=0.08, false_alarms=0.03, hesitates=0.4),
    SimulatedAnnotator("simulated-7", misses=0.12, false_alarms=0.04, hesitates=0.2),
    # The careless one: near random.
    SimulatedAnnotator("simulated-8", misses=0.45, false_alarms=0.40, hesitates=0.1),
)


def annotate(
    tasks: Iterable[Task],
    look: Look,
    votes: int,
    seed: int,
    rehearsal: bool = False,
    people: Sequence[SimulatedAnnotator] = ANNOTATORS,
) -> list[Verdict]:
    """The verdicts of `votes` annotators, drawn by lot, on each task; sorted by verdict id.

    Args:
        look: what is to be seen; what every photo answers, everybody sees. rehearsal: the truth is not known: the verdicts and the annotators' names say that it is a rehearsal.
    """
    answered: Counter[str] = Counter()
    verdicts = []
    for task in tasks:
        views = [
            "" if question.text in ANSWERED_BY_EVERY_PHOTO else look(question, task.picture_id)
            for question in (task.first, task.second)
        ]
        rng = generator(seed, "simulated", task.task_id)
        for who in sorted(rng.permutation(len(people))[:votes].tolist()):
            annotator = people[who]
            (first, first_reason), (second, second_reason) = (choose(seen, annotator, rng) for seen in views)
            verdicts.append(
                Verdict(
                    verdict_id=content_key("verdict", task.task_id, annotator.name),
                    task_id=task.task_id,
                    annotator=annotator.name.replace("simulated", "rehearsal" if rehearsal else "simulated"),
                    first=first,
                    second=second,
                    first_reason=first_reason,
                    second_reason=second_reason,
                    order=answered[annotator.name],
                    simulated=True,
                    rehearsal=rehearsal,
                )
            )
            answered[annotator.name] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)


def view(truth: Mapping[str, Scene], words: WordSenses, question: TaskQuestion, at: str) -> str:
    """What a faultless annotator would find: "" for an answer, a category for none, "unclear".

    Args:
        truth: picture id -> complete scene graph. At a picture without one, nobody can tell anything.
    """
    try:
        return (obstacle(question.program, truth[at], words) or "") if at in truth else "unclear"
    except Unclear:
        return "unclear"


def choose(seen: str, annotator: SimulatedAnnotator, rng: np.random.Generator) -> tuple[Choice, str]:
    """What the annotator says, and why if invalid. Always three draws, so that no choice shifts the next."""
    errs, hesitates, invents = rng.random(3)
    if seen == "unclear":
        return ("unsure" if hesitates < annotator.hesitates else "valid"), ""
    if seen:
        return ("valid", "") if errs < annotator.misses else ("invalid", seen)
    if errs < annotator.false_alarms:
        return "invalid", "missing object" if invents < 0.5 else "no valid answer"
    return "valid", ""
