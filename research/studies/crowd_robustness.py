"""Measure how annotation withstands hostile and careless crowds: `rgqa study crowds`.

Needs the complete scene graphs of the data set. Each crowd of `research.simulated_annotators.hostile_crowds` judges the data
set's own tasks. Tasks are assigned as by the server (`AdaptiveAssigner`), and statuses are decided as in stage `collect`. Then a
simulated adjudicator judges the audit sample.

With `--compare`, three random members of the crowd also judge each task, and the same votes are aggregated in several ways:
by majority vote, by the models of Dawid and Skene, GLAD and MACE from the library crowd-kit, and by the model of stage
`collect`. Annotators who fail the gold questions are excluded before.

The constants of `annotation.study.vote_model` were chosen on the crowds of `TUNING_SEEDS`. Report results for other
seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from annotation.study.answers_table import (
    QualityRules,
    build_answers_table,
    count_adjudicated_gold,
    get_adjudications,
    select_votes,
)
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules, is_audit_task
from annotation.study.assignment_params import choose_study_sizes, to_task_mapping
from annotation.study.label_error import LabelError, measure_label_error
from annotation.study.posteriors import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.quality_report import list_doubts
from annotation.study.vote_aggregation import verify_candidates
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash, write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import CandidateEstimate, Choice, Record, ScreenedCandidate, Task, Verdict
from pipeline.tasks.verdict_aggregation import CollectParams, aggregate_verdicts
from research.simulated_annotators.annotators import ADJUDICATOR, SimulatedAnnotator
from research.simulated_annotators.hostile_crowds import (
    Crowd,
    CrowdMember,
    choose_answer,
    make_hostile_crowds,
)
from research.studies.votes_needed import TrueAnswer, compute_errors, make_true_answer, simulate_turns

# The constants of the aggregation were chosen on these crowds.
TUNING_SEEDS = (1,)
# Results are reported for these.
REPORTED_SEEDS = (2, 3)
# What is promised where at least half of the people are honest: proportion of wrong and of lost UQs.
MAX_WRONG, MAX_LOST = 0.005, 0.05
# Judgements of a task for the comparison of aggregations.
COMPARED_VOTES = 3
# Ways of aggregation. The last ones are classes of the library crowd-kit, with their arguments.
MAJORITY, OURS = "majority", "stage collect"
CROWD_KIT: dict[str, dict[str, Any]] = {
    "DawidSkene": {"n_iter": 100},
    "GLAD": {"n_iter": 50, "silent": True},
    "MACE": {"n_restarts": 3, "n_iter": 50, "random_state": 0},
}


class CrowdData(NamedTuple):
    """The tasks that the crowds judge, and what is true.

    Attributes:
        tasks: Tasks by id.
        screened: Candidate id -> screened candidate.
        answerable: Candidate id -> prior probability of being answerable.
        truth: Candidate id -> what a faultless annotator finds; "" if the candidate is answerable.
    """

    tasks: dict[str, Task]
    screened: dict[str, ScreenedCandidate]
    answerable: dict[str, float]
    truth: dict[str, str]


class AggregationErrors(Record):
    """Errors of one way of aggregation.

    Attributes:
        aggregation: The way.
        wrong_rate: Proportion of answerable candidates among those called unanswerable.
        lost_rate: Proportion of the unanswerable candidates that are not called unanswerable.
    """

    aggregation: str
    wrong_rate: float
    lost_rate: float


class CrowdResult(Record):
    """What became of a study with one crowd.

    Attributes:
        seed: Seed of the crowd and of its errors.
        crowd: Key of the crowd.
        description: What the crowd is.
        is_mostly_honest: Whether at least half of the people are honest.
        judgements: Number of judged tasks.
        wrong_rate, lost_rate: As in `AggregationErrors`, for the votes alone.
        excluded: Accounts that stage `collect` excludes.
        distrusted: Accounts whose votes are not trusted, in any subset.
        copies: Accounts that answer like one person, in groups.
        doubts: Why the study is only a trial, before the audit. The reason that nothing is audited yet is left out.
        label_error: The label error on the audit sample.
        doubts_after_audit: Why the study is only a trial, after the audit.
        comparison: The errors of several aggregations with `COMPARED_VOTES` random votes per task.
    """

    seed: int
    crowd: str
    description: str
    is_mostly_honest: bool
    judgements: int
    wrong_rate: float
    lost_rate: float
    excluded: tuple[str, ...]
    distrusted: tuple[str, ...]
    copies: tuple[tuple[str, ...], ...]
    doubts: tuple[str, ...]
    label_error: LabelError
    doubts_after_audit: tuple[str, ...]
    comparison: tuple[AggregationErrors, ...] = ()


def find_truth(tasks: Mapping[str, Task], true_answer: TrueAnswer) -> dict[str, str]:
    """Return candidate id -> what a faultless annotator finds."""
    rows = [(task.image_id, row) for task in tasks.values() for row in (task.first, task.second)]
    return {row.candidate_id or "": true_answer(row, image) for image, row in rows if row.role == "candidate"}


def answer_task(
    member: CrowdMember, task: Task, num_tasks: int, crowd: Crowd, data: CrowdData, seed: int
) -> list[tuple[Choice, str]]:
    """Return the two choices of a member, each with a reason.

    Args:
        member: The member.
        task: The task.
        num_tasks: Number of tasks that the member has done before.
        crowd: The crowd.
        data: The tasks, and what is true.
        seed: Seed of the errors.
    """
    answers: list[tuple[Choice, str]] = []
    for row in (task.first, task.second):
        is_gold = row.role == "gold"
        obstacle = "missing object" if row.expected_choice == "invalid" else ""
        choice = choose_answer(
            member,
            crowd.hard_rates,
            obstacle if is_gold else data.truth[row.candidate_id or ""],
            f"{task.image_id}: {row.text}" if is_gold else row.candidate_id or "",
            seed,
            is_gold=is_gold,
            subset=task.subset,
            num_tasks=num_tasks,
        )
        answers.append((choice, "missing object" if choice == "invalid" else ""))
    return answers


def simulate_study(data: CrowdData, crowd: Crowd, rules: AssignmentRules) -> list[Verdict]:
    """Let a crowd judge tasks that are assigned as by the server. Return the verdicts."""
    members = {member.name: member for member in crowd.members}
    study = AdaptiveAssigner([to_task_mapping(task) for task in data.tasks.values()], data.answerable, rules)
    return simulate_turns(
        study,
        data.tasks,
        {name: member.speed for name, member in members.items()},
        lambda name, task, num_tasks: answer_task(members[name], task, num_tasks, crowd, data, rules.seed),
    )


def simulate_fixed_votes(
    data: CrowdData, crowd: Crowd, seed: int, num_votes: int = COMPARED_VOTES
) -> list[Verdict]:
    """Let `num_votes` random members judge each task, or all if there are fewer. Return the verdicts."""
    given = dict.fromkeys((member.name for member in crowd.members), 0)
    rng = make_generator(seed, "fixed votes", crowd.key)
    verdicts = []
    for key in rng.permutation(sorted(data.tasks)).tolist():
        for index in rng.permutation(len(crowd.members))[:num_votes].tolist():
            member = crowd.members[index]
            number = given[member.name]
            verdicts.append(_make_verdict(member, data.tasks[key], number, crowd, data, seed))
            given[member.name] += 1
    return verdicts


def _make_verdict(
    member: CrowdMember, task: Task, num_tasks: int, crowd: Crowd, data: CrowdData, seed: int
) -> Verdict:
    answers = answer_task(member, task, num_tasks, crowd, data, seed)
    (first, first_reason), (second, second_reason) = answers
    return Verdict(
        verdict_id=content_hash("verdict", task.task_id, member.name),
        task_id=task.task_id,
        annotator=member.name,
        first=first,
        second=second,
        first_reason=first_reason,
        second_reason=second_reason,
        sequence_index=num_tasks,
        simulated=True,
    )


def study_crowd(data: CrowdData, crowd: Crowd, seed: int, *, should_compare: bool = False) -> CrowdResult:
    """Simulate a study with one crowd.

    Args:
        data: The tasks, and what is true.
        crowd: The crowd.
        seed: Seed of the errors and of the order of tasks.
        should_compare: Whether to compare ways of aggregation, too.

    Raises:
        UserError: The comparison needs crowd-kit, which is not installed.
    """
    sizes = choose_study_sizes(len(data.tasks), 0)
    rules = AssignmentRules(seed=seed, wave_size=sizes.wave_size, audit_rate=sizes.audit_rate)
    verdicts = simulate_study(data, crowd, rules)
    collected = aggregate_verdicts(
        data.screened, build_answers_table(data.tasks, verdicts), CollectParams(), data.answerable
    )
    status = {row.candidate.candidate_id: row.status for row in collected.verified}
    quality = collected.quality
    error = audit_study(data, crowd, rules, status)
    audited = msgspec.structs.replace(quality, label_error=error)
    released = {key for key, value in status.items() if value == "unanswerable"}
    wrong, lost, _ = compute_errors(released, data.truth)
    unknown = quality.label_error.unknown_because
    return CrowdResult(
        seed=seed,
        crowd=crowd.key,
        description=crowd.description,
        is_mostly_honest=crowd.is_mostly_honest,
        judgements=len(verdicts),
        wrong_rate=wrong,
        lost_rate=lost,
        excluded=tuple(row.name for row in quality.annotators if row.exclusion_reasons),
        distrusted=tuple(sorted({row.annotator for row in quality.rates if row.trusted_before is not None})),
        copies=tuple(map(tuple, collected.copies)),
        doubts=tuple(doubt for doubt in list_doubts(quality) if unknown not in doubt),
        label_error=error,
        doubts_after_audit=tuple(list_doubts(audited)),
        comparison=tuple(compare_aggregations(data, simulate_fixed_votes(data, crowd, seed)))
        if should_compare
        else (),
    )


def audit_study(
    data: CrowdData, crowd: Crowd, rules: AssignmentRules, status: Mapping[str, str]
) -> LabelError:
    """Return the label error after the simulated adjudicator has judged the audit sample.

    Args:
        data: The tasks, and what is true.
        crowd: The crowd. Candidates that are hard for it are hard for the adjudicator, too.
        rules: The rules of assignment, which choose the sample.
        status: Candidate id -> status by the votes.
    """
    verdicts, audited = simulate_audit(data, crowd, rules)
    answers = build_answers_table(data.tasks, verdicts)
    adjudicated = {str(key): bool(value) for key, value in get_adjudications(answers).items()}
    return measure_label_error(status, adjudicated, audited, count_adjudicated_gold(answers))


def simulate_audit(
    data: CrowdData, crowd: Crowd, rules: AssignmentRules, adjudicator: SimulatedAnnotator = ADJUDICATOR
) -> tuple[list[Verdict], list[str]]:
    """Let an adjudicator judge the audit sample.

    Args:
        data: The tasks, and what is true.
        crowd: The crowd. Candidates that are hard for it are hard for the adjudicator, too.
        rules: The rules of assignment, which choose the sample.
        adjudicator: The adjudicator.

    Returns:
        The verdicts, and the ids of the candidates of the sample.
    """
    tasks = [task for key, task in sorted(data.tasks.items()) if is_audit_task(key, rules)]
    member = CrowdMember(adjudicator)
    verdicts = [
        _make_verdict(member, task, number, crowd, data, rules.seed) for number, task in enumerate(tasks)
    ]
    rows = [row for task in tasks for row in (task.first, task.second)]
    return verdicts, [row.candidate_id or "" for row in rows if row.role == "candidate"]


def compare_aggregations(data: CrowdData, verdicts: Sequence[Verdict]) -> Iterator[AggregationErrors]:
    """Yield the errors of each way of aggregating the same verdicts.

    Raises:
        UserError: The library crowd-kit is not installed.
    """
    judged = assess_quality(build_answers_table(data.tasks, verdicts), QualityRules()).answers
    majority = QualityRules(aggregation="majority", min_votes=1)
    yield _measure(MAJORITY, _find_unanswerable(data, judged, majority, {}), data)
    votes = select_votes(judged)[["candidate_id", "annotator", "choice"]].astype(str)
    votes["label"] = votes.pop("choice").where(lambda choice: choice == "invalid", "valid")
    table = votes.rename(columns={"candidate_id": "task", "annotator": "worker"}).reset_index(drop=True)
    for name, arguments in CROWD_KIT.items():
        labels: pd.Series[str] = _import_crowd_kit(name)(**arguments).fit_predict(table)
        yield _measure(name, set(labels.index[labels == "invalid"]), data)
    estimated, judged = estimate_posteriors(judged, data.answerable)
    invalid = {row.candidate_id: row.invalid for row in estimated.posteriors}
    yield _measure(OURS, _find_unanswerable(data, judged, QualityRules(), invalid), data)


def _find_unanswerable(
    data: CrowdData, judged: pd.DataFrame, rules: QualityRules, invalid: Mapping[str, float]
) -> set[str]:
    verified = verify_candidates(data.screened, judged, rules, invalid)
    return {row.candidate.candidate_id for row in verified if row.status == "unanswerable"}


def _measure(aggregation: str, released: set[str], data: CrowdData) -> AggregationErrors:
    wrong, lost, _ = compute_errors(released, data.truth)
    return AggregationErrors(aggregation=aggregation, wrong_rate=wrong, lost_rate=lost)


def _import_crowd_kit(name: str) -> Any:
    try:
        return getattr(import_module("crowdkit.aggregation"), name)
    except ImportError:
        raise UserError(
            "--compare needs the library crowd-kit, which is not installed. Run `pip install crowd-kit`, or leave out --compare."
        ) from None


def choose_crowds(seed: int, keys: Collection[str]) -> list[Crowd]:
    """Return the crowds with the keys, or all crowds if there are no keys.

    Raises:
        UserError: A crowd is unknown.
    """
    crowds = make_hostile_crowds(seed)
    if unknown := sorted(set(keys) - {crowd.key for crowd in crowds}):
        raise UserError(
            f"--crowd: unknown: {', '.join(unknown[:5])}. Choose from {', '.join(crowd.key for crowd in crowds)}."
        )
    return [crowd for crowd in crowds if not keys or crowd.key in keys]


def render_results(results: Sequence[CrowdResult]) -> str:
    """Render the results as Markdown tables: means over seeds, and all reasons why studies are trials."""
    lines = [
        "| crowd | most are honest | judgements | UQs lost | wrong UQs | excluded | not trusted | taken for one person "
        "| a trial before the audit | label error by the audit | a trial after the audit |",
        "|" + "---|" * 11,
    ]
    for row in results:
        error = row.label_error
        stated = (
            "unknown"
            if error.value is None
            else f"{error.value:.1%} ({error.low or 0:.1%} to {error.high or 0:.1%})"
        )
        cells = [
            f"{row.description} (seed {row.seed})",
            "yes" if row.is_mostly_honest else "no",
            f"{row.judgements:,}",
            f"{row.lost_rate:.2%}",
            f"{row.wrong_rate:.2%}",
            ", ".join(row.excluded),
            ", ".join(row.distrusted),
            "; ".join(" = ".join(names) for names in row.copies),
            "yes" if row.doubts else "no",
            stated,
            "yes" if row.doubts_after_audit else "no",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        f"\n{row.crowd} (seed {row.seed}): {doubt}"
        for row in results
        for doubt in sorted({*row.doubts, *row.doubts_after_audit})
    ]
    if compared := [row for row in results if row.comparison]:
        names = [error.aggregation for error in compared[0].comparison]
        lines += [
            f"\nThe same {COMPARED_VOTES} random votes per task, aggregated in several ways. UQs lost / wrong UQs:\n",
            f"| crowd | {' | '.join(names)} |",
            "|" + "---|" * (len(names) + 1),
        ]
        for row in compared:
            errors = [f"{error.lost_rate:.2%} / {error.wrong_rate:.2%}" for error in row.comparison]
            lines.append(f"| {row.description} (seed {row.seed}) | {' | '.join(errors)} |")
    return "\n".join(lines)


def run_crowds_study(
    seeds: Sequence[int], keys: Collection[str], should_compare: bool, out: Path | None
) -> str:
    """Return the results for the current data set as Markdown tables.

    Args:
        seeds: Seeds of the crowds.
        keys: Keys of the crowds; empty for all.
        should_compare: Whether to compare ways of aggregation.
        out: A .json file for all results.

    Raises:
        UserError: The complete ground truth is not known, a crowd is unknown, or crowd-kit is missing.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    if out and out.suffix != ".json":
        raise UserError(f"--out {out}: the study of crowds writes a .json file only.")
    if should_compare:
        _import_crowd_kit("DawidSkene")
    ways = [(seed, crowd) for seed in seeds for crowd in choose_crowds(seed, keys)]
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    data = CrowdData(
        tasks,
        {row.candidate.candidate_id: row for row in folders.read_records(ScreenedCandidate)},
        {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)},
        find_truth(tasks, make_true_answer(folders)),
    )
    results = list[CrowdResult]()
    for seed, crowd in track(ways, "study", unit="crowd"):
        results.append(study_crowd(data, crowd, seed, should_compare=should_compare))
        # After each crowd, so that nothing is lost if the command is stopped.
        if out:
            write_json(out, results)
    return render_results(results)
