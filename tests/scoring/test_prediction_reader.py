"""How predictions are read, warnings about them, and resources."""

import csv
import gzip
import json
import math
import re

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.table_reader import DEFAULT_DELIMITERS
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import FILE_OPTIONS, ScoringOptions
from pipeline.scoring.model_report import GROUP_NAMES
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.prediction_warnings import find_prediction_warnings
from pipeline.scoring.resources import RESOURCES, find_resource_groups, read_resources
from pipeline.scoring.row_reader import read_rows
from tests.scoring.conftest import ROWS, model, predictions, scored, write

# Prediction reader


def test_all_file_forms_and_any_order_give_the_same_numbers(release, tmp_path):
    rows = [{"question_id": i, "answer": said, "confidence": c} for i, *_, said, c in reversed(ROWS)]
    (tmp_path / "j.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with (tmp_path / "c.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["question_id", "answer", "confidence"])
        table.writeheader()
        table.writerows(rows)
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "p.parquet")
    write(tmp_path / "m.json", predictions())
    write(tmp_path / "o.json", {"version": "1.0.0", "predictions": predictions()})
    found = [
        scored(tmp_path, release, tmp_path / name, "--bootstrap", 20)["models"][0]["subsets"]
        for name in ("m.json", "o.json", "j.jsonl", "c.csv", "p.parquet")
    ]
    assert all(subsets == found[0] for subsets in found)


def test_every_faulty_row_is_listed(tmp_path):
    bad = [
        {"questionId": "a1", "prediction": "red", "confidence": math.nan},
        {"questionId": "u1", "prediction": "red", "confidence": math.inf},
        {"questionId": "a2", "prediction": "red", "confidence": "high"},
        {"questionId": "u2", "prediction": 3, "confidence": 0.5},
        {"questionId": "a3", "prediction": "red", "confidence": True},
        {"questionId": "a3", "prediction": "red", "confidence": 1},
        {"prediction": "x"},
    ]
    assert [line.partition("; ")[0] for line in read_predictions(write(tmp_path / "m.json", bad)).faults] == [
        f"{tmp_path}/m.json: 7 faults",
        "row 1 (a1): confidence is nan, expected a finite number",
        "row 2 (u1): confidence is inf, expected a finite number",
        "row 3 (a2): confidence is 'high', expected a number",
        "row 4 (u2): the answer is 3, expected a string",
        "row 5 (a3): confidence is True, expected a number",
        "row 7: has prediction",
        "row 6: duplicate id 'a3'",
    ]


def test_confidences_are_given_for_all_rows_or_for_none(tmp_path):
    rows = [{"id": 1, "answer": "red", "confidence": 0.5}, {"id": 2, "answer": "", "confidence": None}]
    assert read_predictions(write(tmp_path / "m.json", rows)).faults[1:] == (
        "1 row has no `confidence`, but other rows have one (row 2)",
    )
    none = read_predictions(write(tmp_path / "m.json", [{"id": 1, "answer": "red"}, rows[1]]))
    assert none.confidence is None and none.faults == () and none.answer_by_id == {"1": "red", "2": ""}


def test_a_csv_has_numbers_as_text_and_may_begin_with_a_mark(tmp_path):
    (tmp_path / "m.csv").write_text("\ufeffid,answer,confidence\n1,red,0.25\n2,blue,high\n")
    found = read_predictions(tmp_path / "m.csv")
    assert (
        found.index_by_id == {"1": 0, "2": 1} and found.confidence is not None and found.confidence[0] == 0.25
    )
    assert "row 2 (2): confidence is 'high', expected a number" in found.faults


def test_confidences_written_as_text_are_numbers_only_in_a_table(tmp_path):
    (tmp_path / "m.csv").write_text("id,answer,confidence\na,red,0.25\nb,blue,0.75\n")
    table = read_predictions(tmp_path / "m.csv")
    assert table.confidence is not None and table.confidence.tolist() == [0.25, 0.75]
    rows = [{"id": i, "answer": "red", "confidence": text} for i, text in (("a", "0.25"), ("b", "0.75"))]
    assert read_predictions(write(tmp_path / "m.json", rows)).faults[1:] == (
        "row 1 (a): confidence is '0.25', expected a number",
        "row 2 (b): confidence is '0.75', expected a number",
    )


