import math

import pandas as pd
import pytest
from openpyxl import load_workbook

from pipeline.benchmark.report.score_frame import COLUMNS, check_table_suffix, make_score_frame, write_frame
from pipeline.scoring.model_comparison import ModelComparison, ScoreDifference
from pipeline.scoring.model_report import ModelReport, ScoreReport

GROUPS = {
    "counts": {"items": 4},
    "realistic": {"auaf": 0.1 + 0.2, "ff95": math.nan},
    "pairs": {"dual_accuracy": 0.5, "threshold": math.inf, "threshold_source": "validation"},
    "selective": {"auc": 0.25, "coverage_at_risk": {"0.01": 0.75}},
    "calibration": {"unavailable": "no probabilities", "correct": {"ece": 0.25}},
    "subgroups": {"category": {"odd": {"auroc": 1.0, "uqs": 3, "intervals": {"auroc": (0.3, 1.0)}}}},
    "intervals": {"auaf": (0.2, 0.4), "dual_accuracy": (0.0, 1.0), "correct/ece": (0.125, 0.5)},
}
MEAN = {"realistic": {"auaf": 0.5}, "intervals": {"auaf": (0.45, 0.55)}}
CHANGE = ScoreDifference(-0.1, (-0.2, 0.1), 0.125)
REPORT = ScoreReport(
    {},
    {},
    {},
    [ModelReport("=m", "", {"x": GROUPS}, MEAN, {"requests": 3})],
    [ModelComparison("n", "=m", {"x": {"auaf": CHANGE}})],
)
ROWS = [
    ("=m", "x", "counts", "items", 4.0, None, None),
    ("=m", "x", "realistic", "auaf", 0.1 + 0.2, 0.2, 0.4),
    ("=m", "x", "realistic", "ff95", None, None, None),
    ("=m", "x", "pairs", "dual_accuracy", 0.5, 0.0, 1.0),
    ("=m", "x", "pairs", "threshold", math.inf, None, None),
    ("=m", "x", "selective", "auc", 0.25, None, None),
    ("=m", "x", "selective", "coverage_at_risk/0.01", 0.75, None, None),
    ("=m", "x", "calibration", "correct/ece", 0.25, 0.125, 0.5),
    ("=m", "x", "subgroups", "category/odd/auroc", 1.0, 0.3, 1.0),
    ("=m", "x", "subgroups", "category/odd/uqs", 3.0, None, None),
    ("=m", "mean", "realistic", "auaf", 0.5, 0.45, 0.55),
    ("=m", "", "efficiency", "requests", 3.0, None, None),
    ("n - =m", "x", "difference", "auaf", -0.1, -0.2, 0.1),
    ("n - =m", "x", "proportion_better", "auaf", 0.125, None, None),
]


def rows_of(frame):
    return [
        tuple(None if isinstance(value, float) and math.isnan(value) else value for value in row)
        for row in frame.itertuples(index=False)
    ]


def test_every_number_is_a_row_with_its_interval():
    frame = make_score_frame(REPORT)
    assert list(frame.columns) == COLUMNS == ["model", "subset", "group", "score", "value", "low", "high"]
    assert rows_of(frame) == ROWS


@pytest.mark.parametrize(
    ("name", "read"),
    [("t.csv", pd.read_csv), ("t.XLSX", pd.read_excel), ("t.parquet", pd.read_parquet)],
)
def test_a_table_is_read_back_as_it_was_written(tmp_path, name, read):
    write_frame(make_score_frame(REPORT), tmp_path / "new" / name)
    rows = rows_of(read(tmp_path / "new" / name).fillna({"subset": ""}).replace("inf", math.inf))
    # Excel stores 16 digits, so 0.1 + 0.2 becomes 0.3.
    assert rows == [tuple(0.3 if x == 0.1 + 0.2 and "XLSX" in name else x for x in row) for row in ROWS]


def test_a_name_that_starts_like_a_formula_stays_text_in_excel(tmp_path):
    write_frame(make_score_frame(REPORT), tmp_path / "t.xlsx")
    sheet = load_workbook(tmp_path / "t.xlsx")["table"]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"inlineStr", "s", "n"}
    assert sheet["A2"].value == "=m" and sheet.freeze_panes == "A2"


def test_the_suffix_of_a_table_must_be_known(tmp_path):
    assert check_table_suffix(None) == [] == check_table_suffix(tmp_path / "t.parquet")
    assert "use a name that ends in .csv, .xlsx, .parquet" in check_table_suffix(tmp_path / "t.json")[0]
