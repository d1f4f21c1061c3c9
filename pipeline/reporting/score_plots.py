"""Draw what the scores rest on: ACC-FPR curve, risk-coverage curve, reliability diagram, confidence histograms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.core.files import replacing
from pipeline.core.pages import svg
from pipeline.scorers import acc_fpr_curve, reliability_table, risk_coverage_curve
from pipeline.scorers.items import Answered, Benchmark, Options, Predictions
from pipeline.scorers.join import join

if TYPE_CHECKING:
    import altair

POINTS = 500  # of a curve, evenly thinned, first and last kept: more cannot be seen
HISTOGRAM_BINS = 40
# The curves, and the titles of each, of its x and of its y.
TITLES = {
    "risk-coverage": ("Risk over coverage", "coverage: share answered", "risk: share wrong of these"),
    "acc-fpr": ("ACC-FPR curve", "FPR: share of UQs accepted", "ACC: share of AQs accepted and right"),
    "reliability": ("Reliability", "mean confidence of the bin", "share answered right"),
}


def plot(benchmark: Benchmark, models: Sequence[Predictions], options: Options, folder: Path) -> list[Path]:
    """Write `<subset>-<plot>.svg` and `.png` into `folder`, every model a line in each; return the paths."""
    import vl_convert

    paths = []
    for subset, items in benchmark.subsets.items():
        answered = {model.name: join(items, model, options) for model in models}
        for name, chart in _charts(answered).items():
            images = {"svg": svg(chart).encode(), "png": vl_convert.vegalite_to_png(chart.to_json(), scale=2)}
            for kind, image in images.items():
                paths.append(folder / f"{subset}-{name}.{kind}")
                with replacing(paths[-1]) as file:
                    file.write(image)
    return paths


def _charts(answered: Mapping[str, Answered]) -> dict[str, altair.TopLevelMixin]:
    curves: dict[str, list[dict[Hashable, Any]]] = defaultdict(list)
    bins: list[dict[Hashable, Any]] = []
    for model, at in answered.items():
        for name, (x, y) in _curves(at).items():
            kept = np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int)
            points = {"model": model, "place": kept, "x": x[kept], "y": y[kept]}
            curves[name] += pd.DataFrame(points).to_dict("records")
        given = at.at(~at.missing)
        edges = np.histogram_bin_edges(given.confidence, HISTOGRAM_BINS)
        for kind, which in (("answerable", given.answerable), ("unanswerable", ~given.answerable)):
            counts, _ = np.histogram(given.confidence[which], edges)
            bars = {"model": model, "kind": kind, "from": edges[:-1], "to": edges[1:], "items": counts}
            bins += pd.DataFrame(bars).to_dict("records")
    charts = {name: _curve_chart(curves[name], name) for name in TITLES if name in curves}
    return charts | {"confidences": _histogram_chart(bins)}


def _curves(at: Answered) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """x and y of each curve that is defined."""
    acc, fpr = acc_fpr_curve(at.confidence, at.correct, at.answerable)
    coverage, risk, _ = risk_coverage_curve(at.confidence, at.correct)
    curves = {"risk-coverage": (coverage, risk)}
    if np.isfinite(acc).all() and np.isfinite(fpr).all():
        curves["acc-fpr"] = (fpr, acc)
    given = at.at(~at.missing)
    if given.confidence.min() >= 0 and given.confidence.max() <= 1:
        _, confidence, correct = reliability_table(given.confidence, given.correct).T
        curves["reliability"] = (confidence, correct)
    return curves


def _curve_chart(rows: list[dict[Hashable, Any]], name: str) -> altair.TopLevelMixin:
    """A line for each model."""
    import altair as alt

    title, x_title, y_title = TITLES[name]
    scale = alt.Scale(domain=[0, 1])
    lines = (
        alt.Chart(alt.Data(values=rows), title=title, width=360, height=300)
        .mark_line(point=len(rows) < 60)
        .encode(
            x=alt.X("x:Q", scale=scale, title=x_title),
            y=alt.Y("y:Q", scale=scale, title=y_title),
            color="model:N",
            order="place:Q",
        )
    )
    even = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])).encode(x="x:Q", y="y:Q")
    return even.mark_line(color="gray", strokeDash=[4, 4]) + lines if name == "reliability" else lines


def _histogram_chart(rows: list[dict[Hashable, Any]]) -> altair.TopLevelMixin:
    import altair as alt

    title = "Confidences of answerable and unanswerable questions"
    chart = alt.Chart(alt.Data(values=rows), title=title, width=360, height=160).mark_bar(opacity=0.6)
    return chart.encode(
        x=alt.X("from:Q", title="confidence"),
        x2="to:Q",
        y=alt.Y("items:Q", stack=None),
        y2=alt.datum(0),
        color="kind:N",
        row="model:N",
    )