def test_the_version_may_be_in_the_file_or_in_its_rows(tmp_path):
    row = {"id": 1, "answer": "red"}
    assert read_predictions(write(tmp_path / "m.json", [row])).benchmark_version == ""
    assert (
        read_predictions(
            write(tmp_path / "m.json", {"benchmark_version": 2, "predictions": [row]})
        ).benchmark_version
        == "2"
    )
    # With and without a confidence in the row.
    assert read_predictions(write(tmp_path / "m.json", [row | {"version": "1.1"}])).benchmark_version == "1.1"
    rows = [row | {"version": "1.2", "confidence": 1}]
    assert read_predictions(write(tmp_path / "m.json", rows)).benchmark_version == "1.2"


def test_an_empty_file_is_a_fault(tmp_path):
    assert read_predictions(write(tmp_path / "m.json", [])).faults[1:] == ("no rows",)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("m.json", b"3", "expected a list of objects"),
        ("m.json", b"[3]", "expected a list of objects"),
        ("m.jsonl", b'{"id": 1}\n{', "line 2: not valid JSON"),
        ("m.csv", b"id,answer\n1,\xff\n", "not UTF-8 text"),
        ("m.parquet", b"PAR1", "not a Parquet file"),
    ],
)
def test_files_that_hold_no_rows_are_refused(tmp_path, name, data, expected):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=expected):
        read_predictions(tmp_path / name)


def test_an_answer_beside_what_may_be_the_models_is_refused(tmp_path):
    # A log whose `answer` is the gold answer scored 100.
    rows = [{"question_id": str(i), "answer": "red", "response": "blue", "confidence": 0.5} for i in range(3)]
    faults = read_predictions(write(tmp_path / "log.json", rows)).faults
    assert "3 rows have `answer` beside response (rows 1, 2, 3)" in faults[1]
    named = [row | {"prediction": row["response"]} for row in rows]
    read = read_predictions(write(tmp_path / "log.json", named))
    assert read.faults == () and set(read.answer_by_id.values()) == {"blue"}


def test_a_file_packed_by_gzip_is_read(tmp_path):
    rows = [{"id": "a", "prediction": "red", "confidence": 0.5}]
    (tmp_path / "m.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    assert read_predictions(tmp_path / "m.json.gz").answer_by_id == {"a": "red"}
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(b"id,prediction,confidence\na,red,0.5\n"))
    packed = read_predictions(tmp_path / "m.csv.gz")
    assert packed.confidence is not None and packed.confidence.tolist() == [0.5]


def test_a_number_that_no_float_holds_is_refused(tmp_path):
    (tmp_path / "m.json").write_text(f'[{{"id": "a", "prediction": "red", "confidence": 1{"0" * 400}}}]')
    assert "a whole number of more than 300 digits" in read_predictions(tmp_path / "m.json").faults[1]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            "m.xls",
            b"\xd0\xcf",
            ".xls is not supported; expected .json, .jsonl, .csv, .tsv, .parquet, .xlsx or .eval",
        ),
        ("m.pkl", b"\x80\x04", ".pkl is not supported, since opening a pickle runs the code in it"),
        ("m.json", b"[" * 200_000, "nested too deep"),
        ("m.json", '[{"id": "a", "prediction": "caf\xe9"}]'.encode("latin-1"), "not UTF-8 text"),
        ("m.csv", "id,prediction\na,caf\xe9".encode("latin-1"), "not UTF-8 text"),
        ("m.json.gz", b"\x1f\x8b\x08broken", "not a gzip file, or truncated"),
    ],
)
def test_files_of_other_formats_are_refused_with_the_reason(tmp_path, name, data, expected):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=re.escape(expected)):
        read_predictions(tmp_path / name)


def test_rows_are_named_by_number_however_many_precede_them(tmp_path):
    rows = [{"id": i, "answer": "red", "confidence": i / 2000} for i in range(2000)]
    read = read_predictions(write(tmp_path / "m.json", rows))
    assert read.faults == () and read.confidence is not None and read.confidence[1999] == 1999 / 2000
    assert read.index_by_id == {str(i): i for i in range(2000)} and read.answer == ["red"] * 2000
    faulty = [
        *rows,
        {"id": 3, "answer": "red", "confidence": 1},
        {"id": "x", "answer": "red", "confidence": "1"},
    ]
    assert read_predictions(write(tmp_path / "m.json", faulty)).faults[1:] == (
        "row 2002 (x): confidence is '1', expected a number",
        "row 2001: duplicate id '3'",
    )


