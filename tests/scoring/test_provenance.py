"""What a release says of its items: of what is damaged, one message with every line and item."""

import json
import os

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.provenance import parse_provenance
from tests.scoring.conftest import predictions, refused, write

ITEM = {"subset": "s", "item_id": "a", "split": "test", "pair_id": "p", "edits": [{"kind": "object"}]}


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"edits": None}, "edits is None, expected a list of objects with kind"),
        ({"edits": "abc"}, "edits is 'abc', expected a list of objects with kind"),
        ({"edits": [{}]}, "edits is [{}], expected a list of objects with kind"),
        ({"edits": [{"kind": "a"}, {"kind": 1}]}, "expected a list of objects with kind"),
        ({"pair_id": [1]}, "pair_id is [1], expected a string"),
        ({"split": 5}, "split is 5, expected a string"),
        ({"split": "Test"}, "split is 'Test', expected validation or test"),
        ({"category": ["a"]}, "category is ['a'], expected a string"),
        ({"structural": {}}, "structural is {}, expected a string"),
    ],
)
def test_invalid_fields_are_reported_with_line_and_item(tmp_path, fields, fault):
    with pytest.raises(UserError) as caught:
        parse_provenance(
            lines({"item": ITEM | {"item_id": "b"}}, {"item": ITEM | fields}), tmp_path / "p.jsonl"
        )
    first, problem = caught.value.problems
    assert first == f"{tmp_path / 'p.jsonl'}: 1 fault"
    assert problem.startswith("line 2 (s's item a): ") and fault in problem


def test_all_lines_are_reported_at_once(tmp_path):
    rows = [3, {"item": ITEM}, {"item": None}, {"item": {"subset": "s", "item_id": 7}}]
    rows += [{"item": ITEM | {"split": "validation"}}, {"item": ITEM | {"subset": "t"}}]
    with pytest.raises(UserError) as caught:
        parse_provenance(lines(*rows), tmp_path / "p.jsonl")
    none = "not an item's provenance, expected item with subset and item_id"
    assert caught.value.problems[1:] == [
        *(f"line {number}: {none}" for number in (1, 3, 4)),
        "line 5 (s's item a): duplicate item",
    ]


def test_fields_may_be_missing_or_null(tmp_path):
    item = {"subset": "s", "item_id": "a", "category": None}
    assert parse_provenance(lines({"item": item}), tmp_path) == {"s": {"a": item}}


@pytest.mark.parametrize("name", ["params.json", "provenance.jsonl"])
@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
def test_a_file_may_be_missing_but_be_nothing_else(release, name, what):
    path = release / name
    path.unlink()
    read_benchmark(release)
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nothing")
    with pytest.raises(UserError, match=f"{name}: (cannot be read|no such file|a pipe)"):
        read_benchmark(release)


def test_a_pipe_for_a_subset_is_reported(release):
    (release / "rgqa/pt-hard.json").unlink()
    os.mkfifo(release / "rgqa/pt-hard.json")
    with pytest.raises(UserError, match=r"pt-hard.json: a pipe or a device. Write"):
        read_benchmark(release)


@pytest.mark.parametrize("params", [[1], "1.0.0", {"version": 1.0}, {"version": None}])
def test_params_and_all_else_that_is_damaged_are_one_message(release, tmp_path, capsys, params):
    write(release / "params.json", params)
    (release / "provenance.jsonl").write_text("3")
    write(release / "rgqa/pt-hard.json", [3])
    told = refused(capsys, release, write(tmp_path / "m.json", predictions()))
    for piece in ("params.json: ", "line 1: not an item's", "question 1: expected"):
        assert piece in told
