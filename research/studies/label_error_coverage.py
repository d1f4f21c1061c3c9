"""Measure whether the stated label error and the probabilities of stage `collect` can be relied on: `rgqa study coverage`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from annotation.study.assignment import AssignmentRules
from annotation.study.assignment_params import choose_study_sizes
from annotation.study.label_error import LabelError, measure_label_error
from annotation.study.posteriors import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import decide_by_votes
from pipeline.candidates.estimating.answerability import STATED_RATES
from pipeline.core.randomness import make_generator
from pipeline.core.records import Record, Task
from research.simulated_annotators.annotators import SimulatedAnnotator
from research.studies.crowd_robustness import CrowdData, choose_crowds, simulate_audit, simulate_study
from research.studies.votes_needed import draw_truth, find_subsets, sample_tasks

# Lowest and highest proportion of answerable candidates in a study.
ANSWERABLE_RATES = (0.03, 0.4)
# Highest rates at which an adjudicator misses unanswerable questions and calls answerable ones invalid.
ADJUDICATOR_RATES = (0.04, 0.02)


class StudyKind(NamedTuple):
    key: str
    description: str
    crowd: str
    num_tasks: int
    is_hard_for_adjudicator: bool = True


KINDS = (
    StudyKind("honest-small", "5 honest people, a small study", "honest", 300),
    StudyKind("honest-large", "5 honest people, a full study", "honest", 2000),
    StudyKind("misreading", "5 people who misread the same 20 % of the answerable candidates", "shared-misreading", 600),
    StudyKind("hard", "15 % of the unanswerable candidates are hard for people", "hard", 600, False),
    StudyKind("hard-for-all", "the same, and the adjudicator errs on half of the hard ones, too", "hard", 600),
    StudyKind("no-majority", "2 honest people, 5 who say invalid without looking", "invalid-majority", 600),
)


class AuditedStudy(NamedTuple):
    truth: dict[str, str]
    status_by_votes: dict[str, str]
    adjudicated: dict[str, bool]
    audited: list[str]
    gold_counts: tuple[int, int, int, int]
    invalid: dict[str, float]


def simulate_audited_study(tasks: Mapping[str, Task], kind: StudyKind, seed: int) -> AuditedStudy:
    rng = make_generator(seed, "coverage", kind.key)
    low, high = logit(ANSWERABLE_RATES)
    answerable = float(expit(rng.uniform(low, high)))
    adjudicator = SimulatedAnnotator(
        "adjudicator-simulated", rng.uniform(0, ADJUDICATOR_RATES[0]), rng.uniform(0, ADJUDICATOR_RATES[1]), 0.0
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
        {row.candidate_id: row.invalid for row in estimated.posteriors if row.candidate_id not in adjudicated},
    )
