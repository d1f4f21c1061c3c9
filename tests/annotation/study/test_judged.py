import msgspec
import pytest

from annotation.study.judged import CollectRules, as_expected, by_subset, counted, judged_task, judged_tasks
from pipeline.core.errors import UserError
from pipeline.core.params import convert
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
        assert (row["candidate_id"], row["choice"], row["why"]) == ("c", "invalid", reason)
        assert (row["picture_id"], row["text"], row["filter_choice"]) == ("n1", "filter", "unsure")


@pytest.mark.parametrize(
    ("choice", "expected", "right"),
    [
        ("valid", "valid", True),
        ("unsure", "valid", True),
        ("invalid", "valid", False),
        ("valid", "invalid", False),
        ("unsure", "invalid", False),
        ("invalid", "invalid", True),
    ],
)
def test_unsure_counts_as_valid(choice, expected, right):
    known = TaskQuestion(key="2", text="filter", role="filter", expected=expected)
    assert as_expected(known, choice) is right
    assert judged_task(task(known, CANDIDATE), verdict(choice, "valid"))["passed"] is right


def test_verdicts_keep_their_order_and_times_that_are_not_known_are_nan():
    tasks = {"t": task(CANDIDATE, FILTER)}
    verdicts = [verdict("valid", "valid"), msgspec.structs.replace(verdict("invalid", "valid"), seconds=3.5)]
    judged = judged_tasks(tasks, verdicts)
    assert judged["choice"].tolist() == ["valid", "invalid"]
    assert judged["seconds"].isna().tolist() == [True, False]
    assert judged["gap"].isna().all()


def test_until_they_are_weighed_all_verdicts_count():
    judged = judged_tasks({"t": task(CANDIDATE, FILTER)}, [verdict("valid", "valid")] * 2)
    assert len(counted(judged)) == 2
    judged.loc[0, "aside"] = "filter failed"
    assert len(counted(judged)) == 1
    assert {subset: len(rows) for subset, rows in by_subset(judged).items()} == {"pt-easy": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_votes": 0},
        {"rule": "most"},
        {"min_posterior": 0.5},  # would call the same candidate answerable and unanswerable
        {"min_filter_accuracy": 80},
        {"min_filter_answers": 0},
        {"excluding": ["pace"]},
        {"fast_seconds": -1},
        {"flag_level": 0},
        {"min_vote": 2},
    ],
)
def test_a_rule_out_of_range_or_unknown_is_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        convert(wrong, CollectRules, "collect")


def test_accuracy_alone_excludes_unless_more_is_asked_for():
    assert convert({}, CollectRules, "collect").excluding == ("accuracy",)
