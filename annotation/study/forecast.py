"""What a study takes, before anybody is asked: judgements, hours, cost. Simulated people of usual accuracy go through `Asking`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random

from annotation.study.assignment import SENSITIVITY_PRIOR, SPECIFICITY_PRIOR, AdaptiveAssigner
from annotation.study.assignment_params import (
    AnnotateParams,
    read_collect_feedback,
    read_prior_answerable,
    to_task_mapping,
)
from annotation.study.exports import ADJUDICATOR_PREFIX, AnnotationStore, to_verdicts
from pipeline.core.errors import UserError, format_count
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record, Task, Verdict

DEFAULT_SECONDS = 20.0  # per judgement, until the pace is known
MIN_TIMED_JUDGEMENTS = 50  # judgements with a time from which on it is
MAX_ANSWER_SECONDS = 300.0  # seconds; more than this was a pause
DEFAULT_NUM_ANNOTATORS = 3  # people simulated while the roster is empty
ERROR_RATES = {
    "invalid": SENSITIVITY_PRIOR[1] / sum(SENSITIVITY_PRIOR),
    "valid": SPECIFICITY_PRIOR[1] / sum(SPECIFICITY_PRIOR),
}
OPPOSITE = {"invalid": "valid", "valid": "invalid"}


class Forecast(Record):
    """What is still to be done.

    Attributes:
        tasks: those that want a vote now. doubtful: those that wait for an expert now. judgements: still to be given by `people`
            together. seconds: per judgement. rate: pay per hour; None if not said.
    """

    tasks: int
    doubtful: int
    judgements: int
    num_annotators: int
    seconds_per_judgement: float
    hourly_pay: float | None = None

    @property
    def hours(self) -> float:
        """Of all people together."""
        return self.judgements * self.seconds_per_judgement / 3600


def simulate_assignments(
    assigner: AdaptiveAssigner, people: Sequence[str], seed: int
) -> list[tuple[str, str]]:
    """Who judges which task, in order, until nobody gets another: all in turn, each erring as is usual.

    What is true of a candidate is drawn from the present probability. `asking` itself stays as it is.
    """
    study, draw = deepcopy(assigner), Random(seed)
    truth = {
        key: "invalid" if draw.random() < study.get_posterior_invalid(key) else "valid"
        for key in study.candidate_index
    }
    by_key = dict(zip(study.keys, study.tasks, strict=True))
    given: list[tuple[str, str]] = []
    busy = list(people)
    while busy:
        still = []
        for person in busy:
            if key := study.assign_next_task(person):
                still.append(person)
                given.append((person, key))
                known = [
                    row["expected"] or truth.get(row["candidate"], "valid")
                    for row in (by_key[key]["first"], by_key[key]["second"])
                ]
                study.record_answer(
                    person, key, *(OPPOSITE[r] if draw.random() < ERROR_RATES[r] else r for r in known)
                )
        busy = still
    return given


def make_forecast(
    assigner: AdaptiveAssigner,
    people: Sequence[str],
    seconds: float = DEFAULT_SECONDS,
    hourly_pay: float | None = None,
    seed: int = 0,
) -> Forecast:
    """What is still to be done, from a study's present state; `seconds` per judgement, `rate` per hour."""
    return Forecast(
        tasks=int((assigner.get_wanted_votes() > 0).sum()),
        doubtful=int(assigner.find_doubtful_tasks().sum()),
        judgements=len(simulate_assignments(assigner, people, seed)),
        num_annotators=len(people),
        seconds_per_judgement=seconds,
        hourly_pay=hourly_pay,
    )


def estimate_seconds(verdicts: Sequence[Verdict]) -> float:
    """Seconds per judgement: the mean of those known, pauses left out; SECONDS while there are few."""
    known = [
        row.duration_seconds
        for row in verdicts
        if row.duration_seconds is not None and 0 < row.duration_seconds <= MAX_ANSWER_SECONDS
    ]
    return sum(known) / len(known) if len(known) >= MIN_TIMED_JUDGEMENTS else DEFAULT_SECONDS


def replay_answers(
    folders: DatasetFolders, params: AnnotateParams, annotations: AnnotationStore
) -> tuple[AdaptiveAssigner, list[Verdict]]:
    """Replay all answers on the tasks, with what stage `collect` last decided.

    Args:
        given: all answers.

    Returns:
        The state of the task assignment, and the verdicts among the answers.

    Raises:
        UserError: there are no tasks, or answers contradict each other.
    """
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    if not tasks:
        raise UserError("there are no tasks: dvc repro batch")
    said = read_collect_feedback(folders)
    fallen = set(said.find_discarded_tasks(tasks.values()))
    asked = [to_task_mapping(task, fallen) for task in tasks.values()]
    asking = AdaptiveAssigner(
        asked, read_prior_answerable(folders), params.to_assignment_rules(), said.doubtful
    )
    verdicts, _ = to_verdicts(annotations, tasks, strict=False)
    for row in sorted(verdicts, key=lambda row: row.sequence_index):
        if row.annotator.startswith(ADJUDICATOR_PREFIX):
            asking.mark_adjudicator(row.annotator)
        asking.record_answer(row.annotator, row.task_id, row.first, row.second)
    for person, since in said.excluded_since.items():
        asking.exclude_annotator(person, since)
    return asking, verdicts


def format_forecast(forecast: Forecast, num_judged: int) -> str:
    """In words, for the terminal."""
    done = f" {num_judged:,} are done." if num_judged else ""
    guess = " (a guess until the pace is known)" if forecast.seconds_per_judgement == DEFAULT_SECONDS else ""
    cost = (
        ""
        if forecast.hourly_pay is None
        else f", {forecast.hours * forecast.hourly_pay:,.0f} at {forecast.hourly_pay:g} per hour"
    )
    doubts = (
        f" {forecast.doubtful:,} wait for an expert (rgqa annotate invite NAME --adjudicator)."
        if forecast.doubtful
        else ""
    )
    return (
        f"{format_count(forecast.tasks, 'task')} want votes.{done} {forecast.num_annotators} people of usual accuracy would give {forecast.judgements:,} more "
        f"judgements: {forecast.hours:,.1f} hours at {forecast.seconds_per_judgement:.0f} s each{guess}{cost}.{doubts}"
    )
