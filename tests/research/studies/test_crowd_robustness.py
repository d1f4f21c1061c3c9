"""Careless and hostile crowds on a small truth: 300 candidates in four subsets, 80 % of them unanswerable."""

from pipeline.core.records import (
    SUBSETS,
    Candidate,
    ScreenedCandidate,
    Task,
    TaskQuestion,
    VerifierResult,
)
from research.studies.crowd_robustness import CrowdData

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
