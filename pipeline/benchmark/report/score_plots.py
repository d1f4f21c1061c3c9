"""Draw what the scores rest on, every model in each plot: ACC-FPR curve with bands, risk over coverage, reliability,
confidences, and AUAF by category."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.benchmark.report import score_curves
from pipeline.benchmark.report.score_curves import Row
from pipeline.core.atomic_files import replacing
from pipeline.core.rendering import COLOURS, svg
from pipeline.scoring.items import Benchmark
from pipeline.scoring.join import join
from pipeline.scoring.joined_predictions import Answered, Options, Predictions
from pipeline.scoring.selective_prediction import FEW_ANSWERS

if TYPE_CHECKING:
    import altair

FEW_POINTS = 30  # of a curve: then each is marked
Rows = list[Row]


def plot(benchmark: Benchmark, models: Sequence[Predictions], options: Options, folder: Path) -> list[Path]:
    """Write `<subset>-<plot>.svg` and `.png` into `folder`; return the paths."""
    import vl_convert

    paths = []
    for subset, items in benchmark.subsets.items():
        answered = {model.name: join(items, model, options) for model in models}
        for name, chart in charts(answered, options, subset).items():
            images = {"svg": svg(chart).encode(), "png": vl_convert.vegalite_to_png(chart.to_json(), scale=2)}
            for kind, image in images.items():
                paths.append(folder / f"{subset}-{name}.{kind}")
                with replacing(paths[-1]) as file:
                    file.write(image)
    return paths


def charts(
    answered: Mapping[str, Answered], options: Options, subset: str
) -> dict[str, altair.TopLevelMixin]:
    """The plots of a subset by name, those that are defined."""

    def rows(of: Callable[[Answered, Options], Rows]) -> Rows:
        return [{"model": name} | row for name, at in answered.items() for row in of(at, options)]

    what = f"{subset}, part {options.part}" if any(next(iter(answered.values())).items["part"]) else subset
    resampled = (
        f"; 95 % intervals: pictures resampled {options.bootstrap:,} times" if options.bootstrap else ""
    )
    drawn = {
        "acc-fpr": _acc_fpr(rows(score_curves.acc_fpr), rows(score_curves.acc_band), what + resampled),
        "risk-coverage": _risk_coverage(rows(score_curves.risk_coverage), what),
        "reliability": _reliability(rows(score_curves.reliability), what),
        "confidences": _confidences(rows(score_curves.confidences), what),
        "by-category": _by_category(rows(score_curves.by_category), what + resampled),
    }
    return {name: _dressed(chart) for name, chart in drawn.items() if chart is not None}


def _acc_fpr(curve: Rows, band: Rows, subset: str) -> Any:
    if not curve:
        return None
    x, y = _share("x", "FPR: share of UQs accepted"), _share("y", "ACC: share of AQs accepted and right")
    lines = _lines(curve).encode(x, y)
    if not band:
        return lines.properties(title=_title("Accuracy over false acceptance", subset))
    import altair as alt

    bands = (
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.18)
        .encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), _colour())
    )
    return (bands + lines).properties(title=_title("Accuracy over false acceptance", subset))


def _risk_coverage(rows: Rows, subset: str) -> Any:
    x, y = (
        _share("x", "coverage: share of questions answered"),
        _share("y", "risk: share of these answered wrong"),
    )
    return (
        _lines(rows)
        .encode(x, y)
        .properties(title=_title("Risk over coverage", f"{subset}; from {FEW_ANSWERS} answers on"))
    )


def _reliability(rows: Rows, subset: str) -> Any:
    if not rows:
        return None
    import altair as alt

    x, y = _share("x", "mean confidence of a bin"), _share("y", "share that came true")
    size = alt.Size(
        "items:Q",
        title="items of the bin",
        scale=alt.Scale(range=[10, 250]),
        legend=alt.Legend(tickCount=3, orient="right"),
    )
    base = alt.Chart().encode(x, y, _colour())
    even = base.mark_rule(color="gray", strokeDash=[4, 4]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1), color=alt.value("gray")
    )
    line = base.mark_line(strokeWidth=1.5).encode(order="place:Q")
    layers = alt.layer(
        even, line, base.mark_circle(opacity=0.8).encode(size=size), data=alt.Data(values=rows)
    )
    return (
        layers.properties(width=300, height=260)
        .facet(column=alt.Column("of:N", title=None))
        .properties(title=_title("Does the confidence mean what it says?", subset))
    )


def _confidences(rows: Rows, subset: str) -> Any:
    import altair as alt

    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.55, binSpacing=0)
        .encode(
            x=alt.X("from:Q", title="confidence that the question is answerable"),
            x2="to:Q",
            y=alt.Y("items:Q", stack=None, title="items"),
            y2=alt.datum(0),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(range=COLOURS)),
            row=alt.Row("model:N", title=None, sort=[*dict.fromkeys(row["model"] for row in rows)]),
        )
    )
    return bars.properties(width=400, height=140, title=_title("Confidences of AQs and UQs", subset))


def _by_category(rows: Rows, subset: str) -> Any:
    if not rows:
        return None
    import altair as alt

    y = alt.Y("kind:N", title=None)
    aside = alt.YOffset("model:N", sort=None, scale=alt.Scale(paddingInner=0.3))
    base = alt.Chart(alt.Data(values=rows))
    spans = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    spans = spans.encode(
        _share("low", "AUAF (of fewer than 20 UQs the interval alone)"), y, aside, _colour(), x2="high:Q"
    )
    dots = (
        base.mark_circle(size=60, opacity=1)
        .encode(_share("x", ""), y, aside, _colour())
        .transform_filter("datum.x != null")
    )
    models = len({row["model"] for row in rows})
    height = alt.Step(max(16, 30 // models))
    return (spans + dots).properties(height=height, title=_title("AUAF by category", subset))


def _lines(rows: Rows) -> Any:
    """A line for each model."""
    import altair as alt

    marked = len(rows) < FEW_POINTS * len({row["model"] for row in rows})
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2, point=marked)
        .encode(_colour(), order="place:Q")
    )


def _share(channel: str, title: str) -> Any:
    """An axis of shares, from 0 to 100 %; `channel` is the field, too."""
    import altair as alt

    kind = alt.Y if channel == "y" else alt.X
    return kind(f"{channel}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _colour() -> Any:
    import altair as alt

    return alt.Color("model:N", title=None, sort=None, scale=alt.Scale(range=COLOURS))


def _title(text: str, subset: str) -> Any:
    import altair as alt

    return alt.Title(text, subtitle=subset, anchor="start")


def _dressed(chart: Any) -> altair.TopLevelMixin:
    """In letters that can be read on a slide, without a frame."""
    sized: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 13}
    return (
        chart.configure_view(stroke=None)
        .configure_axis(**sized, gridColor="#e6e6e6", titleFontWeight="normal", labelLimit=260)
        .configure_legend(**sized, orient="bottom", labelLimit=300, symbolOpacity=1, titleFontWeight="normal")
        .configure_header(**sized)
        .configure_title(fontSize=15, subtitleFontSize=12, subtitleColor="#555555", offset=12)
    )
