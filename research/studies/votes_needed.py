"""Measure how many votes simulated annotators need: `rgqa study votes-needed`.

The module has two studies.

**Strategies** (the default). Needs the complete scene graphs of the data set. Eight simulated annotators (`research.simulated_annotators.annotator_crowds`) judge the data set's own tasks
with three strategies:

- a fixed number of judgements for every task, by annotators chosen at random
- a fixed number of counted votes for every candidate, so that votes of annotators who fail the gold questions are replaced
- adaptive voting: one vote after the other until the candidate's posterior is high enough

A repeated task counts as a vote. Verdicts are found as in stage `collect`: quality control of the annotators,
Dawid and Skene's estimate with the candidates' priors, and the decision rule (minimum posterior). Constants were tuned on the first crowd,
results are reported for three others.

**Base rates** (`--answerable`). Needs only tasks, so it also runs on photographs. The truth of each candidate is
drawn at random, so that a given proportion is answerable. Groups of two to eight annotators judge the tasks with
adaptive voting, without any estimate of single candidates: what is known at the beginning are the stated base
rates of stage `estimate`. The study compares the learned base rates with the truth, the forecast
with the judgements that were given, and the released candidates with the truth.

People tend to err on the same questions; these simulated annotators do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
from scipy.special import expit, logit

from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import choose_study_sizes, to_task_mapping
from annotation.study.forecast import make_forecast
from annotation.study.posteriors import PosteriorEstimates, estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import verify_candidates
from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.candidates.estimating.answerability import STATED_RATES
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash, write_json
from pipeline.core.jsonl_index import group_by
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import (
    CandidateEstimate,
    Choice,
    Record,
    ScreenedCandidate,
    Subset,
    Task,
    TaskQuestion,
    Verdict,
)
from research.simulated_annotators.annotator_crowds import make_crowd
from research.simulated_annotators.annotators import (
    ADJUDICATOR,
    ALWAYS_ANSWERABLE,
    SimulatedAnnotator,
    choose_verdict,
    find_obstacle_in_truth,
    simulate_verdicts,
)
from research.simulated_annotators.word_senses import WordSenses

# Constants were tuned on this crowd.
TUNING_CROWD = 1
# Results are reported for these crowds.
REPORTED_CROWDS = (2, 3, 4)
FIXED_JUDGEMENTS, FIXED_COUNTED_VOTES, ADAPTIVE_VOTES = (
    "fixed judgements per task",
    "fixed counted votes per candidate",
    "adaptive",
)
MIN_POSTERIORS = (0.8, 0.9, 0.95, 0.98, 0.99)
VOTES_PER_TASK = (1, 2, 3)

# Returns the true answerability of a question about an image: "" if it is answerable, otherwise the reason.
TrueAnswer = Callable[[TaskQuestion, str], str]


class VotingCost(Record):
    """Cost and errors of a voting strategy.

    Attributes:
        crowd: Seed of the crowd.
        strategy: `FIXED_JUDGEMENTS`, `FIXED_COUNTED_VOTES` or `ADAPTIVE_VOTES`.
        setting: Number of votes, or the minimum posterior.
        judgements: Judged tasks.
        votes: Answers about candidates, repeated ones included.
        num_called_unanswerable: Candidates that are called unanswerable.
        false_discovery_rate: Proportion of these that are answerable.
        miss_rate: Proportion of unanswerable candidates that are not called unanswerable.
        error_rate: Proportion of all candidates with one of these errors.
    """

    crowd: int
    strategy: str
    setting: float
    judgements: int
    votes: int
    num_called_unanswerable: int
    false_discovery_rate: float
    miss_rate: float
    error_rate: float


def simulate_turns(
    asking: AdaptiveAssigner,
    tasks: Mapping[str, Task],
    speeds: Mapping[str, int],
    answer: Callable[[str, Task, int], Sequence[tuple[Choice, str]]],
    before: Sequence[Verdict] = (),
) -> list[Verdict]:
    """Let people take turns until nobody gets another task, and return their new verdicts.

    Args:
        asking: Assigns the tasks, and learns the answers.
        tasks: Tasks by id.
        speeds: Name -> number of tasks in a turn.
        answer: A function of a name, a task and the number of tasks that the person has done. It returns the two choices,
            each with its reason.
        before: Earlier verdicts of the same people, which `asking` does not know yet.
    """
    verdicts: list[Verdict] = []
    order = dict.fromkeys(speeds, 0)
    for row in before:
        asking.record_answer(row.annotator, row.task_id, row.first, row.second)
        order[row.annotator] += 1
    has_worked = True
    while has_worked:
        has_worked, busy = False, list(speeds)
        for turn in range(max(speeds.values())):
            keys = {name: asking.assign_next_task(name) for name in busy if speeds[name] > turn}
            # Who gets no task asks again in the next turn, because others can make tasks free.
            busy = [name for name, key in keys.items() if key]
            has_worked |= bool(busy)
            for name in busy:
                task = tasks[keys[name] or ""]
                (first, first_reason), (second, second_reason) = answer(name, task, order[name])
                asking.record_answer(name, task.task_id, first, second)
                verdicts.append(
                    Verdict(
                        verdict_id=content_hash("verdict", task.task_id, name),
                        task_id=task.task_id,
                        annotator=name,
                        first=first,
                        second=second,
                        first_reason=first_reason,
                        second_reason=second_reason,
                        sequence_index=order[name],
                        simulated=True,
                    )
                )
                order[name] += 1
    return verdicts


def simulate_votes(
    asking: AdaptiveAssigner,
    tasks: Mapping[str, Task],
    people: Sequence[SimulatedAnnotator],
    true_answer: TrueAnswer,
    seed: int,
    before: Sequence[Verdict] = (),
) -> list[Verdict]:
    """Let annotators take turns until nobody gets another task, and return their new verdicts.

    Args:
        asking: Assigns the tasks.
        tasks: Tasks by id.
        people: The annotators.
        true_answer: What a faultless annotator finds.
        seed: Seed of the errors.
        before: Earlier verdicts of the same people.
    """
    by_name = {person.name: person for person in people}

    def answer(name: str, task: Task, num_tasks: int) -> list[tuple[Choice, str]]:
        rng = make_generator(seed, "votes", name, task.task_id)
        return [
            choose_verdict(true_answer(row, task.image_id), by_name[name], rng)
            for row in (task.first, task.second)
        ]

    return simulate_turns(asking, tasks, dict.fromkeys(by_name, 1), answer, before)


def collect_statuses(
    screened: Sequence[ScreenedCandidate],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    answerable: Mapping[str, float],
) -> tuple[dict[str, str], PosteriorEstimates]:
    """Return candidate id -> status by stage `collect`, and the estimates of the stage."""
    rules = QualityRules()
    judged = assess_quality(build_answers_table(tasks, verdicts), rules).answers
    estimated, judged = estimate_posteriors(judged, answerable)
    by_id = {row.candidate.candidate_id: row for row in screened}
    invalid = {row.candidate_id: row.invalid for row in estimated.posteriors}
    found = verify_candidates(by_id, judged, rules, invalid)
    return {row.candidate.candidate_id: row.status for row in found}, estimated


def compute_errors(released: set[str], truth: Mapping[str, str]) -> tuple[float, float, float]:
    """Return false discovery rate, miss rate and error rate. Candidates with unclear truth are left out.

    Args:
        released: Ids of the candidates called unanswerable.
        truth: Candidate id -> what a faultless annotator finds.

    >>> compute_errors({"a", "b"}, {"a": "missing object", "b": "", "c": "missing object", "d": "", "e": "unclear"})
    (0.5, 0.5, 0.5)
    """
    known = {key: bool(found) for key, found in truth.items() if found != "unclear"}
    wrong = sum(key in released for key, unanswerable in known.items() if not unanswerable)
    lost = sum(key not in released for key, unanswerable in known.items() if unanswerable)
    out = len(released & known.keys())
    return wrong / max(1, out), lost / max(1, sum(known.values())), (wrong + lost) / max(1, len(known))


def simulate_strategies(
    tasks: Mapping[str, Task],
    screened: Sequence[ScreenedCandidate],
    answerable: Mapping[str, float],
    true_answer: TrueAnswer,
    crowds: Sequence[int],
    max_votes: int = 5,
) -> list[VotingCost]:
    """Simulate every strategy with every setting for every crowd.

    Args:
        tasks: Tasks by id.
        screened: The candidates.
        answerable: Prior probability of each candidate that it is answerable.
        true_answer: What a faultless annotator finds.
        crowds: Seeds of the crowds.
        max_votes: Maximum number of votes for a candidate in adaptive voting.
    """
    asked = [to_task_mapping(task) for task in tasks.values()]
    rows = [(task.image_id, row) for task in tasks.values() for row in (task.first, task.second)]
    truth = {row.candidate_id or "": true_answer(row, at) for at, row in rows if row.role == "candidate"}
    ways = [(FIXED_JUDGEMENTS, votes, None) for votes in VOTES_PER_TASK]
    ways += [
        (FIXED_COUNTED_VOTES, votes, AssignmentRules(max_votes=votes, overlap_rate=1.0))
        for votes in VOTES_PER_TASK
    ]
    ways += [
        (ADAPTIVE_VOTES, sure, AssignmentRules(max_votes=max_votes, min_posterior=sure))
        for sure in MIN_POSTERIORS
    ]
    costs = []
    for seed in crowds:
        people = make_crowd(seed)
        for way, setting, rules in track(ways, f"crowd {seed}", unit="point"):
            if rules is None:
                verdicts = simulate_verdicts(
                    list(tasks.values()), true_answer, int(setting), seed, annotators=people
                )
            else:
                study = AdaptiveAssigner(asked, answerable, rules._replace(seed=seed))
                verdicts = simulate_votes(study, tasks, people, true_answer, seed)
            statuses, _ = collect_statuses(screened, tasks, verdicts, answerable)
            released = {key for key, status in statuses.items() if status == "unanswerable"}
            given = [tasks[row.task_id] for row in verdicts]
            wrong, lost, error = compute_errors(released, truth)
            costs.append(
                VotingCost(
                    crowd=seed,
                    strategy=way,
                    setting=setting,
                    judgements=len(given),
                    votes=sum(row.role != "gold" for task in given for row in (task.first, task.second)),
                    num_called_unanswerable=len(released),
                    false_discovery_rate=wrong,
                    miss_rate=lost,
                    error_rate=error,
                )
            )
    return costs


# Maximum number of tasks in the study of base rates. Whole images are chosen at random.
MAX_BASE_RATE_TASKS = 600
# The proportions of answerable candidates differ between subsets: log odds of a subset minus those of the set.
SUBSET_DEVIATIONS = {"clip-easy": -0.7, "clip-hard": 0.7, "pt-easy": -0.7, "pt-hard": 0.7}
# An annotator who calls every question valid.
LAZY = SimulatedAnnotator("simulated-lazy", miss_rate=1.0, false_alarm_rate=0.0, unsure_rate=0.0)


class BaseRateResult(Record):
    """One simulated study.

    Attributes:
        crowd: Seed of the crowd and of the truth.
        answerable: Proportion of answerable candidates for which the truth is drawn.
        annotators: Number of annotators.
        tasks: Number of tasks.
        forecast: Judgements that are forecast before the first one.
        later_forecast: Judgements that are forecast after a quarter as many as there are tasks, which are included.
        judgements: Judgements that were given.
        stated_error: Maximum over the subsets of the difference between the stated base rate and the proportion
            of candidates that are answerable in truth.
        assigner_error: The same for the base rates by task assignment, at the end.
        collect_error: The same for the base rates by stage `collect`.
        false_discovery_rate: Proportion of answerable candidates among those called unanswerable.
        miss_rate: Proportion of unanswerable candidates that are not called unanswerable, if nobody judges the
            doubtful ones.
        adjudicated: Number of doubtful candidates.
        adjudicated_false_discovery_rate: As `false_discovery_rate`, after an adjudicator has judged the doubtful
            candidates.
        adjudicated_miss_rate: As `miss_rate`, after an adjudicator has judged the doubtful candidates.
    """

    crowd: int
    answerable: float
    annotators: int
    tasks: int
    forecast: int
    later_forecast: int
    judgements: int
    stated_error: float
    assigner_error: float
    collect_error: float
    false_discovery_rate: float
    miss_rate: float
    adjudicated: int
    adjudicated_false_discovery_rate: float
    adjudicated_miss_rate: float


def sample_tasks(tasks: Mapping[str, Task], seed: int, num_tasks: int) -> dict[str, Task]:
    """Return the tasks of random images, at least `num_tasks` if there are so many."""
    by_image = group_by(tasks.values(), lambda task: task.image_id)
    chosen: dict[str, Task] = {}
    for image in make_generator(seed, "images").permutation(sorted(by_image)).tolist():
        if len(chosen) >= num_tasks:
            break
        chosen |= {task.task_id: task for task in by_image[image]}
    return chosen


def draw_truth(tasks: Mapping[str, Task], answerable: float, seed: int) -> dict[str, str]:
    """Return candidate id -> what a faultless annotator finds ("" or "missing object"), drawn at random.

    Args:
        tasks: The tasks by id.
        answerable: Proportion of answerable candidates, in (0, 1). In the subsets it differs by `SUBSET_DEVIATIONS`.
        seed: Seed of the truth.
    """
    rng = make_generator(seed, "truth", str(answerable))
    subset_of = find_subsets(tasks)
    rates = {name: float(expit(logit(answerable) + shift)) for name, shift in SUBSET_DEVIATIONS.items()}
    return {
        key: "" if rng.random() < rates[subset_of[key]] else "missing object" for key in sorted(subset_of)
    }


def find_subsets(tasks: Mapping[str, Task]) -> dict[str, Subset]:
    """Return candidate id -> subset."""
    return {
        row.candidate_id: task.subset
        for task in tasks.values()
        for row in (task.first, task.second)
        if row.role == "candidate" and row.candidate_id
    }


def simulate_base_rates(
    tasks: Mapping[str, Task],
    screened: Mapping[str, ScreenedCandidate],
    answerable: float,
    people: Sequence[SimulatedAnnotator],
    seed: int,
) -> BaseRateResult:
    """Simulate one study with adaptive voting on a truth that is drawn at random.

    Args:
        tasks: The tasks by id.
        screened: The candidates by id.
        answerable: Proportion of answerable candidates, in (0, 1).
        people: The annotators.
        seed: Seed of the truth, of the order of tasks and of errors.
    """
    truth, subset_of = draw_truth(tasks, answerable, seed), find_subsets(tasks)
    keys = list(truth)
    stated_rates: dict[str, float] = {**STATED_RATES}
    stated = {key: stated_rates[subset_of[key]] for key in keys}

    def true_answer(question: TaskQuestion, image_id: str) -> str:
        if question.role == "gold":
            return "missing object" if question.expected_choice == "invalid" else ""
        return truth.get(question.candidate_id or "", "unclear")

    rules = AssignmentRules(seed=seed, wave_size=choose_study_sizes(len(tasks), 0).wave_size)
    asked, names = [to_task_mapping(task) for task in tasks.values()], [person.name for person in people]
    study, early = AdaptiveAssigner(asked, stated, rules), AdaptiveAssigner(asked, stated, rules)
    forecast = make_forecast(study, names, seed=seed)
    verdicts = simulate_votes(study, tasks, people, true_answer, seed)
    first = verdicts[: len(tasks) // 4]
    for row in first:
        early.record_answer(row.annotator, row.task_id, row.first, row.second)
    later_forecast = len(first) + make_forecast(early, names, seed=seed).judgements
    statuses, estimated = collect_statuses([screened[key] for key in keys], tasks, verdicts, stated)
    released = {key for key, status in statuses.items() if status == "unanswerable"}
    doubtful = sorted(key for key, status in statuses.items() if status == "doubtful")
    confirmed = {
        key
        for key in doubtful
        if choose_verdict(truth[key], ADJUDICATOR, make_generator(seed, "adjudicator", key))[0] == "invalid"
    }
    true_rates = {
        name: sum(not truth[key] for key in own) / len(own)
        for name, own in group_by(keys, lambda key: subset_of[key]).items()
    }

    def find_error(found: Mapping[Any, float]) -> float:
        return max(abs(found[name] - rate) for name, rate in true_rates.items())

    wrong, lost, _ = compute_errors(released, truth)
    adjudicated_wrong, adjudicated_lost, _ = compute_errors(released | confirmed, truth)
    return BaseRateResult(
        crowd=seed,
        answerable=answerable,
        annotators=len(people),
        tasks=len(tasks),
        forecast=forecast.judgements,
        later_forecast=later_forecast,
        judgements=len(verdicts),
        stated_error=find_error(STATED_RATES),
        assigner_error=find_error({name: found.rate for name, found in study.get_base_rates().items()}),
        collect_error=find_error({name: found.value or 0.0 for name, found in estimated.base_rates.items()}),
        false_discovery_rate=wrong,
        miss_rate=lost,
        adjudicated=len(doubtful),
        adjudicated_false_discovery_rate=adjudicated_wrong,
        adjudicated_miss_rate=adjudicated_lost,
    )


def choose_people(
    crowd: Sequence[SimulatedAnnotator], count: int, is_one_lazy: bool
) -> list[SimulatedAnnotator]:
    """Return the first annotators of a crowd. If one is lazy, they take the place of the last one."""
    return [*crowd[: count - 1], LAZY] if is_one_lazy else list(crowd[:count])


def render_base_rates(results: Sequence[BaseRateResult]) -> str:
    """Render the study of base rates as a Markdown table: means over crowds, and the largest errors."""
    lines = [
        "| answerable | annotators | tasks | forecast | judgements | largest error of the forecast: at the beginning | after a quarter of a judgement per task | largest error of a base rate: stated | task assignment | collect "
        "| UQs lost | answerable among the UQs | doubtful | with an adjudicator: UQs lost | answerable among the UQs |",
        "|" + "---|" * 15,
    ]
    groups = group_by(results, lambda row: (row.answerable, row.annotators))
    for (answerable, annotators), rows in sorted(groups.items()):
        table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in rows])
        mean = table.mean()
        early, late = (
            (table[name] / table["judgements"] - 1).abs().max() for name in ("forecast", "later_forecast")
        )
        lines.append(
            f"| {answerable:.0%} | {annotators} | {mean['tasks']:,.0f} | {mean['forecast']:,.0f} | {mean['judgements']:,.0f} | {early:.0%} | {late:.0%} "
            f"| {table['stated_error'].max():.2f} | {table['assigner_error'].max():.2f} | {table['collect_error'].max():.2f} "
            f"| {mean['miss_rate']:.1%} | {mean['false_discovery_rate']:.2%} | {mean['adjudicated']:,.0f} "
            f"| {mean['adjudicated_miss_rate']:.1%} | {mean['adjudicated_false_discovery_rate']:.2%} |"
        )
    return "\n".join(lines)


def run_base_rate_study(
    answerable: Sequence[float],
    num_annotators: Sequence[int],
    crowd_seeds: Sequence[int],
    is_one_lazy: bool,
    out: Path | None,
) -> str:
    """Return the table of the study of base rates in Markdown.

    Args:
        answerable: Proportions of answerable candidates.
        num_annotators: Numbers of annotators, from 2 to 8.
        crowd_seeds: Seeds of the crowds. Each crowd has a truth of its own.
        is_one_lazy: Whether one annotator calls every question valid.
        out: A .json file for all results.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    if out and out.suffix != ".json":
        raise UserError(f"--out {out}: the study of base rates writes a .json file only.")
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    screened = {row.candidate.candidate_id: row for row in folders.read_records(ScreenedCandidate)}
    ways = [(seed, rate, count) for seed in crowd_seeds for rate in answerable for count in num_annotators]
    results = [
        simulate_base_rates(
            sample_tasks(tasks, seed, MAX_BASE_RATE_TASKS),
            screened,
            rate,
            choose_people(make_crowd(seed), count, is_one_lazy),
            seed,
        )
        for seed, rate, count in track(ways, "study", unit="study")
    ]
    if out:
        write_json(out, results)
    return render_base_rates(results)


