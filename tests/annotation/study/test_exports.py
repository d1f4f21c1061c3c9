import json
from xml.etree import ElementTree

import msgspec
import pytest

from annotation.study.exports import (
    CONTROLS,
    REASONS,
    ExportedAnnotation,
    ExportedTask,
    ExportedUser,
    deduplicate,
    find_conflicts,
    flatten_tasks,
    make_pseudonym,
    read_pulled,
    read_verdicts,
    to_verdicts,
    write_pulled,
)
from annotation.study.import_annotations import pseudonymize
from pipeline.core.errors import UserError
from pipeline.core.records import FirstAnswer
from tests.annotation.study.export_files import TASKS, annotation, chosen, exported, pulled


def read(tmp_path, *files):
    """What all of these files hold together, as one."""
    given = flatten_tasks(msgspec.convert([row for rows in files for row in rows], list[ExportedTask]))
    write_pulled(tmp_path / "pulled.json", pseudonymize(given, {}, {}, "salt"))
    return read_verdicts(tmp_path / "pulled.json", TASKS)


def test_annotation_becomes_a_verdict_with_a_pseudonym(tmp_path):
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
    assert (verdict.annotator, verdict.duration_seconds, verdict.simulated) == (
        make_pseudonym(3, "salt"),
        3.5,
        False,
    )
    assert counts == {"complete": 1}


def test_person_is_recognised_by_number_or_object_without_email(tmp_path):
    person = {"id": 3, "email": "anna@example.org", "first_name": "Anna", "last_name": "A"}
    verdicts, _ = read(tmp_path, [exported("t1", annotation(1, 3)), exported("t2", annotation(2, person))])
    assert {v.annotator for v in verdicts} == {make_pseudonym(3, "salt")}
    (verdict,), _ = read(tmp_path, [exported("t1", annotation(1, {"email": "anna@example.org"}))])
    assert "anna" not in repr(verdict)
    assert verdict.annotator.startswith("annotator-")


def test_sequence_index_follows_time(tmp_path):
    rows = [
        exported("t1", annotation(9, 1), annotation(2, 2)),
        exported("t2", annotation(3, 1)),
        exported("t3", annotation(5, 1)),
    ]
    verdicts, _ = read(tmp_path, rows)
    assert {v.task_id: v.sequence_index for v in verdicts if v.annotator == make_pseudonym(1, "salt")} == {
        "t2": 0,
        "t3": 1,
        "t1": 2,
    }
    assert [v.sequence_index for v in verdicts if v.annotator == make_pseudonym(2, "salt")] == [0]


def test_skipped_empty_and_incomplete_annotations_are_only_counted(tmp_path):
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
    assert [(v.task_id, v.annotator) for v in verdicts] == [("t1", make_pseudonym(3, "salt"))]
    assert counts == {"complete": 1, "empty": 1, "incomplete": 1, "of another batch": 1, "skipped": 1}


def test_last_verdict_of_one_person_counts(tmp_path):
    first = [exported("t1", annotation(1, 1, first="valid"))]
    second = [exported("t1", annotation(1, 1, first="valid"), annotation(7, 1, first="invalid"))]
    verdicts, counts = read(tmp_path, second, first)
    assert [v.first for v in verdicts] == ["invalid"]
    assert counts == {"complete": 1, "replaced by a later one": 1}


def test_file_order_does_not_matter(tmp_path):
    a, b = (
        [exported("t1", annotation(1, 1))],
        [exported("t2", annotation(2, 2)), exported("t1", annotation(3, 2))],
    )
    assert read(tmp_path, a, b) == read(tmp_path, b, a)


def test_snapshot_with_user_objects_gives_the_same_verdicts(tmp_path):
    person = {"id": 3, "email": "anna@example.org", "first_name": "Anna", "last_name": "A"}
    assert read(tmp_path, [exported("t1", annotation(1, person))]) == read(
        tmp_path, [exported("t1", annotation(1, 3))]
    )


def test_pseudonyms_are_not_changed(tmp_path):
    verdicts, _ = read(
        tmp_path, [pulled("t1", annotation(1, "annotator-02"), annotation(2, make_pseudonym(7, "salt")))]
    )
    assert {verdict.annotator for verdict in verdicts} == {"annotator-02", make_pseudonym(7, "salt")}


