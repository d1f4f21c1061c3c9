"""Measure how many votes of people a panel of models saves, and what it costs: `rgqa study panel`.

Needs only tasks, so it also runs on photographs. As in the study of base rates (`votes_needed`), the truth of each candidate is drawn
at random, and nothing is known of single candidates but the stated base rates. Five diligent people judge the tasks with adaptive
voting. Before them, a simulated panel of models judges all tasks. Then each study goes on like a real one:

1. The panel is weighed on gold questions, and people vote.
2. Several times (`COLLECT_AT`), stage `collect` weighs the panel on what people say, audits it, and `rgqa annotate push` assigns the
   next tasks with the new probabilities.
3. When no more votes are requested, stage `collect` decides.

The same people judge the same tasks without a panel. Constants were chosen on the seeds `TUNING_SEEDS`, results are reported for
others.

People and models err independently of each other here, and nothing is harder than other things. People and real models can
share errors, and then a panel does more harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student_t

from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import AnnotateParams, choose_study_sizes, to_task_mapping
from annotation.study.panel_priors import PanelPriors, add_panel, decide_by_panel, find_called_valid
from annotation.study.panel_verdicts import PanelVerdict
from annotation.study.quality_control import assess_quality
from pipeline.candidates.estimating.answerability import STATED_RATES
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.jsonl_index import group_by
from pipeline.core.output_paths import Output
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import (
    Choice,
    CollectedCandidate,
    Record,
    ScreenedCandidate,
    Subset,
    Task,
    TaskQuestion,
    Verdict,
)
from pipeline.tasks.verdict_aggregation import CollectParams, WeighedVotes, verify_weighed, weigh_votes
from research.simulated_annotators.annotator_crowds import make_crowd
from research.studies.votes_needed import (
    draw_truth,
    find_subsets,
    sample_tasks,
    simulate_votes,
)

# Constants were chosen on these seeds. Results are reported for the following ones.
TUNING_SEEDS = range(1001, 1009)
FIRST_SEED, NUM_STUDIES = 1, 20
# Maximum number of tasks of a study, and number of people.
NUM_TASKS, NUM_PEOPLE = 600, 5
# Stage `collect` runs, and the tasks are assigned again, after so many judgements, as a proportion of the number of tasks.
COLLECT_AT = (0.3, 0.8)
# After the last of them, this is repeated until no more votes are requested, at most so many times.
MAX_LAST_ROUNDS = 4
PEOPLE_ALONE = "people alone"


class PanelModel(NamedTuple):
    """A simulated model.

    Attributes:
        sensitivity, specificity: Its rates on candidates.
        shared: Proportion of questions on which it errs if and only if the first model does. 1 makes a copy.
        gold_accuracy: Its accuracy on gold questions; None if it is as on candidates.
    """

    sensitivity: float
    specificity: float
    shared: float = 0.0
    gold_accuracy: float | None = None


PANELS: dict[str, tuple[PanelModel, ...]] = {
    "2 models of 0.95": (PanelModel(0.95, 0.95),) * 2,
    "2 models of 0.85": (PanelModel(0.85, 0.85),) * 2,
    "2 models of 0.85 that share half of their errors": (PanelModel(0.85, 0.85), PanelModel(0.85, 0.85, 0.5)),
    "a model of 0.85 and its copy": (PanelModel(0.85, 0.85), PanelModel(0.85, 0.85, 1.0)),
    "2 models of 0.7/0.6": (PanelModel(0.7, 0.6),) * 2,
    "2 biased to answerable (0.3/0.97)": (PanelModel(0.3, 0.97),) * 2,
    "2 that toss coins": (PanelModel(0.5, 0.5),) * 2,
    "4 that toss the same coin": (PanelModel(0.5, 0.5), *(PanelModel(0.5, 0.5, 1.0),) * 3),
    "2 that always say invalid": (PanelModel(1.0, 0.0),) * 2,
    "4 that know the gold questions, and toss the same coin": (
        PanelModel(0.5, 0.5, 0.0, 0.95),
        *(PanelModel(0.5, 0.5, 1.0, 0.95),) * 3,
    ),
}
# Panels for which `collect.min_people: 0` is measured, too.
DECIDING_PANELS = (
    "2 models of 0.95",
    "2 models of 0.85",
    "2 models of 0.85 that share half of their errors",
    "2 models of 0.7/0.6",
    "2 that toss coins",
)


class PanelStudyResult(Record):
    """One simulated study.

    Attributes:
        seed: Seed of the tasks, the truth, the people and the errors.
        panel: Name of the panel in `PANELS`, or `PEOPLE_ALONE`.
        min_people: `collect.min_people`.
        tasks: Number of tasks.
        judgements: Number of judgements of people.
        first_judgements, overlap_judgements, more_judgements: Parts of it: the first one on each task, the others on the overlap tasks,
            and the others on other tasks.
        unanswerable: Number of candidates that are unanswerable in truth.
        released: Number of candidates that are called unanswerable.
        wrong: Number of these that are answerable in truth.
        lost: Number of unanswerable candidates that are not called so.
        panel_decided: Number of candidates that only the panel decided.
        audited, audit_error, audit_low, audit_high: The audit of the panel (`PanelReport`).
        is_contained: Whether the interval contains the error of the panel on all candidates; None without an interval.
        is_used: Whether the verdicts of the panel are used in the end.
    """

    seed: int
    panel: str
    min_people: int
    tasks: int
    judgements: int
    first_judgements: int
    overlap_judgements: int
    more_judgements: int
    unanswerable: int
    released: int
    wrong: int
    lost: int
    panel_decided: int
    audited: int
    audit_error: float | None
    audit_low: float | None
    audit_high: float | None
    is_contained: bool | None
    is_used: bool


class StudyData(NamedTuple):
    """The tasks of a study by id, the candidates by id, and what is true ("" for answerable)."""

    tasks: dict[str, Task]
    screened: dict[str, ScreenedCandidate]
    truth: dict[str, str]

    @property
    def stated(self) -> dict[str, float]:
        """Candidate id -> stated prior probability of being answerable."""
        rates: dict[str, float] = {**STATED_RATES}
        return {key: rates[subset] for key, subset in find_subsets(self.tasks).items()}

    def find_obstacle(self, question: TaskQuestion, image_id: str) -> str:
        """Return what a faultless annotator finds."""
        del image_id
        if question.role == "gold":
            return "missing object" if question.expected_choice == "invalid" else ""
        return self.truth.get(question.candidate_id or "", "unclear")


def simulate_panel(data: StudyData, models: Sequence[PanelModel], seed: int) -> list[PanelVerdict]:
    """Return the verdicts of models on all tasks.

    Args:
        data: The tasks, and what is true.
        models: The models.
        seed: Seed of the errors.
    """
    rows = []
    for key, task in sorted(data.tasks.items()):
        numbers = make_generator(seed, "panel", key).random((len(models), 2, 2))
        for place, model in enumerate(models):
            choices: list[Choice] = []
            for side, question in enumerate((task.first, task.second)):
                is_unanswerable = bool(data.find_obstacle(question, task.image_id))
                right = model.sensitivity if is_unanswerable else model.specificity
                if question.role == "gold" and model.gold_accuracy is not None:
                    right = model.gold_accuracy
                is_shared = numbers[place, side, 1] < model.shared
                errs = numbers[0 if is_shared else place, side, 0] >= right
                choices.append("invalid" if is_unanswerable != errs else "valid")
            rows.append(
                PanelVerdict(
                    task_id=key,
                    model=f"model-{place}",
                    prompt="prompt-1",
                    first=choices[0],
                    second=choices[1],
                )
            )
    return rows


def simulate_study(data: StudyData, panel: str, min_people: int, seed: int) -> PanelStudyResult:
    """Simulate one study.

    Args:
        data: The tasks, and what is true.
        panel: Name of the panel in `PANELS`, or `PEOPLE_ALONE`.
        min_people: `collect.min_people`.
        seed: Seed of people, errors, and the order of tasks.
    """
    stated, params = data.stated, CollectParams(min_people=min_people)
    rules = AssignmentRules(seed=seed, wave_size=choose_study_sizes(len(data.tasks), 0).wave_size)
    verdicts_of_panel = simulate_panel(data, PANELS.get(panel, ()), seed)
    weigh = partial(_weigh, data, verdicts_of_panel, stated, seed)
    people = make_crowd(seed)[:NUM_PEOPLE]
    mappings = [to_task_mapping(task) for task in data.tasks.values()]
    verdicts: list[Verdict] = []
    weighed: WeighedVotes | None = None
    # Without a panel, `collect` changes nothing about the assignment.
    limits = [int(part * len(data.tasks)) for part in COLLECT_AT] if verdicts_of_panel else []
    for limit in (*limits, *[0] * (1 + MAX_LAST_ROUNDS * bool(verdicts_of_panel))):
        answerable, decided, called_valid = stated, list[str](), list[str]()
        if verdicts_of_panel and (not weighed or not weighed.panel or weighed.panel.is_used):
            by_people = weighed.invalid_by_people if weighed else {}
            priors = weigh(by_people)
            answerable, called_valid = priors.answerable, find_called_valid(priors)
            if not min_people:
                found = weighed.estimated.base_rates if weighed else {}
                base_rates: dict[Subset, float] = {
                    subset: rate.value for subset, rate in found.items() if rate.value is not None
                }
                decided = sorted(decide_by_panel(priors, params.min_posterior, base_rates, by_people))
        assigner = AdaptiveAssigner(
            mappings,
            answerable,
            rules._replace(max_judgements=limit),
            decided_by_panel=decided,
            called_valid_by_panel=called_valid,
        )
        new = simulate_votes(assigner, data.tasks, people, data.find_obstacle, seed, verdicts)
        if weighed and not limit and not new:
            break
        verdicts += new
        weighed = weigh_votes(
            assess_quality(build_answers_table(data.tasks, verdicts), params).answers,
            data.screened,
            params,
            stated,
            (lambda invalid, answers: weigh(invalid)) if verdicts_of_panel else None,
        )
    assert weighed  # the loop has at least one round
    verified = list(verify_weighed(data.screened, weighed, params))
    return _summarize(data, panel, min_people, rules, verdicts, weighed, verified, weigh, seed)


def _weigh(
    data: StudyData,
    verdicts: Sequence[PanelVerdict],
    stated: Mapping[str, float],
    seed: int,
    invalid_by_people: Mapping[str, float],
) -> PanelPriors:
    rate = AnnotateParams().panel_audit_rate
    return add_panel(data.tasks.values(), verdicts, stated, invalid_by_people, seed, rate)


def _summarize(
    data: StudyData,
    panel: str,
    min_people: int,
    rules: AssignmentRules,
    verdicts: Sequence[Verdict],
    weighed: WeighedVotes,
    verified: Sequence[CollectedCandidate],
    weigh: Callable[[Mapping[str, float]], PanelPriors],
    seed: int,
) -> PanelStudyResult:
    released = {row.candidate.candidate_id for row in verified if row.status == "unanswerable"}
    unanswerable = {key for key, found in data.truth.items() if found}
    assigner = AdaptiveAssigner([to_task_mapping(task) for task in data.tasks.values()], {}, rules)
    overlap = {key for key, is_overlap in zip(assigner.keys, assigner.is_overlap, strict=True) if is_overlap}
    given = Counter(row.task_id for row in verdicts)
    found = weighed.panel
    is_contained = None
    if found and found.low is not None and found.high is not None:
        by_panel = weigh(weighed.invalid_by_people).by_panel
        error = np.mean([(value > 0.5) == (key in unanswerable) for key, value in by_panel.items()])
        is_contained = bool(found.low <= error <= found.high)
    return PanelStudyResult(
        seed=seed,
        panel=panel,
        min_people=min_people,
        tasks=len(data.tasks),
        judgements=len(verdicts),
        first_judgements=len(given),
        overlap_judgements=sum(count - 1 for key, count in given.items() if key in overlap),
        more_judgements=sum(count - 1 for key, count in given.items() if key not in overlap),
        unanswerable=len(unanswerable),
        released=len(released),
        wrong=len(released - unanswerable),
        lost=len(unanswerable - released),
        panel_decided=sum(row.decided_by == "panel" for row in verified),
        audited=found.num_audited if found else 0,
        audit_error=found.error if found else None,
        audit_low=found.low if found else None,
        audit_high=found.high if found else None,
        is_contained=is_contained,
        is_used=found.is_used if found else False,
    )


def compute_difference(
    results: Sequence[PanelStudyResult], alone: Mapping[int, PanelStudyResult]
) -> tuple[float, float, float]:
    """Return the proportion of wrong UQs minus that of people alone, with its 95 % interval over studies.

    The proportions are those of all studies together. Each study is compared with the one of the same seed.

    Args:
        results: Studies of one panel.
        alone: Seed -> study without a panel.
    """
    pairs = [(row, alone[row.seed]) for row in results]
    totals = [sum(row[side].released for row in pairs) for side in (0, 1)]
    # The contribution of each study to the difference of the two ratios.
    rates = [sum(row[side].wrong for row in pairs) / max(total, 1) for side, total in enumerate(totals)]
    parts = np.array(
        [
            sum(
                sign * (row[side].wrong - rates[side] * row[side].released) / max(totals[side], 1)
                for side, sign in ((0, 1), (1, -1))
            )
            for row in pairs
        ]
    )
    difference, count = rates[0] - rates[1], len(pairs)
    if count < 2:
        return difference, float("nan"), float("nan")
    half = float(student_t.ppf(0.975, count - 1) * np.sqrt(count / (count - 1) * (parts**2).sum()))
    return difference, difference - half, difference + half


def render_results(results: Sequence[PanelStudyResult]) -> str:
    """Render the results as a Markdown table, with means over the studies."""
    lines = [
        "| `min_people` | panel | votes of people | of these first / overlap / more | fewer than people alone | UQs lost | wrong UQs | wrong UQs minus people alone, in points "
        "| error of the panel by its audit | interval contains it | panel is used |",
        "|" + "---|" * 11,
    ]
    alone = {row.seed: row for row in results if row.panel == PEOPLE_ALONE}
    for (min_people, panel), rows in group_by(results, lambda row: (row.min_people, row.panel)).items():
        table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in rows])
        total, mean = table.select_dtypes("number").sum(), table.select_dtypes("number").mean()
        parts = " / ".join(f"{mean[f'{part}_judgements']:,.0f}" for part in ("first", "overlap", "more"))
        before = np.mean([alone[row.seed].judgements for row in rows])
        saved = f"{1 - mean['judgements'] / before:.0%}".replace("-0%", "0%")
        difference, low, high = (100 * value for value in compute_difference(rows, alone))
        errors = [row.audit_error for row in rows if row.audit_error is not None]
        known = [row.is_contained for row in rows if row.is_contained is not None]
        cells = ["", "", "", "", ""]
        if panel != PEOPLE_ALONE:
            cells = [
                saved,
                f"{difference:+.2f} ({low:+.2f} to {high:+.2f})",
                f"{np.mean(errors):.1%}" if errors else "unknown",
                f"{sum(known)} of {len(known)}",
                f"{sum(row.is_used for row in rows)} of {len(rows)}",
            ]
        lines.append(
            f"| {min_people} | {panel} | {mean['judgements']:,.0f} | {parts} | {cells[0]} | {total['lost'] / total['unanswerable']:.2%} "
            f"| {total['wrong'] / max(total['released'], 1):.2%} ({total['wrong']:,.0f} of {total['released']:,.0f}) | {' | '.join(cells[1:])} |"
        )
    return "\n".join(lines)


class _Inputs(NamedTuple):
    tasks: dict[str, Task]
    screened: dict[str, ScreenedCandidate]


def _load_inputs() -> _Inputs:
    folders = DatasetFolders()
    return _Inputs(
        {task.task_id: task for task in folders.read_records(Task)},
        {row.candidate.candidate_id: row for row in folders.read_records(ScreenedCandidate)},
    )


def make_study_data(
    tasks: Mapping[str, Task],
    screened: Mapping[str, ScreenedCandidate],
    answerable: float,
    num_tasks: int,
    seed: int,
) -> StudyData:
    """Return the tasks of random images, and a truth that is drawn at random.

    Args:
        tasks: All tasks by id.
        screened: All candidates by id.
        answerable: Proportion of answerable candidates, in (0, 1).
        num_tasks: Number of tasks, at least.
        seed: Seed of both.
    """
    chosen = sample_tasks(tasks, seed, num_tasks)
    truth = draw_truth(chosen, answerable, seed)
    return StudyData(chosen, {key: screened[key] for key in truth}, truth)


def _simulate(
    answerable: float, num_tasks: int, inputs: _Inputs, job: tuple[int, str, int]
) -> PanelStudyResult:
    seed, panel, min_people = job
    data = make_study_data(inputs.tasks, inputs.screened, answerable, num_tasks, seed)
    return simulate_study(data, panel, min_people, seed)


def run_panel_study(
    seeds: Sequence[int],
    panels: Sequence[str],
    answerable: float,
    num_tasks: int,
    min_people: Sequence[int],
    out: Path | None,
) -> str:
    """Return the table of the study in Markdown.

    Args:
        seeds: Seeds of the studies.
        panels: Names of panels in `PANELS`; empty for all.
        answerable: Proportion of answerable candidates.
        num_tasks: Number of tasks of a study, at least.
        min_people: Values of `collect.min_people`. With 0, only `DECIDING_PANELS` are studied unless panels are named.
        out: A .json file for all results.

    Raises:
        UserError: A panel is not known, or `out` is not a .json file.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    problems = [f"--panel {name}: choose from {', '.join(PANELS)}" for name in panels if name not in PANELS]
    if out and out.suffix != ".json":
        problems.append(f"--out {out}: this study writes a .json file only.")
    if problems:
        raise UserError(problems)
    jobs = [(seed, PEOPLE_ALONE, 1) for seed in seeds]
    for number in min_people:
        chosen = panels or (PANELS if number else DECIDING_PANELS)
        jobs += [(seed, name, number) for name in chosen for seed in seeds]
    found = ordered_map(
        partial(_simulate, answerable, num_tasks), jobs, _load_inputs, choose_num_workers(len(jobs), 10), 1
    )
    results = list(track(found, "panel", len(jobs), unit="study"))
    if out:
        write_json(out, results)
    return render_results(results)
