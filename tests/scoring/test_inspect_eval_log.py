"""Logs of inspect_ai in the format eval, and streamed JSON."""

import builtins
import io
import json
import struct
import zipfile
from pathlib import Path

import pytest

from pipeline.core import table_reader
from pipeline.core.errors import UserError
from pipeline.scoring.inspect_eval_log import read_eval_samples
from pipeline.scoring.json_streaming import BYTES_PER_CHUNK, stream_list
from pipeline.scoring.row_reader import read_rows

# Inspect eval log


LOG = (
    Path(__file__).parent / "logs" / "inspect_ai.eval"
)  # written by inspect_ai itself, its members by Zstandard
MEMBER = "samples/a1_epoch_1.json"


def packed(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def refusal(data, name="log.eval"):
    with pytest.raises(UserError) as caught:
        [*read_rows(Path(name), data)[0]]
    (problem,) = caught.value.problems
    return problem


def test_an_inspect_log_is_read_by_pyarrow_and_by_python_alone_where_it_is_deflated():
    samples = read_eval_samples(LOG, LOG.read_bytes())
    assert [(row["id"], row["output"]["completion"]) for row in samples] == [
        ("a1", "red"),
        ("u1", "blue"),
        ("a2", "no"),
        ("u2", "no"),
        ("a3", "Dog"),
        ("u3", "cat"),
    ]
    assert read_eval_samples(Path("log.eval"), packed({MEMBER: '{"id": 1}', "header.json": "{}"})) == [
        {"id": 1}
    ]
    assert read_eval_samples(Path("log.eval"), packed({"header.json": "{}"})) == []


@pytest.fixture
def without(monkeypatch):
    """Libraries that are not to be found."""
    missing = set()
    real = builtins.__import__

    def imported(name, *rest):
        if name.split(".")[0] in missing:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", imported)
    return missing


def test_without_a_decompressor_the_message_says_what_to_install(without):
    without |= {"pyarrow", "zstandard", "openpyxl"}
    assert "pip install zstandard, or convert the log to JSON: inspect log dump" in refusal(
        LOG.read_bytes(), LOG.name
    )
    assert "pip install openpyxl; or save it as .csv" in refusal(b"", "m.xlsx")


def test_zstandard_serves_as_well_as_pyarrow(without):
    pytest.importorskip("zstandard")
    without |= {"pyarrow"}
    assert len(read_eval_samples(LOG, LOG.read_bytes())) == 6


def test_a_truncated_changed_or_wrong_log_is_refused():
    data = LOG.read_bytes()
    assert "not a .eval file" in refusal(data[:8000])
    assert "not a .eval file" in refusal(b"")
    assert "it is not an inspect_ai log" in refusal(packed({"a.txt": "x"}))
    assert "not valid JSON" in refusal(packed({MEMBER: "{"}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first = archive.getinfo(MEMBER)
    middle = first.header_offset + 30 + len(MEMBER) + first.compress_size // 2
    changed = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    assert MEMBER in refusal(changed) and "cannot be decompressed" in refusal(changed)


def test_what_unpacks_to_more_than_any_log_holds_is_refused_unread(monkeypatch):
    bomb = packed({MEMBER: " " * 10_000_000})
    assert len(bomb) < 20_000
    monkeypatch.setattr(table_reader, "MAX_ZIP_MEMBER_BYTES", 1_000_000)
    assert "would unpack to 10,000,000 bytes" in refusal(bomb)
    assert "would unpack to 10,000,000 bytes" in refusal(bomb, "m.xlsx")
    monkeypatch.setattr(table_reader, "MAX_ZIP_MEMBER_BYTES", 1 << 28)
    monkeypatch.setattr(table_reader, "MAX_UNZIPPED_BYTES", 1_000_000)
    assert "would unpack to 10,000,000 bytes" in refusal(bomb)


def test_a_member_that_holds_more_than_it_claims_is_refused():
    data = LOG.read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = archive.getinfo(MEMBER).file_size
    place = data.index(MEMBER.encode(), data.index(b"PK\x01\x02")) - 46  # its entry in the central directory
    lying = data[: place + 24] + struct.pack("<I", size // 2) + data[place + 28 :]
    assert refusal(lying).endswith("(its checksum does not match)")


# JSON streaming


def values_of(text):
    return list(stream_list(text.encode(), "x.json") or "not a list")


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