@pytest.mark.parametrize(
    "name", ["anna@example.org", "annotator-", "annotator-2 Anna", "annotator-02\n", "x annotator-02"]
)
def test_similar_names_are_replaced_by_pseudonyms(tmp_path, name):
    (verdict,), _ = read(tmp_path, [pulled("t1", annotation(1, name))])
    assert verdict.annotator == make_pseudonym(name, "salt") != name


def test_last_version_of_an_annotation_counts(tmp_path):
    later = annotation(1, "annotator-02", first="invalid", updated_at="2025-01-02T00:00:00Z")
    for rows in ([annotation(1, "annotator-02"), later], [later, annotation(1, "annotator-02")]):
        (verdict,), counts = read(tmp_path, [pulled("t1", *rows)])
        assert verdict.first == "invalid"
        assert counts == {"complete": 1, "corrected later": 1}


def test_first_answer_and_its_times_are_kept_with_a_correction(tmp_path):
    """Whether a correction is a further version of the annotation, or a further annotation as on our own server."""
    first = annotation(1, "annotator-02", lead_time=7.0, created_at="2025-01-01T00:00:00Z")
    other = annotation(2, "annotator-02", created_at="2025-01-01T00:00:40Z", lead_time=9.0)
    for number, created in ((1, "2025-01-01T00:00:00Z"), (3, "2025-01-02T00:00:00Z")):
        later = annotation(number, "annotator-02", lead_time=1.0, created_at=created, updated_at="2025-01-02T00:00:00Z")  # fmt: skip
        later["result"] = [
            chosen("first", "invalid"),
            chosen("second", "invalid"),
            chosen("first_reason", "wrong attribute"),
        ]
        verdicts, _ = read(tmp_path, [pulled("t1", later, first), pulled("t2", other)])
        verdict, next_verdict = sorted(verdicts, key=lambda row: row.task_id)
        assert (verdict.first, verdict.first_reason) == ("invalid", "wrong attribute")
        assert verdict.first_answer == FirstAnswer(first="valid", second=verdict.second)
        assert (verdict.sequence_index, verdict.duration_seconds) == (0, 7.0)
        # The time of the next task counts from the first submission of this one.
        assert (next_verdict.sequence_index, next_verdict.seconds_since_previous) == (1, 40.0)
        assert next_verdict.first_answer is None


def test_skipping_withdraws_a_verdict(tmp_path):
    later = annotation(1, "annotator-02", was_cancelled=True, updated_at="2025-01-02T00:00:00Z")
    verdicts, counts = read(tmp_path, [pulled("t1", annotation(1, "annotator-02"), later)])
    assert (verdicts, counts) == ([], {"corrected later": 1, "skipped": 1})


def test_same_id_on_another_server_is_another_annotation(tmp_path):
    rows = [annotation(1, "annotator-01"), annotation(1, "annotator-02", created_at="2025-03-01T00:00:00Z")]
    verdicts, _ = read(tmp_path, [pulled("t1", *rows)])
    assert {verdict.annotator for verdict in verdicts} == {"annotator-01", "annotator-02"}


@pytest.mark.parametrize(
    "result",
    [[chosen("q1", "valid"), chosen("q2", "invalid")], [chosen("first", "okay"), chosen("second", "valid")]],
)
def test_renamed_control_or_label_is_reported_once_with_count(tmp_path, result):
    rows = [exported(key, annotation(number, 3, result=result)) for number, key in enumerate(TASKS, 1)]
    with pytest.raises(UserError) as caught:
        read(tmp_path, rows)
    _, line = caught.value.problems
    assert (
        "3 annotations with unknown labels: `" in line
        and "A label was renamed in the labelling interface" in line
    )


def test_annotations_in_memory_give_the_same_verdicts_as_a_file(tmp_path):
    rows = [
        exported("t1", annotation(1, "annotator-03")),
        exported("t2", annotation(2, "annotator-03", result=[])),
    ]
    assert to_verdicts(deduplicate(flatten_tasks(msgspec.convert(rows, list[ExportedTask]))), TASKS) == read(
        tmp_path, rows
    )


