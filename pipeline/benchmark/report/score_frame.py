"""Scores as a table for a notebook, a row for each model, subset and score; and tables as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.scoring.model_comparison import COMPARED_GROUPS, flatten_scores
from pipeline.scoring.model_report import ScoreReport

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "subset", "group", "score", "value", "low", "high"]
SUFFIXES = (".csv", ".xlsx", ".parquet")
MAX_EXCEL_ROWS, MAX_EXCEL_COLUMNS = 1_048_576, 16_384  # of a sheet, its head included
MAX_EXCEL_TEXT = 32_767  # letters of a cell
NO_INTERVAL = (float("nan"), float("nan"))  # no interval


def make_score_frame(report: ScoreReport) -> pd.DataFrame:
    """Every number of the scorers' report, a row each.

    `subset` is "mean" for the mean over subsets and "" for what is of the whole run; `score` is the way to the number
    within its group, with "/" between ("coverage_at_risk/0.01"). `low` and `high` are the interval, NaN where there
    is none. A model minus the first is the model "<name> - <first>", group "difference". What was not scored has no
    row, nor has a text (where a threshold is from).
    """
    import pandas as pd

    return pd.DataFrame(list(_iter_rows(report)), columns=pd.Index(COLUMNS))


def _iter_rows(report: ScoreReport) -> Iterator[tuple[Any, ...]]:
    for model in report.models:
        places: dict[str, Mapping[str, Mapping[str, Any]]] = dict(model.subsets)
        if model.mean:
            places["mean"] = model.mean
        if model.efficiency:
            places[""] = {"efficiency": model.efficiency}
        for subset, groups in places.items():
            intervals = groups.get("intervals", {})
            for group, scores in groups.items():
                if group != "intervals":
                    known = (
                        _flatten_intervals(scores)
                        if group == "by"
                        else intervals
                        if group in COMPARED_GROUPS
                        else {}
                    )
                    for name, value in flatten_scores(scores):
                        yield model.name, subset, group, name, value, *known.get(name, NO_INTERVAL)
    for difference in report.comparisons:
        model = f"{difference.model} - {difference.baseline}"
        for subset, scores in difference.scores.items():
            for name, change in scores.items():
                yield model, subset, "difference", name, change.difference, *(change.interval or NO_INTERVAL)
                if change.proportion_better is not None:
                    yield model, subset, "share_better", name, change.proportion_better, *NO_INTERVAL


def _flatten_intervals(slices: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Those of group "by", each by the way to its score."""
    return {
        f"{name}/{kind}/{score}": bounds
        for name, kinds in slices.items()
        if not isinstance(kinds, str)
        for kind, row in kinds.items()
        for score, bounds in row["intervals"].items()
    }


def check_table_suffix(path: Path | None) -> list[str]:
    """What keeps a table from being written: a name that does not say which kind is wanted."""
    if path is None or path.suffix.lower() in SUFFIXES:
        return []
    return [f"{path}: cannot write such a table; wanted a name that ends in {', '.join(SUFFIXES)}"]


def write_frame(frame: pd.DataFrame, path: Path, source: str = "scores") -> None:
    """Write a table as CSV, Excel or Parquet, as its name says; whole or not at all. `source` is told in errors. In
    Excel text that begins with = is text, no formula; characters that it cannot hold are shown as U+FFFD.

    Raises:
        UserError: it does not fit an Excel sheet, or Parquet finds a column of no one type.
    """
    import pyarrow as pa

    kind = path.suffix.lower()
    # In memory: a workbook that a full disk cuts off is told by its packer, too, in words of its own.
    sheet = _write_sheet(frame, source) if kind == ".xlsx" else b""
    with atomic_write(path) as file:
        if kind == ".csv":
            frame.to_csv(file, index=False)
        elif kind == ".xlsx":
            file.write(sheet)
        else:
            try:
                frame.to_parquet(file, index=False)
            # A column of numbers and texts, or numbers beyond 64 bits.
            except (pa.ArrowException, OverflowError) as error:
                raise UserError(f"{source}: a column is of no one type, so write .csv: {error}") from error


def _write_sheet(frame: pd.DataFrame, source: str) -> bytes:
    import pandas as pd

    rows, columns = frame.shape
    if rows >= MAX_EXCEL_ROWS or columns > MAX_EXCEL_COLUMNS:
        raise UserError(
            f"{source}: {format_count(rows, 'row')} and {format_count(columns, 'column')} do not fit an Excel sheet; write .parquet or .csv"
        )
    problems = Problems(f"{source}: cells of Excel hold {MAX_EXCEL_TEXT:,} letters; write .csv")
    for name in frame.columns:
        for number, value in enumerate(frame[name], 2):  # as a sheet counts, the head is row 1
            if isinstance(value, str) and len(value) > MAX_EXCEL_TEXT:
                problems.add(f"row {number}, column {name}", format_count(len(value), "letter"))
    problems.raise_if_any()
    frame = frame.replace(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", regex=True)
    with pd.ExcelWriter(file := BytesIO(), engine="openpyxl") as writer:
        frame.to_excel(writer, sheet_name="table", index=False, freeze_panes=(1, 0))
        for row in writer.sheets["table"].iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    cell.data_type = "s"
    return file.getvalue()
