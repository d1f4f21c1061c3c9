"""What a study takes, before anybody is asked: judgements, hours, cost. Simulated people of usual accuracy go through `Asking`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random

from annotation.study.assignment import SENSITIVITY, SPECIFICITY, Asking
from annotation.study.assignment_params import AnnotateParams, as_asked, estimates, from_collect
from annotation.study.exports import EXPERT, Kept, verdicts_of
from pipeline.core.errors import UserError, counted
from pipeline.core.paths import Folders
from pipeline.core.records import Record, Task, Verdict

SECONDS = 20.0  # per judgement, until the pace is known
KNOWN_PACE = 50  # judgements with a time from which on it is
IDLE = 300.0  # seconds; more than this was a pause
NOBODY_YET = 3  # people simulated while the roster is empty
ERRORS = {"invalid": SENSITIVITY[1] / sum(SENSITIVITY), "valid": SPECIFICITY[1] / sum(SPECIFICITY)}
OTHER = {"invalid": "valid", "valid": "invalid"}


class Forecast(Record):
    """What is still to be done.

    Attributes:
        tasks: those that want a vote now. doubtful: those that wait for an expert now. judgements: still to be given by `people`
            together. seconds: per judgement. rate: pay per hour; None if not said.
    """

    tasks: int
    doubtful: int
    judgements: int
    people: int
    seconds: float
    rate: float | None = None

    @property
    def hours(self) -> float:
        """Of all people together."""
        return self.judgements * self.seconds / 3600


def simulated_stream(asking: Asking, people: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Who judges which task, in order, until nobody gets another: all in turn, each erring as is usual.

    What is true of a candidate is drawn from the present probability. `asking` itself stays as it is.
    """
    study, draw = deepcopy(asking), Random(seed)
    truth = {key: "invalid" if draw.random() < study.invalid(key) else "valid" for key in study.candidate}
    by_key = dict(zip(study.keys, study.tasks, strict=True))
    given: list[tuple[str, str]] = []
    busy = list(people)
    while busy:
        still = []
        for person in busy:
            if key := study.next(person):
                still.append(person)
                given.append((person, key))
                known = [
                    row["expected"] or truth.get(row["candidate"], "valid")
                    for row in (by_key[key]["first"], by_key[key]["second"])
                ]
                study.answer(person, key, *(OTHER[r] if draw.random() < ERRORS[r] else r for r in known))
        busy = still
    return given


def forecast(
    asking: Asking, people: Sequence[str], seconds: float = SECONDS, rate: float | None = None, seed: int = 0
) -> Forecast:
    """What is still to be done, from a study's present state; `seconds` per judgement, `rate` per hour."""
    return Forecast(
        tasks=int((asking.wanted() > 0).sum()),
        doubtful=int(asking.doubtful().sum()),
        judgements=len(simulated_stream(asking, people, seed)),
        people=len(people),
        seconds=seconds,
        rate=rate,
    )


def pace(verdicts: Sequence[Verdict]) -> float:
    """Seconds per judgement: the mean of those known, pauses left out; SECONDS while there are few."""
    known = [row.seconds for row in verdicts if row.seconds is not None and 0 < row.seconds <= IDLE]
    return sum(known) / len(known) if len(known) >= KNOWN_PACE else SECONDS


def asked_so_far(folders: Folders, params: AnnotateParams, given: Kept) -> tuple[Asking, list[Verdict]]:
    """Replay all answers on the tasks, with what stage `collect` last decided.

    Args:
        given: all answers.

    Returns:
        The state of the task assignment, and the verdicts among the answers.

    Raises:
        UserError: there are no tasks, or answers contradict each other.
    """
    tasks = {task.task_id: task for task in folders.rows(Task)}
    if not tasks:
        raise UserError("there are no tasks: dvc repro batch")
    said = from_collect(folders)
    fallen = set(said.fallen_tasks(tasks.values()))
    asked = [as_asked(task, fallen) for task in tasks.values()]
    asking = Asking(asked, estimates(folders), params.rules(), said.doubtful)
    verdicts, _ = verdicts_of(given, tasks, strict=False)
    for row in sorted(verdicts, key=lambda row: row.order):
        if row.annotator.startswith(EXPERT):
            asking.appoint(row.annotator)
        asking.answer(row.annotator, row.task_id, row.first, row.second)
    for person, since in said.excluded.items():
        asking.exclude(person, since)
    return asking, verdicts


def told(row: Forecast, judged: int) -> str:
    """In words, for the terminal."""
    done = f" {judged:,} are done." if judged else ""
    guess = " (a guess until the pace is known)" if row.seconds == SECONDS else ""
    cost = "" if row.rate is None else f", {row.hours * row.rate:,.0f} at {row.rate:g} per hour"
    doubts = (
        f" {row.doubtful:,} wait for an expert (rgqa annotate invite NAME --expert)." if row.doubtful else ""
    )
    return (
        f"{counted(row.tasks, 'task')} want votes.{done} {row.people} people of usual accuracy would give {row.judgements:,} more "
        f"judgements: {row.hours:,.1f} hours at {row.seconds:.0f} s each{guess}{cost}.{doubts}"
    )
