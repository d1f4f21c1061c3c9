"""What people hand to `rgqa annotate import`: what is read, and of what is not, the one message, and nothing written. Each row: what
it is, the export, and a piece of what must be said; or READ."""

import gzip
import json
from typing import Any

import pytest

from annotation.study.import_annotations import import_exports
from tests.annotation.study.export_files import TASKS, annotation, chosen, exported, verdicts
from tests.bad_inputs import error_message

READ = ""
WANTED = "expected an export in the format JSON"


def given(**changed: Any) -> str:
    """One annotation, which says of task t1 that the first question is valid and the second invalid."""
    return json.dumps([exported("t1", annotation(1, 3) | changed)])


def answered(*results: dict[str, Any]) -> str:
    return given(result=list(results))


def choices(name: str, value: Any) -> dict[str, Any]:
    return chosen(name, "") | {"value": {"choices": value}}


PLAIN, SECOND = given(), chosen("second", "invalid")
CASES: list[tuple[str, str | bytes, str]] = [
    ("plain", PLAIN, READ),
    ("a mark of the byte order", "\ufeff" + PLAIN, READ),
    ("a choice that is not a list", answered(choices("first", "valid"), SECOND), READ),
    ("controls that are not ours beside them", answered(chosen("first", "valid"), SECOND, chosen("colour", "red")), READ),
    ("no time", given(created_at="yesterday", lead_time=None), READ),
    ("format JSON-MIN", json.dumps([{"task": "t1", "first": "valid", "second": "invalid"}]), "missing required field `data`"),
    ("format CSV", "id,task,first,second\n1,t1,valid,invalid\n", WANTED),
    ("an old export, with completions", json.dumps([{"data": {"task": "t1"}, "completions": []}]), "missing required field `annotations`"),
    ("one object", json.dumps(exported("t1")), "Expected `array`, got `object`"),
    ("a task a line", "\n".join([json.dumps(exported("t1"))] * 2), WANTED),
    ("tasks of another project", json.dumps([{"data": {"text": "x"}, "annotations": []}]), "1 row without the key `task`"),
    ("a number for a task", json.dumps([{"data": {"task": 7}, "annotations": []}]), "1 row without the key `task`"),
    ("tasks of another batch", json.dumps([exported("old", annotation(1, 3))]), "none is of a task of this batch"),
    ("a label in capitals", answered(chosen("first", "Valid"), SECOND), "1 annotation with unknown labels: `first`: 'Valid'"),
    ("a label translated", answered(chosen("first", "g\u00fcltig"), SECOND), "`first` one of valid, invalid, unsure"),
    ("a number for a label", answered(choices("first", [1]), SECOND), "1 annotation with unknown labels: `first`: '1'"),
    ("an empty label", answered(choices("first", ""), SECOND), "1 annotation with unknown labels: `first`: ''"),
    ("two choices", answered(choices("first", ["valid", "invalid"]), SECOND), "1 annotation with unknown labels: `first`: 'valid and invalid'"),
    ("a control twice", answered(chosen("first", "valid"), chosen("first", "invalid"), SECOND), "`first`: 'valid and invalid'"),
    ("controls renamed", answered(chosen("question 1", "valid"), chosen("question 2", "invalid")), "`question 1`: 'valid'"),
    ("texts for results", given(result=["valid"]), "Expected `object`, got `str`"),
    ("no results", given(result=None), "Expected `array`, got `null`"),
    ("a list for a person", given(completed_by=[3]), "Expected `int | str | object | null`, got `array`"),
    ("a text for seconds", given(lead_time="3"), "Expected `float | null`, got `str`"),
    ("endless seconds", given(lead_time=1).replace('"lead_time": 1', '"lead_time": 1e999'), "Number out of range"),
    ("two answers of one moment", json.dumps([exported("t1", annotation(1, 3), annotation(1, 3, first="invalid"))]), "annotation 1 has different answers with the same time"),
    ("truncated", PLAIN[:-9], "the file is empty or"),
    ("an empty file", "", "the file is empty or"),
    ("a packed one", gzip.compress(PLAIN.encode()), "not valid JSON"),
    ("UTF-16", PLAIN.encode("utf-16"), "not valid JSON"),
    ("a page", "<html>404</html>", WANTED),
    ("nested deeply", '[{"data": ' + '{"a": ' * 100_000, "nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_export_is_read_or_reported_in_one_message(batched, tmp_path, capsys, data, said):
    path = tmp_path / "export.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    message = error_message(capsys, lambda: import_exports([path]))
    assert said in message and bool(message) == bool(said)
    if said:
        assert not batched.exists()
    else:
        assert [*verdicts(batched).values()] == [("valid", "invalid")] and "t1" in TASKS


@pytest.mark.parametrize(
    ("make", "said"), [("folder", "a folder where a file was expected"), ("", "no such file")]
)
def test_missing_file_is_reported(batched, tmp_path, capsys, make, said):
    if make:
        (tmp_path / "export.json").mkdir()
    assert said in error_message(capsys, lambda: import_exports([tmp_path / "export.json"]))
