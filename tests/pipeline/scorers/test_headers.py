from pathlib import Path

import pytest

from pipeline.scorers.headers import columns, delimited, named_cells
from pipeline.scorers.validation import InputError

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
def test_known_columns_are_known_however_they_are_written(written, read):
    assert columns([written], FILE) == [read]


def test_a_column_that_is_there_twice_is_refused_however_it_is_written():
    with pytest.raises(InputError, match="the header names confidence more than once"):
        columns(["id", "confidence", "Confidence"], FILE)


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
def test_what_stands_between_cells_is_told_by_the_header(header, expected):
    assert delimited(f"{header}\n1,2;3\t4\n", ",") == expected


def test_empty_rows_are_passed_over_and_surplus_cells_told_by_their_rows():
    rows = named_cells(["a", "b"], [["1", "2", ""], ["", "", ""], ["3"], ["4", "5", "6"]], FILE)
    assert [next(rows), next(rows), next(rows)] == [{"a": "1", "b": "2"}, {"a": "3"}, {"a": "4", "b": "5"}]
    with pytest.raises(InputError, match="1 rows have more cells than the header has names.* row 5"):
        next(rows)
