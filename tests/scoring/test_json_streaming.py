import json

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.json_streaming import BYTES_PER_CHUNK, stream_list


def values_of(text):
    return list(stream_list(text.encode(), "x.json") or "no list")


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_a_long_list_is_read_in_chunks(layout):
    rows = [
        {"id": str(i), "label": {"red": 1.0}, "text": "}, {", "more": [{}, {}]}
        for i in range(BYTES_PER_CHUNK // 20)
    ]
    text = f" {json.dumps(rows, **layout)}\n"
    assert len(text) > 3 * BYTES_PER_CHUNK and values_of(text) == rows


def test_a_chunk_never_ends_inside_a_value():
    # Every gap is in a string or in an inner list, so that after some tries the rest is read at once.
    rows = [
        {"text": "}, {" * BYTES_PER_CHUNK},
        {"inner": [{"a": 1}, {"b": 2}] * BYTES_PER_CHUNK},
        3,
        {"last": {}},
    ]
    assert values_of(json.dumps(rows)) == rows


def test_files_without_a_list_and_empty_files():
    assert stream_list(b'{"a": [1]}', "x.json") is None and stream_list(b"3", "x.json") is None
    assert values_of("[]") == values_of(" [ ] ") == []


@pytest.mark.parametrize(
    "broken", ['{"id": 1} {"id": 2}]', '{"id": 1}]]', '{"id": 1},]', '{"id": 1}', '{"id": }]']
)
def test_a_list_that_breaks_says_where_as_json_does(broken):
    text = "[" + '{"id": 0}, ' * BYTES_PER_CHUNK + broken
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    with pytest.raises(UserError) as ours:
        values_of(text)
    assert ours.value.problems == [f"x.json: not valid JSON ({theirs.value}). The file may be truncated"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
def test_encodings_are_detected_like_json_does(encoding):
    rows = [{"text": "Ä 犬 }, {"}] * BYTES_PER_CHUNK
    assert list(stream_list(json.dumps(rows, ensure_ascii=False).encode(encoding), "x.json") or ()) == rows