def test_rows_may_name_their_columns_differently(tmp_path):
    rows = [
        {"id": "a", "answer": "red", "confidence": 1},
        {"question_id": "b", "prediction": "blue", "confidence": 0.5},
        {"questionId": None, "id": "c", "answer": None, "prediction": "x", "confidence": 0},
    ]
    read = read_predictions(write(tmp_path / "m.json", rows))
    assert read.faults == () and read.answer_by_id == {"a": "red", "b": "blue", "c": "x"}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"id": 3, "answer": "red", "confidence": 1}, "row 2001: duplicate id '3'"),
        (
            {"id": "x", "answer": "red", "confidence": math.nan},
            "row 2001 (x): confidence is nan, expected a finite number",
        ),
        (
            {"id": "x", "answer": "red", "confidence": True},
            "row 2001 (x): confidence is True, expected a number",
        ),
        ({"id": "x", "answer": 3, "confidence": 1}, "row 2001 (x): the answer is 3, expected a string"),
        ({"id": "x", "answer": "red"}, "1 row has no `confidence`, but other rows have one (row 2001)"),
    ],
)
def test_one_faulty_row_after_many_good_ones_is_found(tmp_path, row, fault):
    rows = [{"id": i, "answer": "red", "confidence": i / 2000} for i in range(2000)]
    assert read_predictions(write(tmp_path / "m.json", [*rows, row])).faults[1:] == (fault,)


# What logs and tables of models call a model's words, and the right answer.
BESIDE = [
    "response",
    "responses",
    "resps",
    "filtered_resps",
    "output",
    "outputs",
    "pred",
    "predicted",
    "model_answer",
    "model_output",
    "model_response",
    "generated",
    "generation",
    "completion",
    "target",
    "targets",
    "label",
    "labels",
    "gold",
    "gold_answer",
    "gt",
    "gt_answer",
    "ground_truth",
    "reference",
]


@pytest.mark.parametrize("key", BESIDE)
def test_an_answer_beside_a_column_that_may_be_the_answer_is_ambiguous(tmp_path, key):
    path = write(tmp_path / "m.json", [{"question_id": "a", "answer": "red", key: "blue"}])
    assert f"1 row has `answer` beside {key} (row 1): it is unclear" in read_predictions(path).faults[1]


def test_labels_of_a_file_that_comes_in_parts_are_all_kept(tmp_path):
    # Parquet is read in stretches of rows; a label stands in the first and in the last of 70,000.
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    said = [True, *[None] * 69_998, False]
    columns = {"id": [str(i) for i in range(70_000)], "answer": ["red"] * 70_000, "abstained": said}
    parquet.write_table(pyarrow.table(columns), tmp_path / "m.parquet")
    assert read_predictions(tmp_path / "m.parquet").abstention_labels == {"0": 0.0, "69999": 1.0}


# Row reader


FILE_ROWS = [{"id": "a", "prediction": "red, or so"}, {"id": "b", "prediction": 'a "sign"'}]


def written(path):
    """The rows in the form of the file's name."""
    import io

    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if f".{kind}" in DEFAULT_DELIMITERS:
        text = io.StringIO()
        table = csv.DictWriter(text, ["id", "prediction"], delimiter=DEFAULT_DELIMITERS[f".{kind}"])
        table.writeheader()
        table.writerows(FILE_ROWS)
        data = text.getvalue().encode()
    elif kind == "jsonl":
        data = "\n".join(map(json.dumps, FILE_ROWS)).encode()
    elif kind == "parquet":
        parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.Table.from_pylist(FILE_ROWS), path)
        return path.read_bytes()
    else:
        data = json.dumps(FILE_ROWS).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return data


@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "m.csv", "m.tsv", "m.parquet", "m.csv.gz", "m"])
def test_every_format_has_the_same_rows(tmp_path, name):
    data = written(tmp_path / name)
    assert [*read_rows(tmp_path / name, data)[0]] == FILE_ROWS


