"""Forecast the judgements, hours and cost of a study, by simulating annotators of average accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random

import numpy as np

from annotation.study.answers_table import load_quality_rules
from annotation.study.assignment import AdaptiveAssigner
from annotation.study.assignment_params import (
    AnnotateParams,
    read_collect_feedback,
    read_priors,
    to_task_mapping,
)
from annotation.study.exports import ADJUDICATOR_PREFIX, AnnotationStore, to_verdicts
from pipeline.core.errors import UserError, format_count
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record, Task, Verdict

# Assumed seconds per judgement as long as fewer than MIN_TIMED_JUDGEMENTS judgements have a known time.
DEFAULT_SECONDS = 20.0
MIN_TIMED_JUDGEMENTS = 50
# Maximum time of a judgement without a pause.
MAX_ANSWER_SECONDS = 300.0
# Assumed number of annotators as long as the roster is empty.
DEFAULT_NUM_ANNOTATORS = 3
# A forecast repeats the simulation so often that at most so many tasks are simulated, at most MAX_RUNS times.
# It simulates a large study once.
MAX_SIMULATED_TASKS, MAX_RUNS = 17_000, 15
OPPOSITE = {"invalid": "valid", "valid": "invalid"}


class Forecast(Record):
    """The judgements and the time that a study still needs.

    Attributes:
        tasks: Number of tasks that need a vote now.
        doubtful: Number of tasks that wait for an adjudicator now.
        judgements: Expected number of judgements still to be given, by all annotators together.
        low: Lower end of an interval for the number of judgements: the 10 % quantile of the simulations.
        high: Upper end of this interval, the 90 % quantile.
        num_annotators: Number of annotators.
        seconds_per_judgement: Mean time per judgement in seconds.
        hourly_pay: Pay per hour, in any currency; None if unknown.
    """

    tasks: int
    doubtful: int
    judgements: int
    low: int
    high: int
    num_annotators: int
    seconds_per_judgement: float
    hourly_pay: float | None = None

    @property
    def hours(self) -> float:
        """Return the working hours of all annotators together."""
        return self.judgements * self.seconds_per_judgement / 3600


def simulate_assignments(
    assigner: AdaptiveAssigner, people: Sequence[str], seed: int, quantile: float = 0.5
) -> list[tuple[str, str]]:
    """Simulate annotators who take turns until no tasks are left, and return (annotator, task key) in order.

    The true class of each candidate is sampled from its current posterior. Annotators choose wrongly at the
    rates that their gold questions show, and at average rates as long as they have answered few.

    Args:
        assigner: The state of the study. It is not changed.
        people: Names of the annotators.
        seed: Seed of the simulation.
        quantile: The simulated base rates of answerable candidates: this quantile of what they may be after
            the votes so far.
    """
    study, rng = deepcopy(assigner), Random(seed)
    truth = {
        key: "invalid" if rng.random() < invalid else "valid"
        for key, invalid in study.get_conditional_invalid(quantile).items()
    }
    error_rates = {person: study.get_error_rates(person) for person in people}
    by_key = dict(zip(study.keys, study.tasks, strict=True))
    assignments: list[tuple[str, str]] = []
    active = list(people)
    while active:
        remaining = []
        for person in active:
            if key := study.assign_next_task(person):
                remaining.append(person)
                assignments.append((person, key))
                true_choices = [
                    row["expected"] or truth.get(row["candidate"], "valid")
                    for row in (by_key[key]["first"], by_key[key]["second"])
                ]
                study.record_answer(
                    person,
                    key,
                    *(OPPOSITE[c] if rng.random() < error_rates[person][c] else c for c in true_choices),
                )
        active = remaining
    return assignments


def make_forecast(
    assigner: AdaptiveAssigner,
    people: Sequence[str],
    seconds: float = DEFAULT_SECONDS,
    hourly_pay: float | None = None,
    seed: int = 0,
) -> Forecast:
    """Forecast the judgements and the time that a study still needs.

    The simulations differ in their base rates: each takes another quantile of the base rates that are
    plausible after the votes so far.

    Args:
        assigner: The current state of the study.
        people: Names of the annotators.
        seconds: Mean time per judgement, in seconds.
        hourly_pay: Pay per hour, in any currency; None if unknown.
        seed: Seed of the simulation.
    """
    num_runs = min(max(MAX_SIMULATED_TASKS // max(len(assigner.keys), 1), 1), MAX_RUNS)
    counts = [
        len(simulate_assignments(assigner, people, seed + run, (run + 0.5) / num_runs))
        for run in range(num_runs)
    ]
    low, high = np.quantile(counts, (0.1, 0.9))
    return Forecast(
        tasks=int((assigner.get_wanted_votes() > 0).sum()),
        doubtful=int(assigner.find_doubtful_tasks().sum()),
        judgements=round(sum(counts) / num_runs),
        low=round(float(low)),
        high=round(float(high)),
        num_annotators=len(people),
        seconds_per_judgement=seconds,
        hourly_pay=hourly_pay,
    )


def estimate_seconds(verdicts: Sequence[Verdict]) -> float:
    """Return the mean seconds per judgement without pauses; `DEFAULT_SECONDS` if too few times are known."""
    known = [
        row.duration_seconds
        for row in verdicts
        if row.duration_seconds is not None and 0 < row.duration_seconds <= MAX_ANSWER_SECONDS
    ]
    return sum(known) / len(known) if len(known) >= MIN_TIMED_JUDGEMENTS else DEFAULT_SECONDS


def replay_answers(
    folders: DatasetFolders, params: AnnotateParams, annotations: AnnotationStore
) -> tuple[AdaptiveAssigner, list[Verdict]]:
    """Rebuild the state of the study from all answers and the last results of stage `collect`.

    Args:
        folders: The folders of the data set.
        params: Section `annotate` of params.yaml.
        annotations: All answers.

    Returns:
        The state of the task assignment, and the verdicts among the answers.

    Raises:
        UserError: There are no tasks, or answers contradict each other.
    """
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    if not tasks:
        raise UserError(f"there are no tasks: {folders.record_file(Task)}. Run: dvc repro batch")
    feedback = read_collect_feedback(folders)
    discarded = set(feedback.find_discarded_tasks(tasks.values()))
    mappings = [to_task_mapping(task, discarded) for task in tasks.values()]
    sizes = params.resolve_sizes(tasks.values())
    rules = params.to_assignment_rules(sizes, load_quality_rules())
    priors = read_priors(folders)
    assigner = AdaptiveAssigner(
        mappings,
        priors.answerable,
        rules,
        feedback.doubtful,
        priors.decided_by_panel,
        priors.called_valid_by_panel,
    )
    verdicts, _ = to_verdicts(annotations, tasks, strict=False)
    for row in sorted(verdicts, key=lambda row: row.sequence_index):
        if row.annotator.startswith(ADJUDICATOR_PREFIX):
            assigner.mark_adjudicator(row.annotator)
        if row.first_answer:
            assigner.record_answer(
                row.annotator, row.task_id, row.first_answer.first, row.first_answer.second
            )
        assigner.record_answer(row.annotator, row.task_id, row.first, row.second)
    for person, since in feedback.excluded_since.items():
        assigner.exclude_annotator(person, since)
    return assigner, verdicts


def format_forecast(forecast: Forecast, num_judged: int) -> str:
    """Return the forecast as text for the terminal."""
    done = f" {format_count(num_judged, 'judgement is', 'judgements are')} done." if num_judged else ""
    guess = (
        " (a default until enough times are measured)"
        if forecast.seconds_per_judgement == DEFAULT_SECONDS
        else ""
    )
    cost = (
        ""
        if forecast.hourly_pay is None
        else f", cost: {forecast.hours * forecast.hourly_pay:,.0f} (at {forecast.hourly_pay:g} per hour)"
    )
    doubts = (
        f" {format_count(forecast.doubtful, 'task waits', 'tasks wait')} for an adjudicator (rgqa annotate invite NAME --adjudicator)."
        if forecast.doubtful
        else ""
    )
    between = f" ({forecast.low:,} to {forecast.high:,})" if forecast.low < forecast.high else ""
    return (
        f"{format_count(forecast.tasks, 'task needs', 'tasks need')} votes.{done} {format_count(forecast.num_annotators, 'annotator')} of average accuracy would give "
        f"{format_count(forecast.judgements, 'more judgement')}{between}: {forecast.hours:,.1f} hours at {forecast.seconds_per_judgement:.0f} s each{guess}{cost}.{doubts}"
    )
