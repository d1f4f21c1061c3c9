"""Made-up tasks and verdicts, and a quality report of four people on fourteen tasks."""

import msgspec
import pytest
from msgspec.structs import replace

from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.label_error import LabelError
from annotation.study.posteriors import NO_ESTIMATES
from annotation.study.quality_control import assess_quality
from annotation.study.quality_report import build_report
from annotation.study.vote_aggregation import verify_candidates
from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Candidate, ScreenedCandidate, Task, TaskQuestion, Verdict, VerifierResult
from tests.annotation.study.export_files import TASKS

V, X, U = "valid", "invalid", "unsure"
RULES = QualityRules(aggregation="majority")


def task(key, expected=V, text="gold question", subset="clip-hard", source="own question", image=None):
    """Return a task on image n<key>: first candidate c<key>, then a gold question."""
    known = TaskQuestion(
        key="2", text=text, role="gold", expected_choice=expected, gold_source=source, question_id=f"q{key}"
    )
    asked = TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=f"c{key}")
    return Task(task_id=key, image_id=image or f"n{key}", subset=subset, first=asked, second=known)


def repeating(key, again, **more):
    """Return the same task with a repeat of candidate c<again> instead of the gold question."""
    repeat = TaskQuestion(key="2", text="again", role="repeat", candidate_id=f"c{again}")
    return msgspec.structs.replace(task(key, **more), second=repeat)


def verdict(key, who, candidate, known, order=0, **more):
    return Verdict(
        verdict_id=key + who,
        task_id=key,
        annotator=who,
        first=candidate,
        second=known,
        sequence_index=order,
        **more,
    )


def screened(key, subset="clip-hard"):
    candidate = Candidate(
        candidate_id=f"c{key}", subset=subset, image_id=f"n{key}", question_id="q", text=f"candidate {key}"
    )
    return ScreenedCandidate(candidate=candidate, verifier_result=VerifierResult(answerability="unknown"))


def candidates(keys):
    """Screened candidates c<key> by id, in the order of the keys."""
    return {f"c{key}": screened(key) for key in keys}


def crowd(people, count, candidate=lambda n: X, **more):
    """Return `count` tasks with alternating valid and invalid gold questions, and the answers of all people in this order.

    Args:
        people: Name -> function of the task number and the expected choice that returns the answer to the gold question.
        count: Number of tasks.
        candidate: Function of the task number that returns the answer to the candidate.
    """
    tasks = {f"{n:04}": task(f"{n:04}", (V, X)[n % 2]) for n in range(count)}
    verdicts = [
        verdict(key, who, candidate(n), says(n, tasks[key].second.expected_choice), n, **more)
        for who, says in people.items()
        for n, key in enumerate(tasks)
    ]
    return tasks, build_answers_table(tasks, verdicts)


def quality(ann="ann", text="gold question", simulated=False, seconds=None):
    """Return the report of four annotators on fourteen tasks, a to n. All call the first two candidates invalid. ann, ben and dan
    contradict the gold question of c, which is discarded. ben also fails that of b. cem fails all of them and is excluded."""
    keys = "abcdefghijklmn"
    tasks = {key: task(key, (V, X)[n % 2], text) for n, key in enumerate(keys)}
    verdicts = []
    for who in (ann, "ben", "cem", "dan"):
        for n, key in enumerate(keys):
            expected = tasks[key].second.expected_choice
            wrong = who == "cem" or key == "c" or (who, key) == ("ben", "b")
            known = {V: X, X: V}[expected] if wrong else expected
            said = X if key in "ab" else V
            verdicts.append(verdict(key, who, said, known, n, duration_seconds=seconds, simulated=simulated))
    assessment = assess_quality(build_answers_table(tasks, verdicts), RULES)
    verified = list(verify_candidates(candidates(keys), assessment.answers, RULES))
    return build_report(
        assessment,
        verified,
        NO_ESTIMATES,
        LabelError(),
        msgspec.structs.asdict(RULES),
        {f"c{key}" for key in keys},
    )


@pytest.fixture
def batched(tiny, tmp_path):
    """A data set with the tasks t1, t2, t3; the path of its pulled.json."""
    folders = DatasetFolders()
    rows = [replace(TASKS[key], first=replace(TASKS[key].first, text="candidate")) for key in TASKS]
    write_jsonl(folders.record_file(Task), rows)
    return folders.annotations / "pulled.json"