def test_the_version_may_be_beside_the_rows(tmp_path):
    data = json.dumps({"predictions": FILE_ROWS, "version": "1.0.0"}).encode()
    rows, version = read_rows(tmp_path / "m.json", data)
    assert ([*rows], version) == (FILE_ROWS, "1.0.0")


@pytest.mark.parametrize(
    ("name", "why"),
    [("m.pkl", "runs the code in it; expected .json"), ("m.npz", "is not supported; expected .json")],
)
def test_unsupported_formats(tmp_path, name, why):
    with pytest.raises(UserError, match=why):
        read_rows(tmp_path / name, b"")


# Prediction warnings


def said(confidences, answers=("dog", "cat", "dog", "cat"), **options):
    """Warnings on two AQs (dog, cat) and two UQs, answered in this order."""
    items = [
        BenchmarkItem(str(i), "n", labels) for i, labels in enumerate(({"dog": 1.0}, {"cat": 1.0}, {}, {}))
    ]
    rows = {str(i): pair for i, pair in enumerate(zip(answers, confidences, strict=True))}
    chosen = ScoringOptions(**options)
    return find_prediction_warnings(join_predictions(Items.from_rows(items), model(rows), chosen), chosen)


def test_good_predictions_have_no_warnings():
    assert said([0.9, 0.8, 0.3, 0.1]) == []


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], "AUROC is 0.0, below chance"),
        ([9.0, 0.8, 0.3, -3.0], "2 confidences lie outside [0, 1]"),
        ([0.5, 0.5, 0.5, 0.5], "all confidences are 0.5"),
        ([1, 1, 0, 0], "all confidences are 0 or 1"),
    ],
)
def test_suspicious_confidences_give_a_warning(confidences, expected):
    (warning,) = said(np.array(confidences, float))
    assert expected in warning


def test_a_looser_match_mode_that_would_accept_more_is_suggested_with_examples():
    (warning,) = said([0.9, 0.8, 0.3, 0.1], ["Dog.", "cat", "dog", "cat"], match="exact")
    assert warning == "--match vqa would accept 1 more answer as correct: 'Dog.' for 'dog'"
    assert said([0.9, 0.8, 0.3, 0.1], ["Dog.", "cat", "dog", "cat"]) == []


def test_answers_that_contain_the_label_among_other_words_are_reported():
    (warning,) = said([0.9, 0.8, 0.3, 0.1], ["It is a dog.", "cat", "dog", "cat"])
    assert (
        "1 answer that counts as wrong contains the label among other words: 'It is a dog.' for 'dog'"
        in warning
    )


def test_detected_abstentions_get_no_confidence_warnings():
    assert said([0.1, 0.2, 0.8, 0.9], detect_abstention=True) == []


# Resources


def test_every_file_that_scores_may_need_has_a_name_and_a_group():
    assert {name.replace("-", "_") for name in RESOURCES} == set(FILE_OPTIONS) - {"synonyms"}
    assert {extra.score_group for extra in RESOURCES.values()} <= set(GROUP_NAMES)


def test_files_are_read_into_their_options(tmp_path):
    study = write(tmp_path / "h.json", [{"question_id": "a", "accepted": True}])
    (tmp_path / "log.jsonl").write_text(json.dumps({"seconds": 2}))
    found = read_resources(
        [
            f"human-judgments={study}",
            f"run-log={tmp_path / 'log.jsonl'}",
            f"scenes={write(tmp_path / 's', {})}",
        ],
        None,
    )
    assert (
        found["human_judgments"] == {"a": [True]}
        and found["run_log"]["latency_mean"] == 2.0
        and found["scenes"] == {}
    )
    # An empty file of scenes serves nothing.
    assert find_resource_groups(ScoringOptions(**found)) == ["human", "efficiency"]
    assert read_resources([], None) == {} and find_resource_groups(ScoringOptions()) == []


def test_all_problems_are_reported_at_once(tmp_path):
    with pytest.raises(UserError) as caught:
        read_resources(
            ["weather=x", "human-judgments", f"choices={tmp_path / 'none'}", f"choices={tmp_path}"], None
        )
    names = ", ".join(RESOURCES)
    assert caught.value.problems == [
        f"--resource weather=x: expected NAME=FILE, NAME one of {names}",
        f"--resource human-judgments: expected NAME=FILE, NAME one of {names}",
        f"{tmp_path / 'none'}: no such file",
        "--resource choices is given twice",
    ]