def test_file_of_another_batch_or_truncated_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="none is of a task of this batch"):
        read(tmp_path, [exported("old", annotation(1, 1))])
    for content, message in (
        ("[{", "not valid JSON"),
        ('[{"data": ' + '{"a": ' * 100_000, "nested too deeply"),
        ("{}", "Expected `array`"),
    ):
        (tmp_path / "pulled.json").write_text(content)
        with pytest.raises(UserError, match=message):
            read_verdicts(tmp_path / "pulled.json", TASKS)


@pytest.mark.parametrize("reason", [*REASONS, None])
def test_only_reasons_of_the_interface_are_accepted(tmp_path, reason):
    result = [chosen("first", "invalid"), chosen("second", "valid")]
    given = result + ([chosen("first_reason", reason)] if reason else [])
    (verdict,), _ = read(tmp_path, [exported("t1", annotation(1, 1, result=given))])
    assert verdict.first_reason == (reason or "")
    with pytest.raises(UserError, match="`second_reason`: 'aliens'"):
        read(
            tmp_path, [exported("t1", annotation(1, 1, result=[*result, chosen("second_reason", "aliens")]))]
        )


def test_reasons_and_choices_match_the_interface():
    screen = ElementTree.parse("annotation/client/interface.xml")
    offered = {
        group.get("name"): tuple(choice.get("value") for choice in group.findall("Choice"))
        for group in screen.iter("Choices")
    }
    assert offered == CONTROLS


def test_different_answers_with_the_same_time_are_a_conflict(tmp_path):
    one, other = annotation(1, 3), annotation(1, 3, first="invalid", second="valid")
    with pytest.raises(UserError) as caught:
        read(tmp_path, [exported("t1", one)], [exported("t1", other)])
    assert (
        "task t1: annotation 1 has different answers with the same time: `first`: 'invalid', `second`: 'valid' and `first`: 'valid', `second`: 'invalid'"
        in caught.value.problems[1]
    )
    unnumbered = [
        msgspec.convert(row | {"id": 0, "created_at": "", "updated_at": ""}, ExportedAnnotation)
        for row in (one, other)
    ]
    assert len(find_conflicts(deduplicate(("t1", row) for row in unnumbered))) == 1
    later = annotation(1, 3, first="invalid", updated_at="2025-01-02T00:00:00Z")
    assert read(tmp_path, [exported("t1", one)], [exported("t1", later)])[1]["corrected later"] == 1


def test_store_is_written_once_sorted_and_without_conflicts(tmp_path):
    path = tmp_path / "pulled.json"
    assert read_pulled(path) == {}
    rows = [annotation(2, "annotator-02"), annotation(1, "annotator-01")]
    kept = deduplicate(
        flatten_tasks(msgspec.convert([exported(key, *rows) for key in ("t2", "t1")], list[ExportedTask]))
    )
    assert write_pulled(path, kept) and not write_pulled(path, kept)
    assert read_pulled(path) == kept
    order = [
        (row["data"]["task"], given["id"])
        for row in json.loads(path.read_text())
        for given in row["annotations"]
    ]
    assert order == [("t1", 1), ("t1", 2), ("t2", 1), ("t2", 2)]
    before = path.read_bytes()
    with pytest.raises(UserError, match="nothing is written"):
        other = msgspec.convert(annotation(2, "annotator-02", first="invalid"), ExportedAnnotation)
        write_pulled(path, kept | deduplicate([("t1", other)]))
    assert path.read_bytes() == before


def test_no_files_are_no_verdicts(tmp_path):
    assert read(tmp_path) == ([], {})


def test_only_other_batches_are_no_error_without_strict():
    kept = deduplicate(
        flatten_tasks(msgspec.convert([exported("old", annotation(1, 1))], list[ExportedTask]))
    )
    assert to_verdicts(kept, TASKS, strict=False) == ([], {"of another batch": 1})


