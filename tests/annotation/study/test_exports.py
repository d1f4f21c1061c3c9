import json

import msgspec
import pytest

from annotation.study.exports import ExportedTask, pseudonym, read_exports, verdicts_of
from pipeline.core.errors import UserError
from pipeline.core.records import Task, TaskQuestion

TASKS = {
    key: Task(
        task_id=key,
        picture_id="n1",
        subset="clip-hard",
        first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=key),
        second=TaskQuestion(key="2", text="filter", role="filter", expected="valid"),
    )
    for key in ("t1", "t2", "t3")
}


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
        "id": number,
        "completed_by": person,
        "result": [chosen("first", first), chosen("second", second)],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": f"2025-01-01T00:00:{number:02}Z",
        "updated_at": f"2025-01-01T00:00:{number:02}Z",
        "draft_created_at": None,
        "lead_time": 3.5,
        "prediction": {},
        "unique_id": "u",
        "import_id": None,
        "last_action": None,
        "task": 5,
        "project": 1,
        "updated_by": person if isinstance(person, int) else None,
    } | more


def exported(key, *annotations):
    return {
        "id": 5,
        "annotations": list(annotations),
        "file_upload": "x.json",
        "drafts": [],
        "predictions": [],
        "meta": {},
        "data": {"task": key, "image": "/data/local-files/?d=x.jpg", "first": "a", "second": "b"},
        "inner_id": 1,
        "total_annotations": len(annotations),
        "cancelled_annotations": 0,
    }


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
    assert counts == {"complete": 1, "replaced by a later one": 1, "seen more than once": 1}


def test_the_order_of_the_files_does_not_matter(tmp_path):
    a, b = (
        [exported("t1", annotation(1, 1))],
        [exported("t2", annotation(2, 2)), exported("t1", annotation(3, 2))],
    )
    assert read(tmp_path, a, b) == read(tmp_path, b, a)


def minimal(key, number, person, first="valid", second="invalid", **more):
    """A row of the format JSON_MIN of version 1.23."""
    when = f"2025-01-01T00:00:{number:02}Z"
    return {
        "task": key,
        "image": "/data/local-files/?d=x.jpg",
        "first": first,
        "second": second,
        "id": 5,
        "annotator": person,
        "annotation_id": number,
        "created_at": when,
        "updated_at": when,
        "lead_time": 3.5,
    } | more


def test_the_format_json_min_gives_the_same_verdicts(tmp_path):
    as_json = [exported("t1", annotation(1, 3)), exported("t2", annotation(2, 4, first="unsure"))]
    as_min = [minimal("t1", 1, 3), minimal("t2", 2, 4, first="unsure")]
    assert read(tmp_path, as_min) == read(tmp_path, as_json)


def test_in_json_min_a_question_without_an_answer_keeps_its_text(tmp_path):
    rows = [
        minimal("t1", 1, 3),
        minimal("t2", 2, 3, second="filter"),
        minimal("t3", 3, 3, "candidate", "filter"),
    ]
    verdicts, counts = read(tmp_path, rows)
    assert [verdict.task_id for verdict in verdicts] == ["t1"]
    assert counts == {"complete": 1, "empty": 1, "incomplete": 1}


def test_a_snapshot_with_people_as_objects_is_the_same(tmp_path):
    person = {"id": 3, "email": "anna@example.org", "first_name": "Anna", "last_name": "A"}
    assert read(tmp_path, [exported("t1", annotation(1, person))]) == read(
        tmp_path, [exported("t1", annotation(1, 3))]
    )


def pulled(key, *annotations):
    """A row as `rgqa annotate pull` writes it."""
    kept = ("id", "completed_by", "result", "was_cancelled", "lead_time", "created_at", "updated_at")
    return {"data": {"task": key}, "annotations": [{name: row[name] for name in kept} for row in annotations]}


