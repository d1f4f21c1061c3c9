from math import isnan

import pytest
from scipy.stats import binomtest

from annotation.study.accuracy import Accuracy, accuracies, inaccurate, refuted, wilson
from annotation.study.judged import judged_tasks
from pipeline.core.records import Task, TaskQuestion, Verdict


def task(task_id, expected="valid", text="filter"):
    return Task(
        task_id=task_id,
        picture_id="n1",
        subset="clip-hard",
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=task_id),
        second=TaskQuestion(key="2", text=text, role="filter", expected=expected),
    )


def verdict(task_id, annotator, candidate, filter_choice):
    return Verdict(
        verdict_id=task_id + annotator,
        task_id=task_id,
        annotator=annotator,
        first=candidate,
        second=filter_choice,
    )


@pytest.mark.parametrize(("right", "total"), [(0, 1), (1, 1), (5, 10), (8, 10), (99, 100), (1200, 1234)])
def test_wilson_agrees_with_scipy(right, total):
    expected = binomtest(right, total).proportion_ci(method="wilson")
    assert wilson(right, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_nothing_answered_has_no_interval():
    assert all(isnan(bound) for bound in wilson(0, 0))


def test_accuracy_counts_filters_alone_and_unsure_as_valid():
    tasks = {t.task_id: t for t in (task("a"), task("b", "invalid"), task("c"), task("d", "invalid"))}
    verdicts = [
        verdict("a", "ann", "invalid", "valid"),  # right
        verdict("b", "ann", "valid", "valid"),  # wrong
        verdict("c", "ann", "valid", "unsure"),  # right: valid was expected
        verdict("d", "ann", "valid", "unsure"),  # wrong: invalid was expected
    ]
    found = accuracies(judged_tasks(tasks, verdicts), set())["ann"]
    assert (found.right, found.answered, found.share) == (2, 4, 0.5)


def test_a_filter_that_nearly_all_contradict_is_itself_wrong_and_nobody_is_blamed():
    tasks = {"a": task("a", text="disputed"), "b": task("b", text="sound")}
    verdicts = [
        verdict("a", who, "valid", choice) for who, choice in zip("xyz", ("invalid",) * 3, strict=True)
    ]
    verdicts += [
        verdict("b", who, "valid", choice)
        for who, choice in zip("xyz", ("valid", "invalid", "invalid"), strict=True)
    ]
    judged = judged_tasks(tasks, verdicts)
    wrong = refuted(judged)
    assert wrong == {("n1", "disputed")}
    assert {who: (row.right, row.answered) for who, row in accuracies(judged, wrong).items()} == {
        "x": (1, 1),
        "y": (0, 1),
        "z": (0, 1),
    }


def test_two_annotators_alone_cannot_refute_a_filter():
    tasks = {"a": task("a")}
    assert refuted(judged_tasks(tasks, [verdict("a", who, "valid", "invalid") for who in "xy"])) == set()


def test_the_careless_are_excluded_once_they_have_answered_enough():
    found = {
        "careful": Accuracy(right=19, answered=20, low=0, high=1),
        "at the limit": Accuracy(right=16, answered=20, low=0, high=1),
        "careless": Accuracy(right=15, answered=20, low=0, high=1),
        "new": Accuracy(right=0, answered=19, low=0, high=1),
    }
    assert inaccurate(found, least=0.8, fewest=20) == {"careless"}
