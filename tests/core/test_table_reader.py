from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.table_reader import detect_delimiter, label_rows, normalize_header

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
