"""Scores as a table for a notebook: a row for each model, subset and score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.files import replacing

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "subset", "group", "score", "value", "low", "high"]
SUFFIXES = (".csv", ".xlsx", ".parquet")
NONE = (float("nan"), float("nan"))  # no interval


def score_frame(report: Mapping[str, Any]) -> pd.DataFrame:
    """Every number of the scorers' report, a row each.

    `subset` is "mean" for the mean over subsets and "" for what is of the whole run; `score` is the way to the number
    within its group, with "/" between ("coverage_at_risk/0.01"). `low` and `high` are the interval, NaN where there
    is none. A model minus the first is the model "<name> - <first>", group "difference". What was not scored has no
    row, nor has a text (where a threshold is from).
    """
    import pandas as pd

    return pd.DataFrame(list(_rows(report)), columns=pd.Index(COLUMNS))


def _rows(report: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for model in report["models"]:
        places = model["subsets"] | ({"mean": model["mean"]} if "mean" in model else {})
        if "efficiency" in model:
            places |= {"": {"efficiency": model["efficiency"]}}
        for subset, groups in places.items():
            intervals = groups.get("intervals", {})
            # The interval of a score is told by its name; it is of the group by which models are compared.
            for group, scores in groups.items():
                if group != "intervals":
                    for name, value in _numbers(scores):
                        yield model["name"], subset, group, name, value, *_interval(group, name, intervals)
    for difference in report["differences"]:
        model = f"{difference['model']} - {difference['against']}"
        for subset, scores in difference["scores"].items():
            for name, row in scores.items():
                yield model, subset, "difference", name, row["difference"], *row.get("interval", NONE)
                if "share_better" in row:
                    yield model, subset, "share_better", name, row["share_better"], *NONE


def _interval(group: str, name: str, intervals: Mapping[str, Any]) -> tuple[float, float]:
    low, high = intervals.get(name, NONE) if group in ("realistic", "pairs", "answers") else NONE
    return low, high


def _numbers(scores: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for name, value in scores.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif not isinstance(value, str):
            yield above + name, float(value)


def table_problems(path: Path | None) -> list[str]:
    """What keeps a table from being written: a name that does not say which kind is wanted."""
    if path is None or path.suffix.lower() in SUFFIXES:
        return []
    return [f"{path}: cannot write such a table; wanted a name that ends in {', '.join(SUFFIXES)}"]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, Excel or Parquet, as its name says; whole or not at all."""
    kind, buffer = path.suffix.lower(), BytesIO()
    if kind == ".csv":
        frame.to_csv(buffer, index=False)
    elif kind == ".parquet":
        frame.to_parquet(buffer, index=False)
    else:
        _write_sheet(frame, buffer)
    with replacing(path) as file:
        file.write(buffer.getvalue())


def _write_sheet(frame: pd.DataFrame, buffer: BytesIO) -> None:
    import pandas as pd

    with pd.ExcelWriter(buffer, engine="openpyxl") as writer:
        frame.to_excel(writer, sheet_name="scores", index=False, freeze_panes=(1, 0))
        for row in writer.sheets["scores"].iter_rows():
            for cell in row:
                if cell.data_type == "f":  # a name that begins with "=" is a name, not a formula
                    cell.data_type = "s"