def test_gap_is_the_time_since_the_previous_submission(tmp_path):
    rows = [
        exported("t1", annotation(1, 1), annotation(2, 2)),
        exported("t2", annotation(9, 1), annotation(4, 2, created_at="some time")),
        exported("t3", annotation(3, 3, created_at="")),
    ]
    verdicts, _ = read(tmp_path, rows)
    gaps = {(row.task_id, row.annotator): row.seconds_since_previous for row in verdicts}
    assert gaps["t2", make_pseudonym(1, "salt")] == 8  # 1 and 9 seconds past
    assert [gap for gap in gaps.values() if gap is not None] == [8]


def test_time_without_zone_is_utc(tmp_path):
    rows = [
        exported("t1", annotation(1, 1)),
        exported("t2", annotation(5, 1, created_at="2025-01-01T00:00:05")),
    ]
    verdicts, _ = read(tmp_path, rows)
    assert [row.seconds_since_previous for row in verdicts if row.seconds_since_previous is not None] == [4]


def test_pseudonym_depends_on_the_salt():
    assert make_pseudonym(3, "one") != make_pseudonym(3, "another")
    assert make_pseudonym(3, "one") == make_pseudonym(ExportedUser(id=3, email="anna@example.org"), "one")


@pytest.mark.parametrize("who", [3, {"id": 3, "email": "anna@example.org"}, "anna@example.org"])
def test_pulled_file_with_names_is_refused(tmp_path, who):
    path = tmp_path / "pulled.json"
    path.write_text(json.dumps([exported("t1", annotation(1, who))]))
    with pytest.raises(UserError, match="1 annotation without a pseudonym: .*rgqa annotate import"):
        read_pulled(path)


@pytest.mark.parametrize("twice", [["valid", "invalid"], ["valid", "valid"]])
def test_two_choices_in_one_control_are_refused(tmp_path, twice):
    both = {**chosen("first", ""), "value": {"choices": twice}}
    for result in (
        [both, chosen("second", "valid")],
        [*(chosen("first", one) for one in twice), chosen("second", "valid")],
    ):
        with pytest.raises(UserError, match=f"`first`: '{twice[0]} and {twice[1]}'"):
            read(tmp_path, [exported("t1", annotation(1, 3, result=result))])


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2025-01-01T23:30:00+02:00", "2025-01-01T22:00:00Z"),  # 21:30 in UTC, though its text is greater
        ("2025-01-01T09:59:59.9Z", "2025-01-01T10:00:00Z"),
        ("2025-01-01 12:00:00Z", "2025-01-01T11:59:59-05:00"),
        ("", "2025-01-01T00:00:00Z"),
        ("yesterday", "2025-01-01T00:00:00Z"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_later_time_counts_in_every_notation(tmp_path, earlier, later, turned):
    rows = [
        annotation(1, 3, "invalid", created_at=earlier, updated_at=earlier),
        annotation(2, 3, "valid", created_at=later, updated_at=later),
    ]
    (verdict,), counts = read(tmp_path, [exported("t1", *(reversed(rows) if turned else rows))])
    assert verdict.first == "valid" and counts["replaced by a later one"] == 1


def test_equal_times_in_two_notations_are_one_version(tmp_path):
    times = ("2025-01-01T00:00:00Z", "2025-01-01T01:00:00.000+01:00")
    same = [annotation(1, 3, created_at=time, updated_at=time) for time in times]
    verdicts, counts = read(tmp_path, [exported("t1", *same)])
    assert len(verdicts) == 1 and counts == {"complete": 1}
    other = [
        annotation(1, 3, first, created_at=time, updated_at=time)
        for first, time in zip(("valid", "invalid"), times, strict=True)
    ]
    with pytest.raises(UserError, match="different answers with the same time"):
        read(tmp_path / "other", [exported("t1", *other)])


def test_answers_are_ordered_by_time(tmp_path):
    first = annotation(1, 3, created_at="2025-01-01T02:00:00+02:00")  # midnight in UTC
    second = annotation(2, 3, created_at="2025-01-01T00:00:20Z")
    verdicts, _ = read(tmp_path, [exported("t1", second), exported("t2", first)])
    assert {v.task_id: (v.sequence_index, v.seconds_since_previous) for v in verdicts} == {
        "t2": (0, None),
        "t1": (1, 20.0),
    }
