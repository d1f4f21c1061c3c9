"""Draw what the scores rest on: ACC-FPR curve, risk-coverage curve, reliability diagram, confidence histograms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.core.files import replacing
from pipeline.scorers import acc_fpr_curve, reliability_table, risk_coverage_curve
from pipeline.scorers.benchmark import Benchmark
from pipeline.scorers.join import Joined, join
from pipeline.scorers.predictions import Predictions

if TYPE_CHECKING:
    import altair

POINTS = 500  # of a curve: more cannot be seen
HISTOGRAM_BINS = 40


def plot(
    benchmark: Benchmark,
    models: Sequence[Predictions],
    folder: Path,
    *,
    free_text: bool = False,
    match: Literal["case", "exact"] = "case",
) -> list[Path]:
    """Write `<subset>-<plot>.svg` and `.png` into `folder`, every model a line in each; return the paths."""
    paths = []
    for subset, rows in benchmark.subsets.items():
        joined = {model.name: join(rows, model, free_text=free_text, match=match) for model in models}
        for name, chart in _charts(joined).items():
            for kind in ("svg", "png"):
                path = folder / f"{subset}-{name}.{kind}"
                _save(chart, path, kind)
                paths.append(path)
    return paths


def _charts(joined: dict[str, Joined]) -> dict[str, altair.Chart]:
    import altair as alt

    curve, risk, calibration, histogram = [], [], [], []
    for model, at in joined.items():
        acc, fpr = acc_fpr_curve(at.confidence, at.correct, at.answerable)
        if np.isfinite(acc).all() and np.isfinite(fpr).all():
            curve += _rows(model, fpr=fpr, acc=acc)
        coverage, risks, _ = risk_coverage_curve(at.confidence, at.correct)
        risk += _rows(model, coverage=coverage, risk=risks)
        given = at.confidence[~at.missing]
        if len(given) and given.min() >= 0 and given.max() <= 1:
            table = reliability_table(given, at.correct[~at.missing])
            calibration += _rows(model, confidence=table[:, 1], correct=table[:, 2])
        edges = np.histogram_bin_edges(given, HISTOGRAM_BINS)
        for kind, which in (("answerable", at.answerable), ("unanswerable", ~at.answerable)):
            counts, _ = np.histogram(at.confidence[which & ~at.missing], edges)
            histogram += [
                {"model": model, "kind": kind, "from": edges[i], "to": edges[i + 1], "items": int(n)}
                for i, n in enumerate(counts)
            ]

    def line(rows: list[dict], x: str, y: str, title: str, x_title: str, y_title: str) -> altair.Chart:
        scale = alt.Scale(domain=[0, 1])
        return (
            alt.Chart(alt.Data(values=rows), title=title, width=360, height=300)
            .mark_line(point=len(rows) < 60)
            .encode(
                x=alt.X(f"{x}:Q", scale=scale, title=x_title),
                y=alt.Y(f"{y}:Q", scale=scale, title=y_title),
                color="model:N",
                order="place:Q",
            )
        )

    charts = {
        "risk-coverage": line(
            risk,
            "coverage",
            "risk",
            "Risk over coverage",
            "coverage: share answered",
            "risk: share wrong of these",
        )
    }
    if curve:
        charts["acc-fpr"] = line(
            curve,
            "fpr",
            "acc",
            "ACC-FPR curve",
            "FPR: share of UQs accepted",
            "ACC: share of AQs accepted and right",
        )
    if calibration:
        even = (
            alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
            .mark_line(color="gray", strokeDash=[4, 4])
            .encode(x="x:Q", y="y:Q")
        )
        charts["reliability"] = even + line(
            calibration,
            "confidence",
            "correct",
            "Reliability",
            "mean confidence of the bin",
            "share answered right",
        )
    charts["confidences"] = (
        alt.Chart(alt.Data(values=histogram), width=360, height=160)
        .mark_bar(opacity=0.6)
        .encode(
            x=alt.X("from:Q", title="confidence"),
            x2="to:Q",
            y=alt.Y("items:Q", stack=None),
            y2=alt.datum(0),
            color="kind:N",
            row="model:N",
        )
        .properties(title="Confidences of answerable and unanswerable questions")
    )
    return charts


def _rows(model: str, **columns: np.ndarray) -> list[dict]:
    """Points of a line, evenly thinned to POINTS, first and last kept."""
    length = len(next(iter(columns.values())))
    keep = np.unique(np.linspace(0, length - 1, min(length, POINTS)).round().astype(int)) if length else []
    return [
        {"model": model, "place": int(i), **{name: float(values[i]) for name, values in columns.items()}}
        for i in keep
    ]


def _save(chart: altair.Chart, path: Path, kind: str) -> None:
    import vl_convert

    spec = chart.to_json()
    data = (
        vl_convert.vegalite_to_svg(spec).encode()
        if kind == "svg"
        else vl_convert.vegalite_to_png(spec, scale=2)
    )
    with replacing(path) as file:
        file.write(data)
