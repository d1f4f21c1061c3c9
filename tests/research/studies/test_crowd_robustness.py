"""Careless and hostile crowds on a small truth: 300 candidates in four subsets, 80 % of them unanswerable."""

import json

import numpy as np
import pytest

from annotation.study.answers_table import QualityRules, build_answers_table, select_votes
from annotation.study.assignment import AssignmentRules
from annotation.study.posteriors import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import verify_candidates
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    ScreenedCandidate,
    Task,
    TaskQuestion,
    VerifierResult,
)
from research.studies.crowd_robustness import CrowdData, choose_crowds, simulate_fixed_votes
from research.studies.votes_needed import compute_errors

COUNT = 300
# Other crowds than those of `TUNING_SEEDS`.
SEED = 5


def make_task(number):
    asked = TaskQuestion(key="a", text=f"candidate {number}", role="candidate", candidate_id=f"c{number}")
    gold = TaskQuestion(
        key="b",
        text=f"gold question {number}",
        role="gold",
        expected_choice=("valid", "invalid")[number // 4 % 2],
        gold_source="own question",
    )
    return Task(
        task_id=f"t{number}", image_id=f"n{number // 6}", subset=SUBSETS[number % 4], first=asked, second=gold
    )


TASKS = {task.task_id: task for task in map(make_task, range(COUNT))}
DATA = CrowdData(
    TASKS,
    {
        f"c{n}": ScreenedCandidate(
            candidate=Candidate(
                candidate_id=f"c{n}",
                subset=SUBSETS[n % 4],
                image_id=f"n{n // 6}",
                question_id="q",
                text=f"candidate {n}",
            ),
            verifier_result=VerifierResult(answerability="unknown"),
        )
        for n in range(COUNT)
    },
    {f"c{n}": 0.2 for n in range(COUNT)},
    {f"c{n}": "" if n % 5 == 0 else "missing object" for n in range(COUNT)},
)


def get_crowd(key, seed=SEED):
    (crowd,) = choose_crowds(seed, [key])
    return crowd


def find_errors(verdicts, find):
    """Return the proportions of wrong and of lost UQs for a function that returns the released candidates."""
    judged = assess_quality(build_answers_table(TASKS, verdicts), QualityRules()).answers
    wrong, lost, _ = compute_errors(find(judged), DATA.truth)
    return wrong, lost


def by_model(judged):
    estimated, judged = estimate_posteriors(judged, DATA.answerable)
    invalid = {row.candidate_id: row.invalid for row in estimated.posteriors}
    verified = verify_candidates(DATA.screened, judged, QualityRules(), invalid)
    return {row.candidate.candidate_id for row in verified if row.status == "unanswerable"}


def by_majority(judged):
    votes = select_votes(judged)
    rate = (votes["choice"] == "invalid").groupby(votes["candidate_id"], observed=True).mean()
    return set(rate.index[rate > 0.5])


def by_dawid_skene(judged):
    """The model of 1979, with the class prior and a confusion matrix of each annotator, learned from the votes alone."""
    votes = select_votes(judged)
    item, keys = votes["candidate_id"].astype(str).factorize()
    person, names = votes["annotator"].astype(str).factorize()
    said = (votes["choice"] == "invalid").to_numpy()
    invalid = np.bincount(item, said, len(keys)) / np.bincount(item)
    for _ in range(100):
        likelihood = []
        for weight in (invalid, 1 - invalid):
            total = np.bincount(person, weight[item], len(names)) + 0.02
            rate = (np.bincount(person, weight[item] * said, len(names)) + 0.01) / total
            logs = np.log(np.where(said, rate[person], 1 - rate[person]))
            likelihood.append(np.log(weight.mean()) + np.bincount(item, logs, len(keys)))
        invalid = 1 / (1 + np.exp(np.clip(likelihood[1] - likelihood[0], -50, 50)))
    return set(keys[invalid > 0.5])


@pytest.mark.parametrize(
    ("key", "num_votes", "other"),
    [
        ("valid-minority", 8, by_majority),
        ("five-accounts", 10, by_majority),
        ("five-accounts", 10, by_dawid_skene),
        ("hard", 5, by_majority),
    ],
)
def test_less_is_lost_than_by(key, num_votes, other):
    verdicts = simulate_fixed_votes(DATA, get_crowd(key), SEED, num_votes)
    wrong, lost = find_errors(verdicts, by_model)
    # At most 1 wrong UQ, and 12 of 240 lost.
    assert wrong <= 0.005 and lost <= 0.05
    assert find_errors(verdicts, other)[1] > 0.05
