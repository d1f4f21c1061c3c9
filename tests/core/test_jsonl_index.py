from __future__ import annotations

import gc
from pathlib import Path

import pytest
import yaml

from pipeline.core import jsonl_index as rows
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_jsonl
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
from pipeline.core.records import Candidate, Question, ScreenedCandidate, TaggedText, VerifierResult

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
    with pytest.raises(UserError, match="no such file; run the stage that writes it"):
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
