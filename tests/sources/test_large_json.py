import msgspec
import pytest

from pipeline.core.errors import Problems
from pipeline.sources.large_json import read_members


def read(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems("x")
    return read_members(path, "file.json", problems), problems.lines


def test_members_are_read_undecoded(tmp_path):
    found, problems = read(tmp_path / "a.json", ' {"b" : {"x": [1, "}{\\""]}, "a": 2 } ')
    assert problems == []
    assert {key: msgspec.json.decode(raw) for key, raw in found.items()} == {"b": {"x": [1, '}{"']}, "a": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"7": {}, "8": {}, "7": {}, "9": 1, "9": 2}',
            "file.json: the id 7 occurs more than once|file.json: the id 9 occurs more than once",
        ),
        ("", "file.json: the file is empty; download it again"),
        (
            '{"7": {"question": "What',
            "file.json: not valid JSON (Input data was truncated); the file may be truncated, download it again",
        ),
        (
            '{"7": {}} trailing',
            "file.json: not valid JSON (JSON is malformed: trailing characters (byte 11)); the file may be truncated, download it again",
        ),
        (
            "<html>not found</html>",
            "file.json: not valid JSON (JSON is malformed: invalid character (byte 0)); the file may be truncated, download it again",
        ),
        ("[1, 2]", "file.json: expected one JSON object with ids as keys: Expected `object`, got `array`"),
    ],
)
def test_a_damaged_file_is_reported_with_its_name(tmp_path, text, message):
    found, problems = read(tmp_path / "a.json", text)
    assert "|".join(problems) == message
    assert len(found) == (3 if "occurs" in message else 0)


def test_a_missing_file_and_a_folder_are_reported(tmp_path):
    problems = Problems("x")
    assert (
        read_members(tmp_path / "no.json", "no.json", problems)
        == read_members(tmp_path, "folder", problems)
        == {}
    )
    assert problems.lines == [
        "no.json: no such file; put it there, or remove its split from `ingest` in params.yaml",
        "folder: a folder where a file was expected",
    ]
