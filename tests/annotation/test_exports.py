import json

import pytest

from annotation.exports import pseudonym, read_exports
from pipeline.core.errors import UserError
from pipeline.core.records import Task, TaskQuestion

TASKS = {
    key: Task(
        task_id=key, picture_id="n1", subset="clip-hard",
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=key),
        second=TaskQuestion(key="2", text="filter", role="filter", expected="valid"))
    for key in ("t1", "t2", "t3")
}  # fmt: skip


def chosen(name, choice):
    return {
        "id": "x",
        "type": "choices",
        "from_name": name,
        "to_name": "image",
        "origin": "manual",
        "value": {"choices": [choice]},
    }


def annotation(number, person, first="valid", second="invalid", **more):
    """An annotation as Label Studio 1.23 exports it, with what it writes beside what we read."""
    return {
        "id": number, "completed_by": person, "result": [chosen("first", first), chosen("second", second)], "was_cancelled": False,
        "ground_truth": False, "created_at": f"2025-01-01T00:00:{number:02}Z", "updated_at": f"2025-01-01T00:00:{number:02}Z",
        "draft_created_at": None, "lead_time": 3.5, "prediction": {}, "unique_id": "u", "import_id": None, "last_action": None,
        "task": 5, "project": 1, "updated_by": person if isinstance(person, int) else None} | more  # fmt: skip


def exported(key, *annotations):
    return {
        "id": 5, "annotations": list(annotations), "file_upload": "x.json", "drafts": [], "predictions": [], "meta": {},
        "data": {"task": key, "image": "/data/local-files/?d=x.jpg", "first": "a", "second": "b"}, "inner_id": 1,
        "total_annotations": len(annotations), "cancelled_annotations": 0}  # fmt: skip


def read(tmp_path, *files):
    paths = []
    for number, content in enumerate(files):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content))
    return read_exports(paths, TASKS)


def test_an_annotation_becomes_a_verdict_under_a_pseudonym(tmp_path):
    result = [
        chosen("second_reason", "missing object"),
        chosen("second", "invalid"),
        chosen("first", "valid"),
    ]
    (verdict,), counts = read(tmp_path, [exported("t1", annotation(1, 3, result=result))])
    assert (verdict.task_id, verdict.first, verdict.second, verdict.second_reason) == (
        "t1",
        "valid",
        "invalid",
        "missing object",
    )
    assert (verdict.annotator, verdict.seconds, verdict.simulated) == (pseudonym(3), 3.5, False)
    assert counts == {"complete": 1}


def test_a_person_is_the_same_whether_told_by_number_or_object_and_the_address_is_not_kept(tmp_path):
    person = {"id": 3, "email": "anna@example.org", "first_name": "Anna", "last_name": "A"}
    verdicts, _ = read(tmp_path, [exported("t1", annotation(1, 3)), exported("t2", annotation(2, person))])
    assert {v.annotator for v in verdicts} == {pseudonym(3)}
    (verdict,), _ = read(tmp_path, [exported("t1", annotation(1, {"email": "anna@example.org"}))])
    assert "anna" not in repr(verdict)
    assert verdict.annotator.startswith("annotator-")


def test_the_place_in_which_a_person_answered_follows_the_time_not_the_file(tmp_path):
    rows = [
        exported("t1", annotation(9, 1), annotation(2, 2)),
        exported("t2", annotation(3, 1)),
        exported("t3", annotation(5, 1)),
    ]
    verdicts, _ = read(tmp_path, rows)
    assert {v.task_id: v.order for v in verdicts if v.annotator == pseudonym(1)} == {
        "t2": 0,
        "t3": 1,
        "t1": 2,
    }
    assert [v.order for v in verdicts if v.annotator == pseudonym(2)] == [0]


def test_skipped_empty_and_incomplete_annotations_are_no_verdicts_and_are_counted(tmp_path):
    rows = [
        exported(
            "t1",
            annotation(1, 1, was_cancelled=True),
            annotation(2, 2, result=[]),
            annotation(3, 3, was_cancelled=None),
        ),
        exported("t2", annotation(4, 1, result=[chosen("first", "valid")])),
        exported("other", annotation(5, 1)),
        exported("t3"),
    ]
    verdicts, counts = read(tmp_path, rows)
    assert [(v.task_id, v.annotator) for v in verdicts] == [("t1", pseudonym(3))]
    assert counts == {"complete": 1, "empty": 1, "incomplete": 1, "of another batch": 1, "skipped": 1}


def test_of_a_task_judged_twice_by_one_person_the_last_verdict_counts(tmp_path):
    first = [exported("t1", annotation(1, 1, first="valid"))]
    second = [exported("t1", annotation(1, 1, first="valid"), annotation(7, 1, first="invalid"))]
    verdicts, counts = read(tmp_path, second, first)
    assert [v.first for v in verdicts] == ["invalid"]
    assert counts == {"complete": 1, "replaced by a later one": 2}


def test_the_order_of_the_files_does_not_matter(tmp_path):
    a, b = (
        [exported("t1", annotation(1, 1))],
        [exported("t2", annotation(2, 2)), exported("t1", annotation(3, 2))],
    )
    assert read(tmp_path, a, b) == read(tmp_path, b, a)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "[{",
            "not valid JSON (Input data was truncated); the file may be cut off, fetch it again or make it again",
        ),
        ("", "the file is empty"),
        (
            [{"task": "t1", "image": "x", "first": "valid"}],
            "Object missing required field `data`",
        ),  # JSON_MIN
        ({"data": {}}, "Expected `array`, got `object`"),
        (
            [exported("t1", annotation(1, 1, first="maybe"))],
            "annotation 1: choices {'first': 'maybe', 'second': 'invalid'}",
        ),
        (
            [exported("old", annotation(1, 1))],
            "all exports: none of their 1 annotations is of a task of this batch",
        ),
    ],
)
def test_a_file_that_is_no_export_of_this_batch_is_refused(tmp_path, content, message):
    with pytest.raises(UserError) as caught:
        read(tmp_path, content)
    assert caught.value.problems[0] == "annotation exports: 1 problem"
    assert message.split(", fetch")[0] in caught.value.problems[1]


def test_all_damaged_files_are_told_at_once(tmp_path):
    with pytest.raises(UserError) as caught:
        read(tmp_path, "[{", "", [exported("t1", annotation(1, 1))])
    assert len(caught.value.problems) == 3


def test_no_files_are_no_verdicts(tmp_path):
    assert read(tmp_path) == ([], {})