def average_over_crowds(costs: Sequence[VotingCost], crowds: Sequence[int] = REPORTED_CROWDS) -> pd.DataFrame:
    """Return a row for each strategy and setting: means over crowds, and the minimum and maximum error rate."""
    table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in costs])
    of = table[table["crowd"].isin(crowds)].groupby(["strategy", "setting"], sort=False)
    columns = [
        "judgements",
        "votes",
        "num_called_unanswerable",
        "false_discovery_rate",
        "miss_rate",
        "error_rate",
    ]
    errors = of["error_rate"]
    return of[columns].mean().assign(min_error=errors.min(), max_error=errors.max()).reset_index()


def plot_curve(table: pd.DataFrame) -> alt.HConcatChart:
    """Plot miss rate (logarithmic) and false discovery rate against judgements."""
    missed = alt.Y(
        "miss_rate:Q",
        title="unanswerable candidates missed",
        axis=alt.Axis(format=".1%", values=[0.001, 0.003, 0.01, 0.03, 0.1, 0.3]),
        scale=alt.Scale(type="log", domain=[0.0005, 0.5]),
    )
    wrong = alt.Y(
        "false_discovery_rate:Q", title="answerable among those released", axis=alt.Axis(format=".2%")
    )
    base = alt.Chart(table, width=300, height=220).mark_line(point=True)
    panels = [
        base.encode(
            x=alt.X("judgements:Q", title="judgements"),
            y=y,
            color=alt.Color("strategy:N", title="strategy", scale=alt.Scale(scheme="dark2")),
            order="judgements:Q",
        )
        for y in (missed, wrong)
    ]
    return alt.hconcat(*panels)


