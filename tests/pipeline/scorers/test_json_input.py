import pytest

from pipeline.scorers.json_input import parse_json, parse_lines, read_bytes, read_mapping
from pipeline.scorers.validation import InputError


def test_what_cannot_be_read_is_said_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: no such file$"):
        read_bytes(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(tmp_path)
    with pytest.raises(InputError, match=r"x\.json: not valid JSON .* the file may be cut off"):
        parse_json(b'{"a": ', "x.json")
    assert parse_json(b'{"a": [1]}', "x.json") == {"a": [1]}


def test_lines_are_numbered_and_empty_ones_passed_over():
    assert list(parse_lines(b'1\n\n{"a": 2}\r\n  \n', "x.jsonl")) == [(1, 1), (3, {"a": 2})]
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: not valid JSON"):
        list(parse_lines(b"1\n{", "x.jsonl"))


def test_a_file_that_should_map_ids_and_does_not_is_refused(tmp_path):
    (tmp_path / "choices.json").write_text("[1]")
    with pytest.raises(InputError, match="choices.json: wanted an object by id, got a list"):
        read_mapping(tmp_path / "choices.json")
