from math import isnan

import msgspec
import pytest
from scipy.stats import binomtest

from annotation.study.habits import Flag, habits
from annotation.study.judged import CollectRules, counted, judged_tasks
from annotation.study.weighing import Accuracy, accuracies, exclusions, set_aside, weigh, wilson
from pipeline.core.records import Task, TaskQuestion, Verdict

V, X, U = "valid", "invalid", "unsure"


def task(key, expected="valid", source="own question"):
    return Task(
        task_id=key,
        picture_id="n1",
        subset="clip-hard",
        first=TaskQuestion(
            key="1", text="filter", role="filter", expected=expected, source=source, question_id=f"q{key}"
        ),
        second=TaskQuestion(key="2", text="candidate", role="candidate", candidate_id=f"c{key}"),
    )


def verdict(key, who, filter_choice, candidate):
    return Verdict(verdict_id=key + who, task_id=key, annotator=who, first=filter_choice, second=candidate)


def test_verdicts_of_excluded_annotators_and_with_failed_filters_are_set_aside_with_the_reason():
    tasks = {"a": task("a"), "b": task("b", "invalid")}
    verdicts = [
        verdict("a", "x", V, X),
        verdict("a", "y", X, X),
        verdict("a", "z", V, X),
        verdict("b", "x", U, X),
        verdict("b", "z", V, X),
    ]
    judged = judged_tasks(tasks, verdicts)
    rows = set_aside(judged, {"z": ["accuracy: 1 of 9", "speed: 8 of 9"]})
    assert set(zip(rows["verdict_id"], rows["aside"], rows["detail"], strict=True)) == {
        ("ax", "", ""),
        ("ay", "filter failed", "said invalid, valid was expected"),
        ("az", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
        ("bx", "filter failed", "said unsure, invalid was expected"),
        ("bz", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
    }
    refuted = set_aside(judged.assign(refuted=True), {})
    assert set(refuted["aside"]) == {""}  # a refuted filter fails nobody


def test_who_fails_what_excludes_is_out_with_every_reason_and_other_flags_exclude_nobody():
    tasks = {f"{n}": task(f"{n}") for n in range(20)}
    verdicts = [verdict(key, who, X, V) for key in tasks for who in ("bad", "good")]
    found = habits(judged_tasks(tasks, verdicts), CollectRules())
    fast = Flag(kind="speed", detail="9 of 9")
    how = {
        name: type(row)(**{f: getattr(row, f) for f in row.__struct_fields__} | {"flags": (fast,)})
        for name, row in found.items()
    }
    accuracy = {
        "bad": Accuracy(right=15, filters=20, accuracy=0.75, low=0.5, high=0.9),
        "good": Accuracy(right=16, filters=20, accuracy=0.8, low=0.6, high=0.9),
    }
    reason = "accuracy: 15 of 20 filter questions (75.0%), below 80%"
    assert exclusions(accuracy, how, CollectRules()) == {"bad": [reason]}
    both = CollectRules(excluding=("accuracy", "speed"))
    assert exclusions(accuracy, how, both) == {"bad": [reason, "speed: 9 of 9"], "good": ["speed: 9 of 9"]}
    assert exclusions(accuracy, how, CollectRules(excluding=())) == {}


def test_what_is_left_counts():
    tasks = {key: task(key) for key in "ab"}
    verdicts = [verdict("a", "x", V, X), verdict("a", "y", X, X), verdict("b", "x", V, X)]
    weighed = weigh(judged_tasks(tasks, verdicts), CollectRules())
    assert [(row.verdict_id, row.task_id, row.annotator, row.reason) for row in weighed.aside] == [
        ("ay", "a", "y", "filter failed")
    ]
    assert counted(weighed.judged)["verdict_id"].tolist() == ["ax", "bx"]
    assert weighed.excluded == {} and not weighed.judged["refuted"].any()


@pytest.mark.parametrize(("right", "total"), [(0, 1), (1, 1), (5, 10), (8, 10), (99, 100), (1200, 1234)])
def test_wilson_agrees_with_scipy(right, total):
    expected = binomtest(right, total).proportion_ci(method="wilson")
    assert wilson(right, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_nothing_answered_has_no_interval():
    assert all(isnan(bound) for bound in wilson(0, 0))


def told(name, expected=V, text="filter"):
    """A task with such a filter question."""
    row = task(name, expected)
    return msgspec.structs.replace(row, first=msgspec.structs.replace(row.first, text=text))


def test_accuracy_counts_filters_alone_and_unsure_as_valid():
    tasks = {t.task_id: t for t in (told("a"), told("b", X), told("c"), told("d", X))}
    verdicts = [
        verdict("a", "ann", V, X),  # right
        verdict("b", "ann", V, V),  # wrong
        verdict("c", "ann", U, V),  # right: valid was expected
        verdict("d", "ann", U, V),  # wrong: invalid was expected
    ]
    found = accuracies(judged_tasks(tasks, verdicts))["ann"]
    assert (found.right, found.filters, found.accuracy) == (2, 4, 0.5)
    assert (found.low, found.high) == wilson(2, 4)


def test_a_filter_that_nearly_all_contradict_is_itself_wrong_and_nobody_is_blamed():
    tasks = {"a": told("a", text="disputed"), "b": told("b", text="sound")}
    verdicts = [verdict("a", who, X, V) for who in "wxyz"]
    verdicts += [verdict("b", who, choice, V) for who, choice in zip("xyz", (V, X, X), strict=True)]
    judged = judged_tasks(tasks, verdicts)
    assert set(judged[judged["refuted"]]["text"]) == {"disputed"}
    assert set(judged[~judged["refuted"]]["text"]) == {"sound"}
    found = accuracies(judged)
    assert {who: (row.right, row.filters) for who, row in found.items()} == {
        "w": (0, 0),
        "x": (1, 1),
        "y": (0, 1),
        "z": (0, 1),
    }
    assert isnan(found["w"].accuracy) and isnan(found["w"].low)


def test_two_annotators_alone_cannot_refute_a_filter():
    judged = judged_tasks({"a": told("a")}, [verdict("a", who, X, V) for who in "xy"])
    assert not judged["refuted"].any()


def test_the_careless_are_excluded_once_they_have_answered_enough():
    tasks = {f"{n:02}": told(f"{n:02}", text=f"{n}") for n in range(20)}
    right = {"careful": 19, "at the limit": 16, "careless": 15, "new": 0}
    verdicts = [
        verdict(key, who, V if n < count else X, V)
        for who, count in right.items()
        for n, key in enumerate(tasks)
        if who != "new" or n < 19
    ]
    judged = judged_tasks(tasks, verdicts).assign(refuted=False)
    found = exclusions(accuracies(judged), habits(judged, CollectRules()), CollectRules())
    assert found == {"careless": ["accuracy: 15 of 20 filter questions (75.0%), below 80%"]}
