"""Files of rows are read in any format, and selected rows are written in the same format."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.auditing.row_sources import JoinedRows, open_rows
from pipeline.core.errors import UserError

ROWS = [{"question": f"Is it {i}?", "image": f"p{i}", "n": i} for i in range(4)]


def written(path, text):
    path.write_text(text)
    return path


def rewritten(path, keep=(2, 0)):
    out = path.with_name(f"out{path.suffix}")
    open_rows(str(path)).write(list(keep), out)
    return out


def test_a_list_comes_back_as_a_list_and_each_row_as_it_was_written(tmp_path):
    odd = '{"question": "Is it 0?",  "image":"p\\u0030", "n": 0.10}'  # An encoder would write it differently.
    path = written(tmp_path / "a.json", f"[{odd}, {json.dumps(ROWS[1])}, {json.dumps(ROWS[2])}]")
    assert open_rows(str(path)).column("image") == ["p0", "p1", "p2"]
    assert rewritten(path).read_text() == f"[\n{json.dumps(ROWS[2])},\n{odd}\n]\n"


def test_json_lines_are_recognized_in_any_file_and_stay_json_lines(tmp_path):
    path = written(
        tmp_path / "pope.json", "".join(json.dumps(row) + "\n" for row in ROWS)
    )  # The files of POPE have this suffix.
    assert len(open_rows(str(path))) == 4
    assert rewritten(path).read_text() == f"{json.dumps(ROWS[2])}\n{json.dumps(ROWS[0])}\n"


def test_a_list_within_an_object_keeps_the_other_keys(tmp_path):
    path = written(tmp_path / "q.json", json.dumps({"info": {"year": 2017}, "questions": ROWS, "tags": []}))
    kept = json.loads(rewritten(path).read_text())
    assert kept == {"info": {"year": 2017}, "questions": [ROWS[2], ROWS[0]], "tags": []}


def test_an_object_by_id_keeps_its_format_and_its_keys_are_the_ids(tmp_path):
    path = written(tmp_path / "gqa.json", json.dumps({f"0{i}": row for i, row in enumerate(ROWS)}))
    assert open_rows(str(path)).column("question_id") == ["00", "01", "02", "03"]
    assert json.loads(rewritten(path).read_text()) == {"02": ROWS[2], "00": ROWS[0]}


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_keeps_its_texts_as_they_are(tmp_path, suffix):
    separator = {".csv": ",", ".tsv": "\t"}[suffix]
    path = written(
        tmp_path / f"t{suffix}", f"id{separator}answer\n007{separator}None\n8{separator}\n9{separator}NA\n"
    )
    rows = open_rows(str(path))
    assert (rows.column("id"), rows.column("answer")) == (["007", "8", "9"], ["None", None, "NA"])
    assert rewritten(path).read_text() == f"id{separator}answer\n9{separator}NA\n007{separator}None\n"


def test_parquet_keeps_its_types(tmp_path):
    table = pa.table({"question": ["a", "b", "c"], "n": pa.array([1, None, 3], pa.int16())})
    pq.write_table(table, tmp_path / "t.parquet")
    assert open_rows(str(tmp_path / "t.parquet")).column("n") == [1, None, 3]
    kept = pq.read_table(rewritten(tmp_path / "t.parquet"))
    assert kept.equals(table.take([2, 0])) and kept.schema == table.schema


def test_a_folder_is_read_by_datasets_without_decoding_its_images(tmp_path):
    pytest.importorskip("datasets")
    folder = tmp_path / "set"
    folder.mkdir()
    pd.DataFrame({"question": ["a", "b"], "image": [{"bytes": b"no image", "path": "x"}] * 2}).to_parquet(
        folder / "test-00000.parquet"
    )
    rows = open_rows(str(folder))
    assert rows.columns == ["question", "image"] and rows.column("image")[1]["bytes"] == b"no image"
    rows.write([1], tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column("question").to_pylist() == ["b"]
    with pytest.raises(UserError, match="no split 'val'; it has test"):
        open_rows(str(folder), split="val")


def test_questions_and_annotations_are_joined_by_id_and_written_as_two_files(tmp_path):
    question_file = {
        "data_subtype": "val2014",
        "questions": [{"question_id": i, "question": f"{i}?"} for i in (5, 6, 7)],
    }
    annotation_file = {"annotations": [{"question_id": i, "answer_type": f"type {i}"} for i in (7, 5, 6)]}
    questions = written(tmp_path / "q.json", json.dumps(question_file))
    annotations = written(tmp_path / "a.json", json.dumps(annotation_file))
    rows = JoinedRows(questions, annotations)
    assert rows.column("answer_type") == ["type 5", "type 6", "type 7"]
    rows.write([2, 0], tmp_path / "out")
    assert [row["question_id"] for row in json.loads((tmp_path / "out/q.json").read_text())["questions"]] == [
        7,
        5,
    ]
    assert [
        row["question_id"] for row in json.loads((tmp_path / "out/a.json").read_text())["annotations"]
    ] == [7, 5]
    written(annotations, json.dumps({"annotations": annotation_file["annotations"][:2]}))
    with pytest.raises(UserError, match="1 question without an annotation .6., 0 repeated"):
        JoinedRows(questions, annotations)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[{"a": NaN}]', "NaN is not valid JSON: write null"),
        ("a.json", "[1, 2]", "expected a list of JSON objects"),
        ("a.jsonl", '{"a": 1}\n{"a": ', "one object per line"),
        ("a.csv", "", "the file is empty"),
        ("a.parquet", "none", "not a Parquet file"),
    ],
)
def test_an_invalid_file_is_reported_in_one_message(tmp_path, name, text, message):
    with pytest.raises(UserError, match=message):
        open_rows(str(written(tmp_path / name, text)))


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        open_rows(str(tmp_path / "none.json"))


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": 2}]', '{"a": 1}\n{"a": 2}\n'])
def test_a_byte_order_mark_changes_nothing(tmp_path, text):
    (tmp_path / "s.json").write_text(text, encoding="utf-8-sig")
    assert open_rows(str(tmp_path / "s.json")).column("a") == [1, 2]


def test_a_cell_may_hold_an_image(tmp_path):
    image = "iVBORw0KGgo" * 20_000  # 220 KB of base64, as in MM-UPD's tables
    (tmp_path / "s.tsv").write_text(f"index\tquestion\timage\n1\tWhat?\t{image}\n")
    assert open_rows(str(tmp_path / "s.tsv")).column("image") == [image]
