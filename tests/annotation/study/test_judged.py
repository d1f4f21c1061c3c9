import pytest

from annotation.study.judged import answers_of, judged_task, judged_tasks
from pipeline.core.records import Task, TaskQuestion, Verdict

CANDIDATE = TaskQuestion(key="1", text="candidate", role="candidate", candidate_id="c")
FILTER = TaskQuestion(key="2", text="filter", role="filter", expected="valid")


def task(*questions):
    return Task(task_id="t", picture_id="n1", subset="pt-easy", first=questions[0], second=questions[1])


def verdict(first, second):
    return Verdict(
        verdict_id="v",
        task_id="t",
        annotator="x",
        first=first,
        second=second,
        first_reason="1st",
        second_reason="2nd",
    )


def test_candidate_and_filter_are_told_apart_in_either_order():
    one = judged_task(task(CANDIDATE, FILTER), verdict("invalid", "unsure"))
    other = judged_task(task(FILTER, CANDIDATE), verdict("unsure", "invalid"))
    for row, reason in ((one, "1st"), (other, "2nd")):
        assert (row.candidate.question, row.candidate.choice, row.candidate.reason) == (
            CANDIDATE,
            "invalid",
            reason,
        )
        assert (row.filter.question, row.filter.choice) == (FILTER, "unsure")
        assert (row.candidate_id, row.filter_key) == ("c", ("n1", "filter"))


@pytest.mark.parametrize(
    ("choice", "counts_as", "as_expected"),
    [("valid", "valid", True), ("unsure", "valid", True), ("invalid", "invalid", False)],
)
def test_unsure_counts_as_valid(choice, counts_as, as_expected):
    first, second = answers_of(task(FILTER, CANDIDATE), verdict(choice, "valid"))
    assert (first.verdict, first.as_expected) == (counts_as, as_expected)
    assert second.question is CANDIDATE


def test_verdicts_keep_their_order():
    tasks = {"t": task(CANDIDATE, FILTER)}
    verdicts = [verdict("valid", "valid"), verdict("invalid", "valid")]
    assert [row.verdict for row in judged_tasks(tasks, verdicts)] == verdicts
