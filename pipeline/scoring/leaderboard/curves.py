"""The curves behind the scores: ACC over FPR and risk over coverage, as rows for DVC's plots and as one picture each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from pipeline.core.rendering import COLOURS, svg
from pipeline.scoring import acc_fpr_curve, risk_coverage_curve
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Answered, Options
from pipeline.scoring.leaderboard.row_scores import answered
from pipeline.scoring.leaderboard.rows import BoardRow
from pipeline.scoring.selective_prediction import FEW_ANSWERS, has_enough_answers

GRID = np.linspace(0, 1, 101)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])  # the next seven rows' lines, and so on
GREY, DOTTED = ("#8a8a8a", "#b5b5b5", "#5a5a5a"), ([1, 3], [5, 3])  # references
OURS = ("msp", "frcnn", "rp", "ens")  # of our nets' rows those that have a line: two dozen would be a thicket
Point = dict[str, str | float]


class Curve(NamedTuple):
    """A plot: its file's name, title, fields and titles of both axes."""

    name: str
    title: str
    x: str
    x_title: str
    y: str
    y_title: str
    of: Callable[[Answered], np.ndarray]


def acc_at_fpr(at: Answered) -> np.ndarray:
    """The highest ACC that is reached at each FPR of the grid; NaN where a kind of item is missing."""
    acc, fpr = acc_fpr_curve(*at.columns)
    return np.interp(GRID, fpr, acc) if np.isfinite([*acc, *fpr]).all() else np.full(len(GRID), np.nan)


def risk_at_coverage(at: Answered) -> np.ndarray:
    """The risk at each coverage of the grid; NaN where too few are answered."""
    coverage, risk, _ = risk_coverage_curve(at.confidence, at.correct)
    return np.where(has_enough_answers(GRID, len(at.items)), np.interp(GRID, coverage, risk), np.nan)


CURVES = (
    Curve(
        *("acc-fpr", "Accuracy over false acceptance", "fpr", "FPR: share of UQs accepted"),
        *("acc", "ACC: share of AQs accepted and right", acc_at_fpr),
    ),
    Curve(
        *(
            "risk-coverage",
            f"Risk over coverage, from {FEW_ANSWERS} answers on",
            "coverage",
            "coverage: share of questions answered",
        ),
        *("risk", "risk: share of these answered wrong", risk_at_coverage),
    ),
)


def with_lines(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows that are drawn: all but most of our own nets'."""
    return [row for row in rows if not row.ours or row.name in OURS or row.kind == "reference"]


def points(benchmark: Benchmark, rows: Sequence[BoardRow], curve: Curve) -> list[Point]:
    """Points of every row in every subset that it has; of several seeds the mean at each place."""
    found: list[Point] = []
    for row in rows:
        for subset in (name for name in benchmark.subsets if name in row.seeds[0]):
            said = (answered(benchmark.subsets[subset], seed[subset], Options()) for seed in row.seeds)
            line = np.mean([curve.of(at) for at in said], axis=0)
            found += [
                {"row": row.name, "subset": subset, curve.x: round(float(x), 4), curve.y: round(float(y), 6)}
                for x, y in zip(GRID, line, strict=True)
                if np.isfinite(y)
            ]
    return found


def picture(found: Sequence[Point], rows: Sequence[BoardRow], curve: Curve) -> Markup:
    """All subsets beside each other, as SVG."""
    import altair as alt

    def axis(kind: Any, field: str, title: str) -> Any:
        return kind(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))

    looks = look_of(rows)
    colours, dashes = ([look[part] for look in looks.values()] for part in (0, 1))
    legend = alt.Legend(
        title=None, orient="bottom", columns=6, labelLimit=220, symbolSize=300, symbolStrokeWidth=2
    )
    chart = (
        alt.Chart(alt.Data(values=[*found]))
        .mark_line(strokeWidth=1.8)
        .encode(
            axis(alt.X, curve.x, curve.x_title),
            axis(alt.Y, curve.y, curve.y_title),
            alt.Color("row:N", sort=None, scale=alt.Scale(domain=[*looks], range=colours), legend=legend),
            alt.StrokeDash("row:N", sort=None, scale=alt.Scale(domain=[*looks], range=dashes), legend=legend),
        )
        .properties(width=330, height=270)
        .facet(alt.Facet("subset:N", title=None), columns=2)
        .properties(title=alt.Title(curve.title, anchor="start", offset=12))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e6e6e6")
        .configure_legend(labelFontSize=12)
        .configure_header(labelFontSize=13)
    )
    return svg(chart)


def look_of(rows: Sequence[BoardRow]) -> Mapping[str, tuple[str, list[int]]]:
    """Colour and dashes of each row's line; those of 28 models differ, references are grey."""
    models = [row.name for row in rows if row.kind == "model"]
    grey = [row.name for row in rows if row.kind == "reference"]
    looks = {
        name: (COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i, name in enumerate(models)
    }
    return looks | {
        name: (GREY[i % len(GREY)], DOTTED[i // len(GREY) % len(DOTTED)]) for i, name in enumerate(grey)
    }