def render_table(table: pd.DataFrame) -> str:
    """Render the results as a Markdown table."""
    lines = [
        "| strategy | setting | judgements | votes | called unanswerable | of them answerable | missed | error |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    lines += [
        f"| {row.strategy} | {row.setting:g} | {row.judgements:,.0f} | {row.votes:,.0f} | {row.num_called_unanswerable:,.0f} "
        f"| {row.false_discovery_rate:.2%} | {row.miss_rate:.2%} "
        f"| {row.error_rate:.2%} ({row.min_error:.2%} to {row.max_error:.2%}) |"
        for row in table.itertuples()
    ]
    return "\n".join(lines)


def run_votes_study(crowd_seeds: Sequence[int], max_votes: int, out: Path | None) -> str:
    """Return the results for the current data set as a Markdown table.

    Args:
        crowd_seeds: Seeds of the crowds.
        max_votes: Maximum number of votes for a candidate in adaptive voting.
        out: A .json file for all results, or a .svg or .png file for the plot.

    Raises:
        UserError: The complete ground truth is not known.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    answerable = {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)}
    costs = simulate_strategies(
        tasks,
        list(folders.read_records(ScreenedCandidate)),
        answerable,
        make_true_answer(folders),
        crowd_seeds,
        max_votes,
    )
    table = average_over_crowds(costs, crowd_seeds)
    if out and out.suffix == ".json":
        write_json(out, costs)
    elif out:
        plot_curve(table).save(str(out), scale_factor=1.2)
    return render_table(table)


def make_true_answer(folders: DatasetFolders) -> TrueAnswer:
    """Return the function that finds the true answerability of the questions of a data set.

    Raises:
        UserError: The complete scene graphs are not known.
    """
    truth = read_truth(folders)
    if not truth:
        raise UserError(
            f"{folders.dataset}: its complete scene graphs are not known. Simulated annotators need them."
        )
    vocabulary = folders.read_vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    find = cache(partial(find_obstacle_in_truth, truth, words))

    def true_answer(question: TaskQuestion, image_id: str) -> str:
        # The cache key has only what the answer depends on, so that equal questions are executed once.
        same = TaskQuestion(key="", text=question.text, role="candidate", program=question.program)
        return "" if question.text in ALWAYS_ANSWERABLE else find(same, image_id)

    return true_answer
