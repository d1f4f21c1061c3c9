"""Draw what the scores rest on: ACC-FPR curve, risk-coverage curve, reliability diagram, confidence histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.core.files import replacing
from pipeline.core.pages import svg
from pipeline.scorers import acc_fpr_curve, reliability_table, risk_coverage_curve
from pipeline.scorers.items import Answered, Benchmark, Options, Predictions
from pipeline.scorers.join import join

if TYPE_CHECKING:
    import altair

POINTS = 500  # of a curve: more cannot be seen
HISTOGRAM_BINS = 40
# The curves, and the titles of each, of its x and of its y.
CURVES = {
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
    curves = {model: _curves(at) for model, at in answered.items()}
    charts: dict[str, altair.TopLevelMixin] = {}
    for name, titles in CURVES.items():
        drawn = {model: points[name] for model, points in curves.items() if name in points}
        if drawn:
            charts[name] = _curve_chart(drawn, titles, diagonal=name == "reliability")
    return charts | {"confidences": _histogram_chart(answered)}


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


def _curve_chart(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]], titles: tuple[str, str, str], *, diagonal: bool
) -> altair.TopLevelMixin:
    """A line for each model, evenly thinned to POINTS, first and last kept."""
    import altair as alt

    rows = []
    for model, (x, y) in curves.items():
        kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int)).tolist()
        rows += [{"model": model, "place": i, "x": float(x[i]), "y": float(y[i])} for i in kept]
    title, x_title, y_title = titles
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
    return even.mark_line(color="gray", strokeDash=[4, 4]) + lines if diagonal else lines


def _histogram_chart(answered: Mapping[str, Answered]) -> altair.TopLevelMixin:
    import altair as alt

    rows = []
    for model, whole in answered.items():
        at = whole.at(~whole.missing)
        edges = np.histogram_bin_edges(at.confidence, HISTOGRAM_BINS)
        for kind, which in (("answerable", at.answerable), ("unanswerable", ~at.answerable)):
            counts, _ = np.histogram(at.confidence[which], edges)
            bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
            rows += [{"model": model, "kind": kind, "from": a, "to": b, "items": n} for a, b, n in bins]
    title = "Confidences of answerable and unanswerable questions"
    return (
        alt.Chart(alt.Data(values=rows), title=title, width=360, height=160)
        .mark_bar(opacity=0.6)
        .encode(
            x=alt.X("from:Q", title="confidence"),
            x2="to:Q",
            y=alt.Y("items:Q", stack=None),
            y2=alt.datum(0),
            color="kind:N",
            row="model:N",
        )
    )