def test_pseudonyms_stay_as_they_are(tmp_path):
    verdicts, _ = read(tmp_path, [pulled("t1", annotation(1, "annotator-02"), annotation(2, pseudonym(7)))])
    assert {verdict.annotator for verdict in verdicts} == {"annotator-02", pseudonym(7)}


@pytest.mark.parametrize(
    "name", ["anna@example.org", "annotator-", "annotator-2 Anna", "annotator-02\n", "x annotator-02"]
)
def test_what_only_looks_like_a_pseudonym_becomes_one(tmp_path, name):
    (verdict,), _ = read(tmp_path, [pulled("t1", annotation(1, name))])
    assert verdict.annotator == pseudonym(name) != name


def test_an_annotation_in_a_pulled_file_and_in_an_export_is_one_verdict_under_the_pseudonym(tmp_path):
    files = (
        [pulled("t1", annotation(1, "annotator-02"))],
        [exported("t1", annotation(1, 3))],
        [minimal("t1", 1, 3)],
    )
    for order in (files, files[::-1]):
        (verdict,), counts = read(tmp_path, *order)
        assert verdict.annotator == "annotator-02"
        assert counts == {"complete": 1, "seen more than once": 2}


def test_of_an_annotation_that_was_corrected_the_last_version_counts(tmp_path):
    later = annotation(1, "annotator-02", first="invalid", updated_at="2025-01-02T00:00:00Z")
    for rows in ([annotation(1, "annotator-02"), later], [later, annotation(1, "annotator-02")]):
        (verdict,), counts = read(tmp_path, [pulled("t1", *rows)])
        assert verdict.first == "invalid"
        assert counts == {"complete": 1, "corrected later": 1}


def test_a_verdict_that_was_taken_back_by_skipping_is_none(tmp_path):
    later = annotation(1, "annotator-02", was_cancelled=True, updated_at="2025-01-02T00:00:00Z")
    verdicts, counts = read(tmp_path, [pulled("t1", annotation(1, "annotator-02"), later)])
    assert (verdicts, counts) == ([], {"corrected later": 1, "skipped": 1})


def test_the_same_number_on_another_server_is_another_annotation(tmp_path):
    rows = [annotation(1, "annotator-01"), annotation(1, "annotator-02", created_at="2025-03-01T00:00:00Z")]
    verdicts, _ = read(tmp_path, [pulled("t1", *rows)])
    assert {verdict.annotator for verdict in verdicts} == {"annotator-01", "annotator-02"}


@pytest.mark.parametrize(
    "result",
    [[chosen("q1", "valid"), chosen("q2", "invalid")], [chosen("first", "okay"), chosen("second", "valid")]],
)
def test_a_renamed_control_or_label_is_told_once_with_its_count(tmp_path, result):
    rows = [exported(key, annotation(number, 3, result=result)) for number, key in enumerate(TASKS, 1)]
    with pytest.raises(UserError) as caught:
        read(tmp_path, rows)
    _, line = caught.value.problems
    assert "3 annotations say `" in line and "A label was renamed in the labelling interface" in line


def test_what_lies_in_memory_gives_the_same_verdicts_as_a_file(tmp_path):
    rows = [exported("t1", annotation(1, 3)), exported("t2", annotation(2, 3, result=[]))]
    assert verdicts_of(msgspec.convert(rows, list[ExportedTask]), TASKS) == read(tmp_path, rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "[{",
            "not valid JSON (Input data was truncated); the file is empty or cut off, fetch it again or make it again",
        ),
        ("", "the file is empty or cut off"),
        (
            [{"task": "t1", "image": "x", "first": "valid"}],
            "Object missing required field `data`",
        ),
        ([{"annotation_id": 3, "first": "valid"}], "1 rows have no key `task`"),
        ([{"data": {"text": "x"}, "annotations": []}], "1 rows have no key `task`"),
        ({"data": {}}, "Expected `array`, got `object`"),
        (
            [exported("t1", annotation(1, 1, first="maybe"))],
            "1 annotations say `first`: 'maybe', `second`: 'invalid'",
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
