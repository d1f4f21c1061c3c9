"""Measure whether the stated label error and the probabilities of stage `collect` can be relied on: `rgqa study coverage`.

Whole studies are simulated on the data set's own tasks. Each has its own random images, truth, crowd, adjudicator and seed:

- The truth is drawn at random. The proportion of answerable candidates is between 3 and 40 %, and differs between subsets.
  Nothing is known of single candidates: the priors are the stated rates of stage `estimate`.
- A crowd of `research.simulated_annotators.hostile_crowds` judges the tasks, which are assigned as by the server.
- An adjudicator judges the audit sample, whose size is the default (`choose_study_sizes`). The adjudicator misses up to
  4 % of the unanswerable questions and calls up to 2 % of the answerable ones invalid, also on gold questions.
- The votes are aggregated, and the label error is measured, as in stage `collect`.

Two things are compared with the truth. The first one is the interval of the label error. It is meant for the UQs of this study: it
should contain the proportion of answerable candidates among all candidates that votes verified as unanswerable. The
second one is the posterior of the candidates that no adjudicator judged.

Constants were chosen on studies with seeds from 10,000 on. Report results for other seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from annotation.study.answers_table import (
    QualityRules,
    build_answers_table,
    count_adjudicated_gold,
    get_adjudications,
)
from annotation.study.assignment import AssignmentRules, wilson_interval
from annotation.study.assignment_params import choose_study_sizes
from annotation.study.label_error import LabelError, measure_label_error
from annotation.study.posteriors import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import decide_by_votes
from pipeline.candidates.estimating.answerability import STATED_RATES
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.jsonl_index import group_by
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record, Task
from research.simulated_annotators.annotators import ADJUDICATOR
from research.studies.crowd_robustness import CrowdData, choose_crowds, simulate_audit, simulate_study
from research.studies.votes_needed import draw_truth, find_subsets, sample_tasks

# Number of studies of each kind, and the seed of the first one.
NUM_STUDIES, FIRST_SEED = 200, 100
# Lowest and highest proportion of answerable candidates in a study.
ANSWERABLE_RATES = (0.03, 0.4)
# Highest rates at which an adjudicator misses unanswerable questions and calls answerable ones invalid.
MAX_MISS_RATE, MAX_FALSE_ALARM_RATE = 0.04, 0.02
# Ends of the bins of posteriors, and the minimum number of candidates in a bin whose deviation is reported.
BIN_ENDS = (0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
MIN_IN_BIN = 100


class StudyKind(NamedTuple):
    """A kind of study.

    Attributes:
        key: A short name for the command line.
        description: What it is.
        crowd: Key of the crowd.
        num_tasks: Number of tasks, rounded up to whole images.
        is_hard_for_adjudicator: Whether the adjudicator errs on half of the candidates that are hard for the crowd, too.
    """

    key: str
    description: str
    crowd: str
    num_tasks: int
    is_hard_for_adjudicator: bool = True


KINDS = (
    StudyKind("honest-small", "5 honest people, a small study", "honest", 300),
    StudyKind("honest-large", "5 honest people, a full study", "honest", 2000),
    StudyKind(
        "misreading",
        "5 people who misread the same 20 % of the answerable candidates",
        "shared-misreading",
        600,
    ),
    StudyKind("hard", "5 honest people, 15 % of the UQs are hard for them", "hard", 600, False),
    StudyKind("hard-for-all", "the same, and they are hard for the adjudicator, too", "hard", 600),
    StudyKind("no-majority", "2 honest people, 5 who say invalid without looking", "invalid-majority", 600),
)


class AuditedStudy(NamedTuple):
    """A simulated study after the audit.

    Attributes:
        truth: Candidate id -> what a faultless annotator finds; "" if the candidate is answerable.
        status_by_votes: Candidate id -> status by the votes alone.
        adjudicated: Candidate id -> whether the adjudicator calls the candidate invalid.
        audited: The ids of the candidates of the audit sample.
        gold_counts: The adjudicator's answers to gold questions, as in `measure_label_error`.
        invalid: Candidate id -> posterior of invalid, for candidates with votes that the adjudicator did not judge.
    """

    truth: dict[str, str]
    status_by_votes: dict[str, str]
    adjudicated: dict[str, bool]
    audited: list[str]
    gold_counts: tuple[int, int, int, int]
    invalid: dict[str, float]


def simulate_audited_study(tasks: Mapping[str, Task], kind: StudyKind, seed: int) -> AuditedStudy:
    """Simulate a study.

    Args:
        tasks: The tasks of the data set by id.
        kind: The kind of study.
        seed: Seed of the images, the truth, the crowd, the errors and the order of tasks.
    """
    rng = make_generator(seed, "coverage", kind.key)
    low, high = logit(ANSWERABLE_RATES)
    answerable = float(expit(rng.uniform(low, high)))
    adjudicator = ADJUDICATOR._replace(
        miss_rate=rng.uniform(0, MAX_MISS_RATE), false_alarm_rate=rng.uniform(0, MAX_FALSE_ALARM_RATE)
    )
    tasks = sample_tasks(tasks, seed, kind.num_tasks)
    truth, subsets = draw_truth(tasks, answerable, seed), find_subsets(tasks)
    stated = {key: STATED_RATES[subsets[key]] for key in truth}
    data = CrowdData(tasks, {}, stated, truth)
    (crowd,) = choose_crowds(seed, [kind.crowd])
    sizes = choose_study_sizes(len(tasks), 0)
    rules = AssignmentRules(seed=seed, wave_size=sizes.wave_size, audit_rate=sizes.audit_rate)
    votes = simulate_study(data, crowd, rules)
    auditing = crowd if kind.is_hard_for_adjudicator else crowd._replace(hard_rates=(0.0, 0.0))
    verdicts, audited = simulate_audit(data, auditing, rules, adjudicator)
    collect = QualityRules()
    answers = assess_quality(build_answers_table(tasks, [*votes, *verdicts]), collect).answers
    estimated, answers = estimate_posteriors(answers, stated)
    adjudicated = {str(key): bool(value) for key, value in get_adjudications(answers).items()}
    return AuditedStudy(
        truth,
        decide_by_votes(answers, truth, collect, estimated.invalid_by_votes),
        adjudicated,
        audited,
        count_adjudicated_gold(answers),
        {
            row.candidate_id: row.invalid
            for row in estimated.posteriors
            if row.candidate_id not in adjudicated
        },
    )


class CalibrationBin(Record):
    """Candidates whose posterior of invalid is in an interval.

    Attributes:
        count: Number of candidates.
        sum_invalid: Sum of their posteriors.
        num_invalid: Number of candidates that are unanswerable.
    """

    count: int
    sum_invalid: float
    num_invalid: int

    @property
    def deviation(self) -> float:
        """Return the mean posterior minus the proportion of unanswerable candidates; NaN for an empty bin."""
        return (self.sum_invalid - self.num_invalid) / self.count if self.count else float("nan")


class StudyResult(Record):
    """What a simulated study found.

    Attributes:
        kind: Key of the kind of study.
        seed: The seed.
        num_uqs: Number of candidates that votes verified as unanswerable.
        true_error: Proportion of answerable candidates among these; 0 if there are none.
        label_error: The label error by the audit.
        bins: The candidates by posterior, one entry for each of the intervals between `BIN_ENDS`.
    """

    kind: str
    seed: int
    num_uqs: int
    true_error: float
    label_error: LabelError
    bins: tuple[CalibrationBin, ...]

    @property
    def is_covered(self) -> bool:
        """Return whether the interval of the label error is known and contains the truth."""
        low, high = self.label_error.low, self.label_error.high
        return low is not None and high is not None and low <= self.true_error <= high


def measure_study(study: AuditedStudy, kind: str, seed: int) -> StudyResult:
    """Compare what a study found with the truth.

    Args:
        study: The study.
        kind: Key of its kind.
        seed: Its seed.
    """
    uqs = [key for key, status in study.status_by_votes.items() if status == "unanswerable"]
    return StudyResult(
        kind=kind,
        seed=seed,
        num_uqs=len(uqs),
        true_error=sum(not study.truth[key] for key in uqs) / max(1, len(uqs)),
        label_error=measure_label_error(
            study.status_by_votes, study.adjudicated, study.audited, study.gold_counts
        ),
        bins=tuple(
            bin_posteriors(
                np.array([*study.invalid.values()]),
                np.array([bool(study.truth[key]) for key in study.invalid], bool),
            )
        ),
    )


def bin_posteriors(posteriors: np.ndarray, is_invalid: np.ndarray) -> list[CalibrationBin]:
    """Count candidates by their posterior.

    Args:
        posteriors: [candidates], posteriors of invalid.
        is_invalid: [candidates] of bool, whether they are unanswerable.

    Returns:
        One entry for each of the intervals between `BIN_ENDS`. The lower end belongs to an interval.

    >>> bins = bin_posteriors(np.array([0.1, 0.05, 1.0]), np.array([False, True, True]))
    >>> [row.count for row in bins], round(bins[1].deviation, 3)
    ([0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1], -0.425)
    """
    number, size = np.digitize(posteriors, BIN_ENDS[1:-1]), len(BIN_ENDS) - 1
    count, total, invalid = (
        np.bincount(number, values, size) for values in (np.ones(len(number)), posteriors, is_invalid)
    )
    return [
        CalibrationBin(count=int(row[0]), sum_invalid=float(row[1]), num_invalid=int(row[2]))
        for row in zip(count, total, invalid, strict=True)
    ]


def pool_bins(results: Sequence[StudyResult]) -> list[CalibrationBin]:
    """Return the bins of all studies together."""
    return [
        CalibrationBin(
            count=sum(row.count for row in rows),
            sum_invalid=sum(row.sum_invalid for row in rows),
            num_invalid=sum(row.num_invalid for row in rows),
        )
        for rows in zip(*(result.bins for result in results), strict=True)
    ]


def find_max_deviation(bins: Sequence[CalibrationBin]) -> float | None:
    """Return the largest deviation, with its sign, of bins with at least `MIN_IN_BIN` candidates; None if there are none."""
    large = [row.deviation for row in bins if row.count >= MIN_IN_BIN]
    return max(large, key=abs, default=None)


def choose_kinds(keys: Collection[str]) -> list[StudyKind]:
    """Return the kinds with the keys, or all kinds if there are no keys.

    Raises:
        UserError: A kind is unknown.
    """
    if unknown := sorted(set(keys) - {kind.key for kind in KINDS}):
        raise UserError(
            f"--kind: unknown: {', '.join(unknown[:5])}. Choose from {', '.join(kind.key for kind in KINDS)}."
        )
    return [kind for kind in KINDS if not keys or kind.key in keys]


def render_results(results: Sequence[StudyResult]) -> str:
    """Render the results as two Markdown tables: coverage of the intervals, and calibration of the posteriors."""
    by_kind = group_by(results, lambda row: row.kind)
    kinds = [(kind, by_kind[kind.key]) for kind in KINDS if kind.key in by_kind]
    lines = [
        "| kind | studies | interval contains the truth | truth is above it | mean width | mean true error "
        "| mean stated error | no wrong UQ | error unknown |",
        "|" + "---|" * 9,
    ]
    for kind, rows in kinds:
        known = [row for row in rows if row.label_error.value is not None]
        above = sum(row.true_error > (row.label_error.high or 0.0) for row in known)
        width, stated = (
            f"{np.mean(values):.1%}" if values else "-"
            for values in (
                [(row.label_error.high or 0.0) - (row.label_error.low or 0.0) for row in known],
                [row.label_error.value or 0.0 for row in known],
            )
        )
        cells = [
            f"{kind.description} (`{kind.key}`, {kind.num_tasks:,} tasks)",
            f"{len(rows):,}",
            _render_rate(sum(row.is_covered for row in rows), len(known)),
            f"{above / len(known):.1%}" if known else "-",
            width,
            f"{np.mean([row.true_error for row in rows]):.2%}",
            stated,
            f"{np.mean([row.true_error == 0 for row in rows]):.0%}",
            f"{1 - len(known) / len(rows):.1%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    reasons = group_by(
        [row for row in results if row.label_error.unknown_because],
        lambda row: row.label_error.unknown_because,
    )
    lines += [f"\nUnknown in {len(rows):,}: {reason}." for reason, rows in sorted(reasons.items())]
    ways = [(kind.key, pool_bins(rows)) for kind, rows in kinds]
    if len(ways) > 1:
        ways.append(("all", pool_bins(results)))
    lines += [
        "\nMean posterior / proportion of unanswerable candidates (number of candidates):\n",
        f"| posterior of invalid | {' | '.join(name for name, _ in ways)} |",
        "|" + "---|" * (len(ways) + 1),
    ]
    for number, (low, high) in enumerate(pairwise(BIN_ENDS)):
        cells = [_render_bin(bins[number]) for _, bins in ways]
        lines.append(f"| {low:.2f} to {high:.2f} | {' | '.join(cells)} |")
    largest = [find_max_deviation(bins) for _, bins in ways]
    cells = ["-" if value is None else f"{100 * value:+.1f} points" for value in largest]
    lines.append(f"| largest deviation, at least {MIN_IN_BIN} candidates | {' | '.join(cells)} |")
    return "\n".join(lines)


def _render_rate(count: int, total: int) -> str:
    if not total:
        return "-"
    low, high = wilson_interval(count, total)
    return f"{count / total:.1%} ({low:.1%} to {high:.1%})"


def _render_bin(row: CalibrationBin) -> str:
    if not row.count:
        return ""
    return f"{row.sum_invalid / row.count:.2f} / {row.num_invalid / row.count:.2f} ({row.count:,})"


def run_coverage_study(keys: Collection[str], num_studies: int, first_seed: int, out: Path | None) -> str:
    """Return the results for the current data set as Markdown tables.

    Args:
        keys: Keys of the kinds of studies; empty for all.
        num_studies: Number of studies of each kind.
        first_seed: Seed of the first study of each kind. The others have the next seeds.
        out: A .json file for the results of all studies.

    Raises:
        UserError: A kind is unknown, or there are no tasks.
    """
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    if out and out.suffix != ".json":
        raise UserError(f"--out {out}: the study of coverage writes a .json file only.")
    kinds = choose_kinds(keys)
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    ways = [(kind, seed) for kind in kinds for seed in range(first_seed, first_seed + num_studies)]
    results = list[StudyResult]()
    for kind, seed in track(ways, "study", unit="study"):
        results.append(measure_study(simulate_audited_study(tasks, kind, seed), kind.key, seed))
    if out:
        write_json(out, results)
    return render_results(results)
