"""Compute and draw two curves: ACC over FPR (whose area is AUAF), and risk over coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from pipeline.core.rendering import PALETTE, chart_to_svg
from pipeline.scoring import acc_fpr_curve, risk_coverage_curve
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import JoinedPredictions, ScoringOptions
from pipeline.scoring.leaderboard.row_scores import join_row_predictions
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.selective_prediction import MIN_ANSWERS, has_enough_answers

CURVE_GRID = np.linspace(0, 1, 101)
# Dash pattern (stroke, gap) of lines. The next pattern is used when all colors of the previous one are used
# up.
LINE_DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
REFERENCE_COLORS, REFERENCE_DASHES = ("#8a8a8a", "#b5b5b5", "#5a5a5a"), ([1, 3], [5, 3])
# Built-in rows that are plotted. A plot of all two dozen built-in rows would be illegible.
PLOTTED_BUILT_IN_ROWS = ("msp", "frcnn", "rp", "ens")
CurvePoint = dict[str, str | float]


class CurveSpec(NamedTuple):
    """A plot.

    Attributes:
        name: Name of the file of the plot.
        title: Title of the plot.
        x, x_title, y, y_title: Field and title of both axes.
        compute: Computes the y values of a joined subset at the x values `CURVE_GRID`.
    """

    name: str
    title: str
    x: str
    x_title: str
    y: str
    y_title: str
    compute: Callable[[JoinedPredictions], np.ndarray]


def acc_at_fpr(joined: JoinedPredictions) -> np.ndarray:
    """Return the highest ACC at each FPR of `CURVE_GRID`; NaN if there are no AQs or no UQs."""
    acc, fpr = acc_fpr_curve(*joined.metric_inputs)
    return (
        np.interp(CURVE_GRID, fpr, acc)
        if np.isfinite([*acc, *fpr]).all()
        else np.full(len(CURVE_GRID), np.nan)
    )


def risk_at_coverage(joined: JoinedPredictions) -> np.ndarray:
    """Return the risk at each coverage of `CURVE_GRID`; NaN where too few items are answered."""
    coverage, risk, _ = risk_coverage_curve(joined.confidence, joined.correct)
    return np.where(
        has_enough_answers(CURVE_GRID, len(joined.items)), np.interp(CURVE_GRID, coverage, risk), np.nan
    )


CURVES = (
    CurveSpec(
        *("acc-fpr", "Accuracy over false acceptance", "fpr", "FPR: proportion of UQs accepted"),
        *("acc", "ACC: proportion of AQs accepted and correct", acc_at_fpr),
    ),
    CurveSpec(
        *(
            "risk-coverage",
            f"Risk over coverage, from {MIN_ANSWERS} answers on",
            "coverage",
            "coverage: proportion of questions answered",
        ),
        *("risk", "risk: proportion of these answered wrong", risk_at_coverage),
    ),
)


def select_plotted_rows(rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return the rows that are plotted: of the built-in rows only a few, all other rows."""
    return [
        row
        for row in rows
        if not row.is_built_in or row.name in PLOTTED_BUILT_IN_ROWS or row.kind == "reference"
    ]


def compute_curve_points(
    benchmark: Benchmark, rows: Sequence[LeaderboardRow], curve: CurveSpec
) -> list[CurvePoint]:
    """Return the points of every row in each of its subsets.

    For a row with several seeds, the points are means over seeds.
    """
    found: list[CurvePoint] = []
    for row in rows:
        for subset in (name for name in benchmark.subsets if name in row.seeds[0]):
            joined = (
                join_row_predictions(benchmark.subsets[subset], seed[subset], ScoringOptions())
                for seed in row.seeds
            )
            line = np.mean([curve.compute(at) for at in joined], axis=0)
            found += [
                {"row": row.name, "subset": subset, curve.x: round(float(x), 4), curve.y: round(float(y), 6)}
                for x, y in zip(CURVE_GRID, line, strict=True)
                if np.isfinite(y)
            ]
    return found


def draw_curves(points: Sequence[CurvePoint], rows: Sequence[LeaderboardRow], curve: CurveSpec) -> Markup:
    """Draw all subsets side by side as SVG."""
    import altair as alt

    def axis(kind: Any, field: str, title: str) -> Any:
        return kind(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))

    styles = assign_line_styles(rows)
    colors, dashes = ([style[part] for style in styles.values()] for part in (0, 1))
    legend = alt.Legend(
        title=None, orient="bottom", columns=6, labelLimit=220, symbolSize=300, symbolStrokeWidth=2
    )
    chart = (
        alt.Chart(alt.Data(values=[*points]))
        .mark_line(strokeWidth=1.8)
        .encode(
            axis(alt.X, curve.x, curve.x_title),
            axis(alt.Y, curve.y, curve.y_title),
            alt.Color("row:N", sort=None, scale=alt.Scale(domain=[*styles], range=colors), legend=legend),
            alt.StrokeDash(
                "row:N", sort=None, scale=alt.Scale(domain=[*styles], range=dashes), legend=legend
            ),
        )
        .properties(width=330, height=270)
        .facet(alt.Facet("subset:N", title=None), columns=2)
        .properties(title=alt.Title(curve.title, anchor="start", offset=12))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#e6e6e6")
        .configure_legend(labelFontSize=12)
        .configure_header(labelFontSize=13)
    )
    return chart_to_svg(chart)


def assign_line_styles(rows: Sequence[LeaderboardRow]) -> Mapping[str, tuple[str, list[int]]]:
    """Assign color and dashes to each row. Up to 28 models have distinct styles; references are gray."""
    models = [row.name for row in rows if row.kind == "model"]
    grey = [row.name for row in rows if row.kind == "reference"]
    styles = {
        name: (PALETTE[i % len(PALETTE)], LINE_DASHES[i // len(PALETTE) % len(LINE_DASHES)])
        for i, name in enumerate(models)
    }
    return styles | {
        name: (
            REFERENCE_COLORS[i % len(REFERENCE_COLORS)],
            REFERENCE_DASHES[i // len(REFERENCE_COLORS) % len(REFERENCE_DASHES)],
        )
        for i, name in enumerate(grey)
    }
