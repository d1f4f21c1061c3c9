from annotation.study.accuracy import Accuracy
from annotation.study.collect_rules import CollectRules
from annotation.study.habits import Flag, habits
from annotation.study.judged import judged_tasks
from annotation.study.weighing import exclusions, set_aside, weigh
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
    rows = set_aside(judged_tasks(tasks, verdicts), {"z": ["accuracy: 1 of 9", "speed: 8 of 9"]}, set())
    assert {(row.verdict_id, row.reason, row.detail) for row in rows} == {
        ("ay", "filter failed", "said invalid, valid was expected"),
        ("az", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
        ("bx", "filter failed", "said unsure, invalid was expected"),
        ("bz", "annotator excluded", "accuracy: 1 of 9; speed: 8 of 9"),
    }
    assert (
        set_aside(judged_tasks(tasks, verdicts), {}, {("n1", "filter")}) == []
    )  # a refuted filter fails nobody


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
        "bad": Accuracy(right=15, answered=20, low=0.5, high=0.9),  # three of four
        "good": Accuracy(right=16, answered=20, low=0.6, high=0.9),
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
    assert weighed.aside_ids == {"ay"}
    assert [row.verdict.verdict_id for row in weighed.counted] == ["ax", "bx"]
    assert (weighed.excluded, weighed.refuted) == ({}, set())
