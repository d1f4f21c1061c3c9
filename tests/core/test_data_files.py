"""Data files: JSON, JSON Lines with an index, and tables."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from pipeline.core import jsonl_index as rows
from pipeline.core.atomic_files import atomic_write, sha256_file, write_text
from pipeline.core.errors import UserError
from pipeline.core.json_files import (
    content_hash,
    copy_file,
    read_json,
    read_jsonl,
    write_json,
    write_json_list,
    write_jsonl,
)
from pipeline.core.jsonl_index import (
    FilteredView,
    GroupedIndex,
    JsonlSequence,
    RecordLookup,
    SortedJsonl,
    SpillMap,
    UniqueIndex,
    group_by,
)
from pipeline.core.records import (
    Candidate,
    ImageRecord,
    Question,
    ScreenedCandidate,
    TaggedText,
    VerifierResult,
)
from pipeline.core.table_reader import detect_delimiter, label_rows, normalize_header

# JSON files


IMAGE = ImageRecord(image_id="007", split="testdev", path="a.jpg", width=4, height=3, sha256="ab")


def test_records_survive_a_round_trip_and_ids_keep_leading_zeros(tmp_path):
    write_jsonl(tmp_path / "p.jsonl", [IMAGE])
    assert list(read_jsonl(tmp_path / "p.jsonl", ImageRecord)) == [IMAGE]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"half of the new")
        raise RuntimeError("killed")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_temporary_files_of_dead_processes_are_deleted(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (
        f".a.txt.{gone.pid}.tmp",
        f".b.txt.{gone.pid}.tmp",
        f".a.txt.{os.getppid()}.tmp",
        ".own.tmp",
    ):
        (tmp_path / name).write_bytes(b"half")
    write_text(tmp_path / "a.txt", "new")
    assert sorted(os.listdir(tmp_path)) == sorted(["a.txt", f".a.txt.{os.getppid()}.tmp", ".own.tmp"])


def test_a_full_disk_is_reported_with_the_file_name(tmp_path):
    with pytest.raises(OSError) as caught, atomic_write(tmp_path / "a.txt"):
        # The kernel does not name the file of a failed write.
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"image_id": 7}', "Expected `str`, got `int` - at `$.image_id`"),
        ('{"image_id": "7"', "line 1: not a Image"),
        ('{"image_id": "7", "colour": 1}', "line 1: not a Image"),
    ],
)
def test_an_invalid_line_is_reported_with_file_and_number(tmp_path, line, expected):
    (tmp_path / "p.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match="p.jsonl, line 1") as caught:
        list(read_jsonl(tmp_path / "p.jsonl", ImageRecord))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", "the file is empty or truncated"), ('{"a": ', "is empty or truncated"), (None, "no such file")],
)
def test_missing_empty_and_truncated_json_have_different_messages(tmp_path, content, expected):
    path = tmp_path / "r.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=expected):
        read_json(path)


def test_a_report_has_sorted_keys_and_ends_with_a_newline(tmp_path):
    write_json(tmp_path / "r.json", {"b": 1, "a": [2]})
    assert (tmp_path / "r.json").read_text() == '{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n'


def test_a_text_is_written_as_utf_8_and_a_copy_has_the_same_bytes(tmp_path):
    write_text(tmp_path / "new" / "a.md", "caf\u00e9\n")
    copy_file(tmp_path / "new" / "a.md", tmp_path / "b.md")
    # U+00E9 is C3 A9 in UTF-8.
    assert (tmp_path / "b.md").read_bytes() == b"caf\xc3\xa9\n"
    with pytest.raises(UserError, match="no such file"):
        copy_file(tmp_path / "none", tmp_path / "b.md")
    assert (tmp_path / "b.md").read_bytes() == b"caf\xc3\xa9\n"


def test_sha256_matches_the_standard(tmp_path):
    # The example of FIPS 180-2, appendix B.1.
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_content_hash_depends_on_the_boundaries_of_its_parts():
    assert content_hash("ab", "c") != content_hash("a", "bc")


@pytest.mark.parametrize(
    "values", [[], [1], ["a\nb", {"b": [1, {"a": "ä\u2028"}], "a": {}}, [], [[]]], [IMAGE, IMAGE]]
)
def test_write_json_list_writes_the_bytes_of_write_json(values, tmp_path):
    write_json(tmp_path / "whole.json", values)
    write_json_list(tmp_path / "parts.json", iter(values))
    assert (tmp_path / "parts.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


# JSON Lines index


ASKED = [
    ("03", "n2"),
    ("01", "n1"),
    ("02", "n2"),
    ("04", "é/1"),
]


def question(question_id: str, image_id: str) -> Question:
    # The text has more bytes than characters, and a line break.
    text = "Ob die Tür „rot“ ist?\n" * 3
    return Question(
        question_id=question_id,
        image_id=image_id,
        split="testdev",
        text=text,
        answer="yes",
        annotations={"1": "2"},
    )


@pytest.fixture
def file(tmp_path):
    write_jsonl(tmp_path / "q.jsonl", [question(*pair) for pair in ASKED])
    return tmp_path / "q.jsonl"


def test_records_of_a_key_have_the_order_of_the_file(file):
    groups = GroupedIndex(file, Question, "image_id")
    assert groups["n2"] == [question("03", "n2"), question("02", "n2")]
    assert groups["é/1"] == [question("04", "é/1")]
    assert (list(groups), len(groups)) == (["n2", "n1", "é/1"], 3)
    assert "n1" in groups and "n3" not in groups and groups.get("n3", ()) == ()
    with pytest.raises(KeyError):
        groups["n3"]


def test_the_last_of_several_records_with_the_same_key_counts(file):
    assert UniqueIndex(file, Question, "image_id")["n2"] == question("02", "n2")


def test_a_lazy_mapping_caches_only_the_last_values():
    made = []
    doubled = rows.LazyMapping(["b", "a"], lambda key: made.append(key) or key * 2, 1)
    assert (list(doubled), len(doubled), "a" in doubled, "c" in doubled, made) == (
        ["b", "a"],
        2,
        True,
        False,
        [],
    )
    assert [doubled["a"], doubled["a"], doubled["b"], doubled["a"]] == ["aa", "aa", "bb", "aa"]
    # The second "b" was cached.
    assert made == ["a", "b", "a"]
    assert doubled.get("c") is None and made == ["a", "b", "a"]


def test_an_empty_file_has_no_keys(tmp_path):
    (tmp_path / "q.jsonl").touch()
    assert dict(GroupedIndex(tmp_path / "q.jsonl", Question, "image_id")) == {}


def test_several_files_are_one_index(file, tmp_path):
    write_jsonl(tmp_path / "more.jsonl", [question("05", "n2"), question("06", "n9")])
    groups = GroupedIndex([file, tmp_path / "more.jsonl"], Question, "image_id")
    assert [q.question_id for q in groups["n2"]] == ["03", "02", "05"]
    assert [q.question_id for q in groups["n9"]] == ["06"]
    assert (sorted(groups), len(groups), groups.get("n0")) == (["n1", "n2", "n9", "é/1"], 4, None)


def test_the_file_with_the_invalid_line_is_named(file, tmp_path):
    (tmp_path / "more.jsonl").write_bytes(b'{"image_id": "n7", "colour": 1}\n')
    (tmp_path / "empty.jsonl").touch()
    groups = GroupedIndex([tmp_path / "empty.jsonl", file, tmp_path / "more.jsonl"], Question, "image_id")
    with pytest.raises(UserError, match=r"more\.jsonl, line 1: not a Question"):
        groups["n7"]


def alive() -> int:
    gc.collect()
    return sum(type(thing) is Question for thing in gc.get_objects())


def test_only_requested_records_are_in_memory(tmp_path):
    write_jsonl(tmp_path / "q.jsonl", [question(f"{i:04}", f"n{i % 100}") for i in range(1000)])
    before = alive()
    groups = GroupedIndex(tmp_path / "q.jsonl", Question, "image_id")
    assert sum(len(groups[key]) for key in groups) == 1000
    asked = groups["n5"]
    # There are 1,000 questions about 100 images.
    assert len(asked) == 10
    assert alive() <= before + 20


@pytest.mark.parametrize("bad, line", [(b'{"image_id": 7}\n', 5), (b"{\n", 5)])
def test_a_line_without_the_key_is_reported_at_once(file, bad, line):
    with file.open("ab") as end:
        end.write(bad)
    with pytest.raises(UserError, match=rf"q\.jsonl, line {line}: not a Question"):
        GroupedIndex(file, Question, "image_id")


def test_an_invalid_record_is_reported_when_it_is_read(file):
    with file.open("ab") as end:
        end.write(b'{"image_id": "n9", "colour": 1}\n')
    groups = GroupedIndex(file, Question, "image_id")
    with pytest.raises(UserError, match=r"q\.jsonl, line 5: not a Question"):
        groups["n9"]


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        UniqueIndex(tmp_path / "none.jsonl", Question, "text")


def test_group_by_keeps_the_order_and_an_unknown_key_has_no_rows():
    groups = group_by(["b1", "a1", "b2"], lambda row: row[0])
    assert (groups["b"], groups["a"], groups["c"]) == (["b1", "b2"], ["a1"], [])


def test_records_are_found_by_a_nested_field(tmp_path):
    rows = [
        ScreenedCandidate(
            candidate=Candidate(candidate_id=key, subset="pt-easy", image_id="n1", question_id="q", text="Ä"),
            verifier_result=VerifierResult(answerability="unknown"),
        )
        for key in ("b", "a")
    ]
    write_jsonl(tmp_path / "s.jsonl", rows)
    found = UniqueIndex(tmp_path / "s.jsonl", ScreenedCandidate, "candidate.candidate_id")
    assert (list(found), found["a"], found["b"]) == (["b", "a"], rows[1], rows[0])


def test_transformed_records_are_found_by_line_number(file):
    ids = JsonlSequence(file, Question, lambda row: row.question_id)
    both = zip(ids, ids, strict=True)
    assert [ids[3], ids[0], *map(ids.__getitem__, range(len(ids)))] == ["04", "03", "03", "01", "02", "04"]
    assert [(*pair, ids[1]) for pair in both] == [(key, key, "01") for key, _ in ASKED]
    file.write_bytes(file.read_bytes() + b"{}\n")
    with pytest.raises(UserError, match="line 5: not a Question"):
        JsonlSequence(file, Question, str)


def test_a_sorted_file_is_read_repeatedly_and_equal_keys_keep_their_order(file):
    rows = SortedJsonl(file, Question, lambda row: row.image_id.encode())
    expected = [question(*pair) for pair in (("01", "n1"), ("03", "n2"), ("02", "n2"), ("04", "é/1"))]
    assert (list(rows), len(rows)) == (expected, 4)
    assert list(rows) == expected
    assert expected[2] in rows and question("05", "n1") not in rows


def test_sorting_needs_valid_lines(file):
    with file.open("ab") as more:
        more.write(b'{"colour": 1}\n')
    with pytest.raises(UserError, match=r"q\.jsonl, line 5: not a Question"):
        SortedJsonl(file, Question, lambda row: row.question_id.encode())


def test_two_iterations_at_once_do_not_interfere(file):
    rows = SortedJsonl(file, Question, lambda row: row.question_id.encode())
    assert [(a.question_id, b.question_id) for a, b in zip(rows, rows, strict=True)] == [
        (key, key) for key in ("01", "02", "03", "04")
    ]


def test_a_filtered_view_filters_again_in_each_iteration():
    rows = [1, 2, 3]
    odd = FilteredView(rows, lambda row: row % 2 == 1)
    assert (list(odd), len(odd), 3 in odd, 2 in odd) == ([1, 3], 2, True, False)
    rows.append(5)
    assert list(odd) == [1, 3, 5]
    assert not FilteredView(rows, lambda row: row > 9)


def test_spilled_records_are_found_by_key_and_leave_no_file(tmp_path):
    made = (question(*pair) for pair in ASKED)
    aside = SpillMap(tmp_path / "new", Question, ((row.question_id, row) for row in made))
    assert (list(aside), len(aside)) == (["03", "01", "02", "04"], 4)
    assert [aside[key] for key in ("04", "03", "04")] == [
        question("04", "é/1"),
        question("03", "n2"),
        question("04", "é/1"),
    ]
    assert list((tmp_path / "new").iterdir()) == [] and aside.get("05") is None


def test_a_missing_record_is_reported_with_the_file(tmp_path):
    path = tmp_path / "tags.jsonl"
    path.write_text('{"text":"a","words":[]}\n')
    by_text = UniqueIndex(path, TaggedText, "text")
    assert by_text.get("b") is None and "b" not in by_text
    for records in (by_text, GroupedIndex(path, TaggedText, "text"), RecordLookup(path, {})):
        with pytest.raises(UserError, match=r"tags\.jsonl.*'b'.*dvc repro"):
            records["b"]


def test_a_record_of_another_run_names_the_stages_whose_files_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: birds\nversion: '1.0.0'\nbirds: {}\n")
    for stage, text in (("ingest", "12345"), ("rank", "123")):
        folder = Path(f"data/birds/interim/{stage}")
        folder.mkdir(parents=True)
        (folder / "rows.jsonl").write_text(text)
    recorded = {
        stage: {"outs": [{"path": f"data/birds/interim/{stage}", "size": 5, "nfiles": 1}]}
        for stage in ("ingest", "rank")
    }
    Path("dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": recorded}))
    with pytest.raises(UserError) as error:
        RecordLookup("rows.jsonl", {})["12"]
    (problem,) = error.value.problems
    assert "rows.jsonl" in problem and "'12'" in problem and "dvc repro" in problem
    assert "rank" in problem and "ingest" not in problem
    Path("dvc.lock").write_text("stages: [")
    assert "dvc repro" in str(error.value)


# Table reader


FILE = Path("m.csv")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("questionId", "questionId"),
        ("QuestionID", "questionId"),
        ("Question ID", "question_id"),
        ("question-id", "question_id"),
        (" PREDICTION ", "prediction"),
        ("Confidence", "confidence"),
        ("ID", "id"),
        ("Answer", "answer"),
        ("P Answerable", "p_answerable"),
        ("Abstained", "abstained"),
        ("Benchmark-Version", "benchmark_version"),
        ("VERSION", "version"),
        ("Colour", "Colour"),
    ],
)
def test_all_spellings_of_known_columns_are_recognized(written, read):
    assert normalize_header([written], FILE) == [read]


def test_a_duplicate_column_is_refused_in_any_spelling():
    with pytest.raises(UserError, match="the header has confidence more than once"):
        normalize_header(["id", "confidence", "Confidence"], FILE)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("questionId,prediction,confidence", ","),
        ("questionId;prediction;confidence", ";"),
        ("Question ID\tPrediction\tConfidence", "\t"),
        ("a;b,c", ","),
        # Unknown names: only the first line counts, although the rows have commas.
        ("a;b", ";"),
        ("", ","),
    ],
)
def test_the_delimiter_is_detected_from_the_header(header, expected):
    assert detect_delimiter(f"{header}\n1,2;3\t4\n", ",") == expected


def test_empty_rows_are_skipped_and_surplus_cells_are_reported_by_row():
    cells = [["a", "b"], ["1", "2", None], [None, None, None], ["3"], ["4", "5", "6"]]
    rows = label_rows(cells, FILE)
    assert [next(rows), next(rows), next(rows)] == [
        (2, {"a": "1", "b": "2"}),
        (4, {"a": "3", "b": None}),
        (5, {"a": "4", "b": "5"}),
    ]
    with pytest.raises(UserError, match="1 row has more cells than the header.* row 5"):
        next(rows)
