from collections import Counter
from itertools import permutations

import pytest

from annotation.study.qualification import Score, qualification, score
from pipeline.batching.tasks import shown
from pipeline.core.errors import UserError
from pipeline.core.records import Picture, Task, TaskQuestion, Verdict


def known(text, expected, source="own question"):
    return TaskQuestion(key=text, text=text, role="filter", expected=expected, source=source)


def task(picture, filter_, number=0):
    asked = TaskQuestion(
        key="c", text=f"candidate {picture} {number}", role="candidate", candidate_id=f"{picture}{number}"
    )
    return Task(
        task_id=f"{picture}-{filter_.text}", picture_id=picture, subset="pt-easy", first=asked, second=filter_
    )


def verdict(task_id, first, second, annotator="ann"):
    return Verdict(
        verdict_id=f"{annotator}{task_id}", task_id=task_id, annotator=annotator, first=first, second=second
    )


# Pictures a and b have both verdicts, c two valid ones, d a single question.
TASKS = [
    task("a", known("a yes", "valid")),
    task("a", known("a no", "invalid", "judged candidate")),
    task("a", known("a template", "invalid", "template")),
    task("b", known("b yes", "valid")),
    task("b", known("b no", "invalid", "foreign question")),
    task("c", known("c one", "valid")),
    task("c", known("c two", "valid")),
    task("d", known("d one", "valid")),
]


def test_both_questions_of_every_task_have_a_known_verdict_and_every_picture_serves_once():
    made = qualification(TASKS, 3, seed=1)
    assert Counter(row.picture_id for row in made) == {"a": 1, "b": 1, "c": 1}
    for row in made:
        assert row.first.role == row.second.role == "filter"
        assert row.first.text != row.second.text
        assert None not in (row.first.expected, row.second.expected)


def test_pictures_with_a_valid_and_an_invalid_question_come_before_others_and_templates_last():
    for seed in range(20):
        made = qualification(TASKS, 2, seed)
        assert {row.picture_id for row in made} == {"a", "b"}
        for row in made:
            assert {row.first.expected, row.second.expected} == {"valid", "invalid"}
            assert "template" not in (row.first.source, row.second.source)


def test_either_verdict_may_come_first_and_the_order_of_pictures_changes_with_the_seed():
    made = [qualification(TASKS, 2, seed) for seed in range(20)]
    assert {rows[0].picture_id for rows in made} == {"a", "b"}
    assert {row.first.expected for rows in made for row in rows} == {"valid", "invalid"}


def test_a_template_may_come_first_too_where_a_picture_has_nothing_else():
    rows = [task("e", known("e yes", "valid")), task("e", known("e template", "invalid", "template"))]
    assert {qualification(rows, 1, seed)[0].first.source for seed in range(20)} == {
        "own question",
        "template",
    }


def test_the_same_tasks_in_another_order_give_the_same_round():
    made = qualification(TASKS[:4], 1, seed=3)
    assert all(qualification(rows, 1, seed=3) == made for rows in permutations(TASKS[:4]))


def test_its_task_ids_are_none_of_the_real_tasks():
    assert not {row.task_id for row in qualification(TASKS, 3, 1)} & {row.task_id for row in TASKS}


def test_the_browser_receives_of_it_what_it_receives_of_any_task():
    picture = Picture(
        picture_id="a", split="testdev", path="data/sample/source/images/a.jpg", width=1, height=1, sha256=""
    )
    assert set(shown(qualification(TASKS, 3, 1)[0], picture)["data"]) == {"task", "image", "first", "second"}


def test_too_few_pictures_are_told_with_both_numbers():
    with pytest.raises(UserError, match="4 tasks wanted, but only 3 pictures"):
        qualification(TASKS, 4, seed=1)


def test_both_questions_count_and_unsure_counts_as_valid():
    made = qualification(TASKS, 2, seed=1)
    right = {"valid": "unsure", "invalid": "invalid"}
    given = [verdict(row.task_id, right[row.first.expected], right[row.second.expected]) for row in made]
    # ben calls everything valid: of the two questions of each task, one is valid
    given += [verdict(row.task_id, "valid", "valid", "ben") for row in made]
    given += [verdict("a real task", "invalid", "invalid"), verdict(made[0].task_id, "valid", "valid", "eve")]
    found = {who: score({row.task_id: row for row in made}, given, who) for who in ("ann", "ben", "eve")}
    assert found == {
        "ann": Score(right=4, answered=4, asked=4),
        "ben": Score(right=2, answered=4, asked=4),
        "eve": Score(right=1, answered=2, asked=4),
    }
    assert {who for who, row in found.items() if row.passed(0.8)} == {"ann"}
    assert {who for who, row in found.items() if row.passed(0.5)} == {
        "ann",
        "ben",
    }  # eve has not answered all


def test_who_has_not_begun_has_not_passed():
    nothing_yet = score({row.task_id: row for row in qualification(TASKS, 2, seed=1)}, [], "ann")
    assert nothing_yet == Score(right=0, answered=0, asked=4)
    assert not nothing_yet.passed(0.0)
