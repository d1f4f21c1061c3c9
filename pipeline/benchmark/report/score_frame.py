"""Convert scores to a table with one row per model, subset and score, and write tables to files."""

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
# Maximum number of rows (including the header) and columns of an Excel sheet.
MAX_EXCEL_ROWS, MAX_EXCEL_COLUMNS = 1_048_576, 16_384
# Maximum number of characters of a cell.
MAX_EXCEL_TEXT = 32_767
NO_INTERVAL = (float("nan"), float("nan"))


def make_score_frame(report: ScoreReport) -> pd.DataFrame:
    """Return a table with one row for each number of the report.

    Columns:
        model: Name of the model, or "<name> - <first>" for a difference to the first model.
        subset: Name of the subset, "mean" for the mean over subsets, or "" for a value of the whole run.
        group: Group of the score, or "difference" or "proportion_better" for a difference.
        score: Path of the number within its group, such as "coverage_at_risk/0.01".
        value: The number.
        low, high: Ends of the interval of the number, or NaN if there is none.

    Scores that were not computed, and values that are texts, have no row.
    """
    import pandas as pd

    return pd.DataFrame(list(_iter_rows(report)), columns=pd.Index(COLUMNS))


def _iter_rows(report: ScoreReport) -> Iterator[tuple[Any, ...]]:
    for model in report.models:
        scopes: dict[str, Mapping[str, Mapping[str, Any]]] = dict(model.subsets)
        if model.mean:
            scopes["mean"] = model.mean
        if model.efficiency:
            scopes[""] = {"efficiency": model.efficiency}
        for subset, groups in scopes.items():
            intervals = groups.get("intervals", {})
            for group, scores in groups.items():
                if group != "intervals":
                    known = (
                        _flatten_intervals(scores)
                        if group == "subgroups"
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
                    yield model, subset, "proportion_better", name, change.proportion_better, *NO_INTERVAL


def _flatten_intervals(slices: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return path of a score -> interval, for the group "subgroups"."""
    return {
        f"{name}/{kind}/{score}": bounds
        for name, kinds in slices.items()
        if not isinstance(kinds, str)
        for kind, row in kinds.items()
        for score, bounds in row["intervals"].items()
    }


def check_table_suffix(path: Path | None) -> list[str]:
    """Return a list with a fault if the suffix of a file is not that of a supported format, otherwise []."""
    if path is None or path.suffix.lower() in SUFFIXES:
        return []
    return [f"{path}: unknown table format; use a name that ends in {', '.join(SUFFIXES)}"]


def write_frame(frame: pd.DataFrame, path: Path, source: str = "scores") -> None:
    """Write a table atomically as CSV, Excel or Parquet, depending on the suffix of the file.

    In Excel, text that starts with "=" is not a formula, and unsupported characters are replaced by U+FFFD.

    Args:
        frame: The table.
        path: The file.
        source: What the table contains, for messages.

    Raises:
        UserError: The table does not fit into an Excel sheet, or a column has mixed types and cannot be
            written as Parquet.
    """
    import pyarrow as pa

    kind = path.suffix.lower()
    # The workbook is made in memory, because openpyxl reports a full disk with an error of its own.
    sheet = _write_sheet(frame, source) if kind == ".xlsx" else b""
    with atomic_write(path) as file:
        if kind == ".csv":
            frame.to_csv(file, index=False)
        elif kind == ".xlsx":
            file.write(sheet)
        else:
            try:
                frame.to_parquet(file, index=False)
            # These errors mean that a column has numbers and texts, or integers beyond 64 bits.
            except (pa.ArrowException, OverflowError) as error:
                raise UserError(f"{source}: a column has mixed types; write .csv instead: {error}") from error


def _write_sheet(frame: pd.DataFrame, source: str) -> bytes:
    import pandas as pd

    rows, columns = frame.shape
    if rows >= MAX_EXCEL_ROWS or columns > MAX_EXCEL_COLUMNS:
        raise UserError(
            f"{source}: {format_count(rows, 'row')} and {format_count(columns, 'column')} do not fit into an Excel"
            " sheet; write .parquet or .csv instead"
        )
    problems = Problems(
        f"{source}: an Excel cell holds at most {MAX_EXCEL_TEXT:,} characters; write .csv instead"
    )
    for name in frame.columns:
        # The header is row 1 of the sheet.
        for number, value in enumerate(frame[name], 2):
            if isinstance(value, str) and len(value) > MAX_EXCEL_TEXT:
                problems.add(f"row {number}, column {name}", format_count(len(value), "character"))
    problems.raise_if_any()
    frame = frame.replace(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", regex=True)
    with pd.ExcelWriter(file := BytesIO(), engine="openpyxl") as writer:
        frame.to_excel(writer, sheet_name="table", index=False, freeze_panes=(1, 0))
        for row in writer.sheets["table"].iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    cell.data_type = "s"
    return file.getvalue()
