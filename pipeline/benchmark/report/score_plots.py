"""Draw plots of scores. Each plot shows all models.

The plots are the ACC-FPR curve, risk over coverage, reliability, confidences, and AUAF by category.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.benchmark.report import score_curves
from pipeline.benchmark.report.score_curves import PlotRow
from pipeline.core.atomic_files import atomic_write
from pipeline.core.rendering import PALETTE, chart_to_svg
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import JoinedPredictions, Predictions, ScoringOptions
from pipeline.scoring.selective_prediction import MIN_ANSWERS

if TYPE_CHECKING:
    import altair

# The points of shorter curves are marked.
MIN_LINE_POINTS = 30
PlotRows = list[PlotRow]


def write_plots(
    benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions, folder: Path
) -> list[Path]:
    """Write `<subset>-<plot>.svg` and `.png` into `folder`, and return the paths."""
    import vl_convert

    paths = []
    for subset, items in benchmark.subsets.items():
        predictions = {model.name: join_predictions(items, model, options) for model in models}
        for name, chart in make_charts(predictions, options, subset).items():
            images = {
                "svg": chart_to_svg(chart).encode(),
                "png": vl_convert.vegalite_to_png(chart.to_json(), scale=2),
            }
            for kind, image in images.items():
                paths.append(folder / f"{subset}-{name}.{kind}")
                with atomic_write(paths[-1]) as file:
                    file.write(image)
    return paths


def make_charts(
    predictions: Mapping[str, JoinedPredictions], options: ScoringOptions, subset: str
) -> dict[str, altair.TopLevelMixin]:
    """Return the plots of a subset by name. Undefined plots are omitted."""

    def rows(compute: Callable[[JoinedPredictions, ScoringOptions], PlotRows]) -> PlotRows:
        return [
            {"model": name} | row for name, joined in predictions.items() for row in compute(joined, options)
        ]

    scope = (
        f"{subset}, split {options.split}" if any(next(iter(predictions.values())).items["split"]) else subset
    )
    intervals = (
        f"; 95 % intervals: bootstrap over images, {options.bootstrap:,} replicates"
        if options.bootstrap
        else ""
    )
    charts = {
        "acc-fpr": _draw_acc_fpr(
            rows(score_curves.compute_acc_fpr), rows(score_curves.compute_acc_band), scope + intervals
        ),
        "risk-coverage": _draw_risk_coverage(rows(score_curves.compute_risk_coverage), scope),
        "reliability": _draw_reliability(rows(score_curves.compute_reliability), scope),
        "confidences": _draw_confidences(rows(score_curves.compute_confidence_histograms), scope),
        "by-category": _draw_auaf_by_category(rows(score_curves.compute_auaf_by_category), scope + intervals),
    }
    return {name: _apply_style(chart) for name, chart in charts.items() if chart is not None}


def _draw_acc_fpr(curve: PlotRows, band: PlotRows, subset: str) -> Any:
    if not curve:
        return None
    x, y = (
        _proportion_axis("x", "FPR: proportion of UQs accepted"),
        _proportion_axis("y", "ACC: proportion of AQs accepted and right"),
    )
    lines = _model_lines(curve).encode(x, y)
    if not band:
        return lines.properties(title=_make_title("Accuracy over false acceptance", subset))
    import altair as alt

    bands = (
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.18)
        .encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), _model_colour())
    )
    return (bands + lines).properties(title=_make_title("Accuracy over false acceptance", subset))


def _draw_risk_coverage(rows: PlotRows, subset: str) -> Any:
    x, y = (
        _proportion_axis("x", "coverage: proportion of questions answered"),
        _proportion_axis("y", "risk: proportion of these answered wrong"),
    )
    return (
        _model_lines(rows)
        .encode(x, y)
        .properties(title=_make_title("Risk over coverage", f"{subset}; from {MIN_ANSWERS} answers on"))
    )


def _draw_reliability(rows: PlotRows, subset: str) -> Any:
    if not rows:
        return None
    import altair as alt

    x, y = _proportion_axis("x", "mean confidence of a bin"), _proportion_axis("y", "observed rate")
    size = alt.Size(
        "items:Q",
        title="items of the bin",
        scale=alt.Scale(range=[10, 250]),
        legend=alt.Legend(tickCount=3, orient="right"),
    )
    base = alt.Chart().encode(x, y, _model_colour())
    diagonal = base.mark_rule(color="gray", strokeDash=[4, 4]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1), color=alt.value("gray")
    )
    line = base.mark_line(strokeWidth=1.5).encode(order="order:Q")
    layers = alt.layer(
        diagonal, line, base.mark_circle(opacity=0.8).encode(size=size), data=alt.Data(values=rows)
    )
    return (
        layers.properties(width=300, height=260)
        .facet(column=alt.Column("outcome:N", title=None))
        .properties(title=_make_title("Reliability diagram", subset))
    )


def _draw_confidences(rows: PlotRows, subset: str) -> Any:
    import altair as alt

    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.55, binSpacing=0)
        .encode(
            x=alt.X("from:Q", title="confidence that the question is answerable"),
            x2="to:Q",
            y=alt.Y("items:Q", stack=None, title="items"),
            y2=alt.datum(0),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(range=PALETTE)),
            row=alt.Row("model:N", title=None, sort=[*dict.fromkeys(row["model"] for row in rows)]),
        )
    )
    return bars.properties(width=400, height=140, title=_make_title("Confidences of AQs and UQs", subset))


def _draw_auaf_by_category(rows: PlotRows, subset: str) -> Any:
    if not rows:
        return None
    import altair as alt

    y = alt.Y("kind:N", title=None)
    offset = alt.YOffset("model:N", sort=None, scale=alt.Scale(paddingInner=0.3))
    base = alt.Chart(alt.Data(values=rows))
    spans = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    spans = spans.encode(
        _proportion_axis("low", "AUAF (for fewer than 20 UQs only the interval)"),
        y,
        offset,
        _model_colour(),
        x2="high:Q",
    )
    dots = (
        base.mark_circle(size=60, opacity=1)
        .encode(_proportion_axis("x", ""), y, offset, _model_colour())
        .transform_filter("datum.x != null")
    )
    models = len({row["model"] for row in rows})
    height = alt.Step(max(16, 30 // models))
    return (spans + dots).properties(height=height, title=_make_title("AUAF by category", subset))


def _model_lines(rows: PlotRows) -> Any:
    """Return a chart with one line per model."""
    import altair as alt

    marked = len(rows) < MIN_LINE_POINTS * len({row["model"] for row in rows})
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2, point=marked)
        .encode(_model_colour(), order="order:Q")
    )


def _proportion_axis(channel: str, title: str) -> Any:
    """Return an axis from 0 to 100 % for the field `channel`."""
    import altair as alt

    kind = alt.Y if channel == "y" else alt.X
    return kind(f"{channel}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _model_colour() -> Any:
    import altair as alt

    return alt.Color("model:N", title=None, sort=None, scale=alt.Scale(range=PALETTE))


def _make_title(text: str, subset: str) -> Any:
    import altair as alt

    return alt.Title(text, subtitle=subset, anchor="start")


def _apply_style(chart: Any) -> altair.TopLevelMixin:
    """Use font sizes that are readable on a slide, and no frame."""
    sized: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 13}
    return (
        chart.configure_view(stroke=None)
        .configure_axis(**sized, gridColor="#e6e6e6", titleFontWeight="normal", labelLimit=260)
        .configure_legend(**sized, orient="bottom", labelLimit=300, symbolOpacity=1, titleFontWeight="normal")
        .configure_header(**sized)
        .configure_title(fontSize=15, subtitleFontSize=12, subtitleColor="#555555", offset=12)
    )
