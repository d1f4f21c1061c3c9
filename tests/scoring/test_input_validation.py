import gc

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring import vqa_accuracy
from pipeline.scoring.input_validation import (
    check_arrays,
    check_fractions,
    check_strings,
    parse_each_row,
    parse_json,
    parse_json_lines,
    pause_garbage_collection,
    read_bytes,
    read_json_object,
)


def test_arrays_come_back_in_the_order_named():
    first, second, third = check_arrays(a=[1, 2], b=[True, False], c=(0.5, 1.0))
    assert [first.dtype.kind, second.dtype.kind, third.dtype.kind] == ["i", "b", "f"]
    assert [array.dtype.kind for array in check_arrays(empty=[])] == ["f"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": [[1]], "b": [1]}, "a has 2 dimensions, expected 1"),
        ({"a": [1, 2], "b": [1]}, "lengths differ: a 2, b 1"),
        ({"a": ["x"]}, "a has type <U1, expected numbers or booleans"),
        ({"a": [1.0, float("nan"), float("inf")]}, "a has 2 NaN or infinite values"),
        ({"a": ["x"], "b": [float("nan")]}, "a has type <U1, expected numbers or booleans; b has 1 NaN"),
    ],
)
def test_wrong_arrays_are_refused_with_everything_that_is_wrong(arguments, expected):
    with pytest.raises(ValueError) as caught:
        check_arrays(**arguments)
    assert expected in str(caught.value)


def test_fractions_lie_between_0_and_1():
    (accuracy,) = check_fractions(accuracy=[True, False])
    assert accuracy.dtype.kind == "f" and accuracy.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="accuracy has 2 values outside"):
        check_fractions(accuracy=[-0.1, 0.5, 1.1])
    with pytest.raises(ValueError, match="a has 1 NaN"):
        check_fractions(a=[float("nan")])


def test_rows_are_parsed_one_by_one_and_every_fault_says_where():
    def make(row):
        if row < 0:
            raise UserError(["below 0", "no good"])
        return 2 * row

    assert parse_each_row([1, 2], "row", make) == ([2, 4], [])
    assert parse_each_row([1, -1, 3], "file, row", make) == (
        [2, 6],
        ["file, row 2: below 0", "file, row 2: no good"],
    )


@pytest.mark.parametrize(
    ("predictions", "answers", "expected"),
    [
        (["a"], ["a"], "^answers has a string, expected a list of answers for each prediction$"),
        (["a"], [[]], "1 empty list"),
        ([1], [["a"]], "another type"),
        (["a"], [["a", 2]], "answers has 1 value of another type"),
        (["a", "b"], [["a"]], "lengths differ"),
    ],
)
def test_wrong_answers_are_refused(predictions, answers, expected):
    for function in (check_strings, vqa_accuracy):
        with pytest.raises(ValueError, match=expected):
            function(predictions, answers)


def test_an_error_of_the_input_keeps_its_lines_apart():
    assert UserError("one").problems == ["one"]
    assert UserError(line for line in "ab").problems == ["a", "b"] and str(UserError(["a", "b"])) == "a\nb"


def test_an_unreadable_file_is_reported_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"none\.json: no such file$"):
        read_bytes(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot be read"):
        read_bytes(tmp_path)
    with pytest.raises(UserError, match=r"x\.json: not valid JSON .* The file may be truncated"):
        parse_json(b'{"a": ', "x.json")
    assert parse_json(b'{"a": [1]}', "x.json") == {"a": [1]}


def test_lines_are_numbered_and_empty_ones_skipped():
    assert list(parse_json_lines(b'1\n\n{"a": 2}\r\n  \n', "x.jsonl")) == [(1, 1), (3, {"a": 2})]
    with pytest.raises(UserError, match=r"x\.jsonl, line 2: not valid JSON"):
        list(parse_json_lines(b"1\n{", "x.jsonl"))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": 2, "a": 1}', '[{"a": 1, "a": 2}]', '{"x": [{"a": {}, "a": 3}]}']
)
def test_a_duplicate_key_of_an_object_is_refused(text):
    with pytest.raises(UserError, match=r"^x\.json: an object has the key a twice; keep one$"):
        parse_json(text.encode(), "x.json")
    with pytest.raises(UserError, match=r"^x\.jsonl, line 2: an object has the key a twice; keep one$"):
        list(parse_json_lines(f'{{"a": ["a", {{"a": 1}}]}}\n{text}'.encode(), "x.jsonl"))


def test_a_file_that_should_map_ids_and_does_not_is_refused(tmp_path):
    (tmp_path / "choices.json").write_text("[1]")
    with pytest.raises(UserError, match="choices.json: expected an object by id, got a list"):
        read_json_object(tmp_path / "choices.json")


def test_of_many_lines_the_broken_one_is_named():
    lines = ['{"a": 1}'] * 2000
    assert len(list(parse_json_lines("\n".join(lines).encode(), "x"))) == 2000
    for broken in ('{"a": 1}, {"a": 1}', "[1", '{"a": 1'):
        with pytest.raises(UserError, match="x, line 1501: not valid JSON"):
            list(parse_json_lines("\n".join([*lines[:1500], broken, *lines]).encode(), "x"))


def test_the_garbage_collector_is_restored():
    with pytest.raises(ZeroDivisionError), pause_garbage_collection():
        assert not gc.isenabled()
        _ = 1 / 0
    assert gc.isenabled()
