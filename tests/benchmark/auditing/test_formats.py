"""Formats of labelled sets: known ones, and files of rows whose columns the user names."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.auditing.formats import detect_format
from pipeline.benchmark.auditing.labelled_set import ColumnOptions, load_labelled_set
from pipeline.core.errors import UserError
from pipeline.public_sets.row_sources import JoinedRows, open_rows

# Formats
# Each known format, in a small file with its exact layout (sources of the layouts: formats.py).


def read(path, rows, lines=False):
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return load_labelled_set(open_rows(str(path)), path.name)


def summarize(found):
    return found.format, found.label_names, found.texts, found.labels.tolist(), found.images


def test_pope(tmp_path):
    image = "COCO_val2014_000000296759.jpg"
    rows = [
        {
            "question_id": 2300,
            "image": image,
            "image_id": 296759,
            "text": "Is there a person in the image?",
            "label": "yes",
        },
        {
            "question_id": 2301,
            "image": image,
            "image_id": 296759,
            "text": "Is there a car in the image?",
            "label": "no",
        },
        {
            "question_id": 2304,
            "image": "COCO_val2014_000000223033.jpg",
            "text": "Is there a hot dog in the image?",
            "label": "yes",
        },
    ]
    found = read(tmp_path / "coco_pope_popular.json", rows, lines=True)
    assert summarize(found) == (
        "POPE",
        ("no", "yes"),
        [row["text"] for row in rows],
        [1, 0, 1],
        [row["image"] for row in rows],
    )


def test_pope_of_the_hub_has_three_sets_whose_ids_repeat(tmp_path):
    rows = [
        {
            "id": "0",
            "question_id": "1",
            "question": f"Is there a {thing}?",
            "answer": answer,
            "image_source": f"COCO_{i}",
            "category": kind,
        }
        for i, (thing, answer, kind) in enumerate([("dog", "yes", "popular"), ("cat", "no", "random")])
    ]
    found = read(tmp_path / "p.json", rows)
    assert (found.format, found.labels.tolist(), found.images) == ("POPE (hub)", [1, 0], ["COCO_0", "COCO_1"])


def test_hallusion_bench_may_have_figures_without_a_file(tmp_path):
    base = {
        "category": "VS",
        "subcategory": "chart",
        "set_id": "3",
        "sample_note": "",
        "gt_answer_details": "",
    }
    rows = [
        base
        | {
            "visual_input": "0",
            "figure_id": "0",
            "question_id": "0",
            "question": "Is A larger?",
            "gt_answer": "1",
            "filename": None,
        },
        base
        | {
            "visual_input": "2",
            "figure_id": "1",
            "question_id": "0",
            "question": "Is A larger?",
            "gt_answer": "0",
            "filename": "./3_1.png",
        },
        base
        | {
            "visual_input": "2",
            "figure_id": "1",
            "question_id": "1",
            "question": "Is A less?",
            "gt_answer": "1",
            "filename": "./3_1.png",
        },
    ]
    found = read(tmp_path / "HallusionBench.json", rows)
    assert (found.format, found.label_names, found.labels.tolist()) == (
        "HallusionBench",
        ("no", "yes"),
        [1, 0, 1],
    )
    assert found.images == ["VS_chart_3_0", "VS_chart_3_1", "VS_chart_3_1"]


def test_vizwiz_labels_unanswerable_questions(tmp_path):
    answers = [{"answer": "basil", "answer_confidence": "yes"}]
    rows = [
        {
            "image": f"VizWiz_val_0000000{i}.jpg",
            "question": "What is this?",
            "answers": answers,
            "answer_type": "other",
            "answerable": i % 2,
        }
        for i in range(3)
    ]
    found = read(tmp_path / "val.json", rows)
    assert (found.format, found.label_names[1], found.labels.tolist()) == (
        "VizWiz",
        "unanswerable",
        [1, 0, 1],
    )


def test_vqa_v2_uses_only_yes_no_questions(tmp_path):
    questions = {
        "questions": [{"image_id": 42, "question": f"Is it {i}?", "question_id": 42000 + i} for i in range(4)]
    }
    answers = [("yes/no", "yes"), ("yes/no", "no"), ("other", "net"), ("yes/no", "maybe")]
    annotations = {
        "annotations": [
            {
                "question_id": 42000 + i,
                "image_id": 42 + i,
                "answer_type": kind,
                "multiple_choice_answer": answer,
                "answers": [],
            }
            for i, (kind, answer) in enumerate(answers)
        ]
    }
    for name, content in (("q", questions), ("a", annotations)):
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(UserError, match="--annotations FILE"):
        load_labelled_set(open_rows(str(tmp_path / "q")), "q")
    joined = JoinedRows(tmp_path / "q", tmp_path / "a")
    with pytest.raises(UserError, match="all rows have the same image"):  # All questions have image 42.
        load_labelled_set(joined, "q")
    questions["questions"][1]["image_id"] = 43
    (tmp_path / "q").write_text(json.dumps(questions))
    found = load_labelled_set(JoinedRows(tmp_path / "q", tmp_path / "a"), "q")
    assert (found.format, found.labels.tolist()) == ("VQA v2", [1, 0])
    assert found.excluded_rows == {"not answered yes or no": 2} and found.row_indices.tolist() == [0, 1]


def test_mm_upd_is_read_with_its_options_and_both_versions_share_an_index(tmp_path):
    head = "index\thint\tquestion\tA\tB\tC\tD\tanswer\tcategory\timage\tsource\tl2-category\tsplit\tmasked_answer\ttype\n"
    rows = [
        "7\tnan\tWhich is it?\tred\tblue\tnan\t\tA\tcolour\tBASE64A\ts\tl\tdev\tnan\tstandard\n",
        "7\tnan\tWhich is it?\tblue\tgreen\tnan\t\tF\tcolour\tBASE64A\ts\tl\tdev\tA\tupd\n",
        "8\tLook up.\tHow many?\t1\t2\t\t\tB\tcount\tBASE64B\ts\tl\tdev\tnan\tstandard\n",
    ]
    (tmp_path / "mmaad.tsv").write_text(head + "".join(rows))
    found = load_labelled_set(open_rows(str(tmp_path / "mmaad.tsv")), "mmaad")
    assert found.texts == [
        "Which is it?\nA. red\nB. blue",
        "Which is it?\nA. blue\nB. green",
        "Look up.\nHow many?\nA. 1\nB. 2",
    ]
    assert (found.format, found.label_names, found.labels.tolist()) == (
        "MM-UPD",
        ("standard", "unsolvable"),
        [0, 1, 0],
    )
    assert (found.source_ids, found.images) == (["7", "7", "8"], ["BASE64A", "BASE64A", "BASE64B"])


def test_rgqa_links_an_edited_question_with_its_original(tmp_path):
    rows = [
        {"img_id": "n1", "question_id": "101", "sent": "Where is the cup?", "label": {"table": 1.0}},
        {"img_id": "n2", "question_id": "pthard_n1+101", "sent": "Where is the hat?", "label": {"UQ": 1.0}},
    ]
    found = read(tmp_path / "pt-hard.json", rows)
    assert summarize(found)[:2] == ("RGQA", ("AQ", "UQ")) and found.labels.tolist() == [0, 1]
    assert found.source_ids == ["101", "101"]


@pytest.mark.parametrize(
    ("key", "name"), [("source_question_id", "RGQA (table)"), ("question_id", "RGQA (table, before 2.0)")]
)
def test_the_tables_of_our_releases_are_known_too(tmp_path, key, name):
    rows = [
        {"item_id": "101", "image_id": "n1", key: "101", "question": "Where is it?", "label": 0, "answer": "here"},
        {"item_id": "pthard_n1+101", "image_id": "n2", key: "101", "question": "Where?", "label": 1, "answer": ""},
    ]  # fmt: skip
    found = read(tmp_path / "pt-hard-test.json", rows)
    assert (found.format, found.labels.tolist(), found.source_ids) == (name, [0, 1], ["101", "101"])


@pytest.mark.parametrize(
    ("column", "values", "label_names", "labels", "excluded"),
    [
        ("answer", ["yes", "No", "net", "yes."], ("no", "yes"), [1, 0, 1], {"not answered yes or no": 1}),
        ("answer", ["unanswerable", "no", "net", "yes"], ("answerable", "unanswerable"), [1, 0, 0, 0], {}),
        ("is_answerable", [True, False, 1, 0], ("answerable", "unanswerable"), [0, 1, 0, 1], {}),
    ],
)
def test_other_files_of_questions_images_and_answers(tmp_path, column, values, label_names, labels, excluded):
    rows = {
        str(i): {"imageId": f"p{i % 2}", "question": f"Is it {i}?", column: value}
        for i, value in enumerate(values)
    }
    found = read(tmp_path / "val_questions.json", rows)  # GQA's: an object by id
    assert (found.format, found.label_names, found.labels.tolist(), found.excluded_rows) == (
        "VQA style",
        label_names,
        labels,
        excluded,
    )


def test_an_unknown_format_is_reported_with_the_missing_columns():
    with pytest.raises(
        UserError,
        match="prompt, image.*--text-column NAME --label-column NAME",
    ):
        detect_format(["prompt", "image"], "x.json")


# Row sources
# Files of rows are read in any format, and selected rows are written in the same format.


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
        ("a.jsonl", '{"a": 1}\n{"a": ', "JSON Lines"),
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


# Labelled set
# Sets whose columns the user names, and invalid sets.


OPTIONS = ColumnOptions("t", "l", "g")


def source(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return open_rows(str(path))


def rows(*labels, texts=None, images=None):
    return [
        {"t": texts[i] if texts else f"word {i}", "l": label, "g": images[i] if images else i % 2}
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "positive", "label_names", "expected"),
    [
        (("valid", "invalid"), None, ("valid", "invalid"), [0, 1]),
        ((1.0, 0), None, ("0", "1"), [1, 0]),
        ((True, False), None, ("False", "True"), [1, 0]),
        (
            ("cat", "dog"),
            None,
            ("cat", "dog"),
            [0, 1],
        ),  # The later one in alphabetical order is the positive label.
        (("cat", "dog"), "cat", ("dog", "cat"), [1, 0]),
        (("a", "b", "c", "b"), "b", ("not b", "b"), [0, 1, 0, 1]),
        (({"a": 1}, {"UQ": 1}), "{'UQ': 1}", ("{'a': 1}", "{'UQ': 1}"), [0, 1]),
    ],
)
def test_two_values_are_the_labels_or_one_value_against_all_others(
    tmp_path, labels, positive, label_names, expected
):
    read = load_labelled_set(
        source(tmp_path / "s", rows(*labels)), "s", OPTIONS._replace(positive_label=positive)
    )
    assert (read.label_names, read.labels.tolist()) == (label_names, expected)


def test_rows_are_selected_by_a_column_and_keep_their_indices(tmp_path):
    given = [
        row | {"category": "popular" if i > 1 else "random"} for i, row in enumerate(rows("a", "b", "a", "b"))
    ]
    read = load_labelled_set(
        source(tmp_path / "s", given), "s", OPTIONS._replace(where=("category", "popular"))
    )
    assert (read.row_indices.tolist(), read.texts) == ([2, 3], ["word 2", "word 3"])
    assert (read.select(read.labels.argsort()[::-1]).row_indices.tolist()) == [3, 2]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (
            rows("a", "b"),
            ColumnOptions("t", "nosuch", "g"),
            "nosuch: no such column; the columns are t, l, g",
        ),
        (rows("a", "b"), ColumnOptions("t"), "give --text-column and --label-column together"),
        (rows("a", "b", "c"), OPTIONS, r"l has 3 values \('a' \(1\), .*--positive-label VALUE"),
        (
            rows("a", "b"),
            OPTIONS._replace(positive_label="z"),
            "no row has 'z' in l; the most common values are 'a'",
        ),
        (rows("a", "b"), OPTIONS._replace(where=("g", "9")), "no row has '9' in g"),
        (rows("a", "a"), OPTIONS, "no row has the label 'not a'"),
        (rows("a", None), OPTIONS, "row 2: the label is missing"),
        (rows("a", "b", texts=["x", " ?"]), OPTIONS, "row 2: the text is missing or has no words"),
        (rows("a", "b", texts=["x", 5]), OPTIONS, "row 2: the text is missing"),
        (
            rows("a", "b", texts=["x", "x " * 2501]),
            OPTIONS,
            "row 2: the text is longer than 5,000 characters",
        ),
        (rows("a", "b"), ColumnOptions(positive_label="a"), "--positive-label is a value of --label-column"),
        ([], OPTIONS, "no rows"),
        (rows("a", "b", images=["x", None]), OPTIONS, "row 2: the image is missing"),
        (rows("a", "b", images=["x", "x"]), OPTIONS, "all rows have the same image"),
    ],
)
def test_an_invalid_set_is_refused(tmp_path, given, options, message):
    with pytest.raises(UserError, match=message):
        load_labelled_set(source(tmp_path / "s", given), "s", options)


def test_all_problems_are_reported_together(tmp_path):
    given = [
        {"question_id": number, "image": "p", "text": text, "label": "yes"}
        for number, text in ((7, ""), (7, "Is it?"), (8, "Is it so?"))
    ]
    with pytest.raises(UserError) as error:
        load_labelled_set(source(tmp_path / "s", given), "s")
    assert error.value.problems == [
        "s: 4 problems",
        "row 1: the text is missing or has no words",
        "rows 1, 2: the id occurs more than once",
        "labels: no row has the label 'no', but two labels are needed; label has the values \"yes\" (3); "
        "to use other values as labels, give --text-column NAME --label-column NAME --positive-label VALUE",
        "images: all rows have the same image; name another column with --image-column",
    ]


def test_an_empty_cell_is_not_a_label(tmp_path):
    (tmp_path / "s.csv").write_text("t,l\nIs it?,yes\nIs it so?,\nIt is,no\n")
    with pytest.raises(UserError, match="row 2: the label is missing"):
        load_labelled_set(open_rows(str(tmp_path / "s.csv")), "s", ColumnOptions("t", "l"))
