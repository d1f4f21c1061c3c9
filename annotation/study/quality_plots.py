"""Plots of the quality report as SVG. Colours are Okabe and Ito's, which the colour-blind tell apart; what they say is
said by shape, text or place as well."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import altair as alt
import vl_convert

from annotation.study.quality_figures import Quality

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8c8c8c"
STATUS = {"unanswerable": BLUE, "answerable": GREEN, "doubtful": ORANGE, "unjudged": GREY}
CHOICE = {"valid": GREEN, "unsure": GREY, "invalid": BLUE}
STEPS = ["#eef4fa", "#c5dcef", "#8fc1e3", "#3d85c0", "#0b4f8a"]
WIDTH = 560
MOST_LABELLED = 14  # annotators up to which a cell of the heat map has room for its numbers


def plots(quality: Quality) -> dict[str, str]:
    """Name of each plot that there are figures for -> its SVG."""
    charts = {
        "verdicts": verdicts(quality),
        "accuracy": accuracy(quality),
        "choices": choices(quality),
        "votes": votes(quality),
    }
    if any(pace.known for row in quality.annotators for pace in (row.habits.shown, row.habits.between)):
        charts["pace"] = pace_of(quality)
    if quality.agreement_given[0].pairs:
        charts["kappa"] = kappa(quality)
    return {name: svg(chart) for name, chart in charts.items()}


def svg(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> str:
    styled = chart.configure(font="DejaVu Sans, Verdana, sans-serif").configure_view(stroke=None)
    return vl_convert.vegalite_to_svg(styled.configure_axis(labelLimit=220).to_json())


def verdicts(quality: Quality) -> alt.LayerChart:
    """From verdicts given to verdicts that count."""
    rows = [
        {"step": "given", "verdicts": quality.given},
        {"step": "by annotators not excluded", "verdicts": quality.given - quality.excluded},
        {"step": "with their filter question passed", "verdicts": quality.counted},
    ]
    base = _chart(rows).encode(
        x=alt.X("verdicts:Q", axis=alt.Axis(title="verdicts", tickMinStep=1, tickCount=5)),
        y=alt.Y("step:N", sort=None, title=None),
    )
    text = base.mark_text(align="left", dx=4).encode(text=alt.Text("verdicts:Q", format=","))
    return (base.mark_bar(color=BLUE) + text).properties(width=WIDTH - 90, height=alt.Step(28))


def accuracy(quality: Quality) -> alt.LayerChart:
    """Accuracy on filter questions with its interval, the best first; the dashed line is the least that counts."""
    rows = [
        {
            "annotator": row.name,
            "accuracy": row.accuracy,
            "low": row.low,
            "high": row.high,
            "state": "excluded" if row.excluded else "counts",
        }
        for row in sorted(quality.annotators, key=lambda row: (-(row.accuracy or 0), row.name))
        if row.accuracy is not None
    ]
    least = _chart([{"least": quality.settings["min_filter_accuracy"]}])
    base = _chart(rows).encode(
        y=alt.Y("annotator:N", sort=None, title=None), color=_two("counts", "excluded")
    )
    lowest = min([0.5, quality.settings["min_filter_accuracy"], *(row["low"] for row in rows)])
    share = alt.Scale(domain=[floor(10 * lowest) / 10, 1], zero=False)
    interval = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=share, axis=alt.Axis(format="%", title="accuracy on filter questions")),
        x2="high:Q",
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("accuracy:Q", scale=share),
        shape=alt.Shape(
            "state:N", scale=alt.Scale(domain=["counts", "excluded"], range=["circle", "cross"]), title=None
        ),
    )
    line = least.mark_rule(strokeDash=[5, 4], color=GREY).encode(x=alt.X("least:Q", scale=share))
    return (line + interval + point).properties(width=WIDTH, height=alt.Step(22))


def pace_of(quality: Quality) -> alt.LayerChart:
    """Median and quartiles of the seconds for a task, by the two clocks; the dashed line is too fast."""
    clocks = ("by the tool's clock", "after the submission before")
    rows = [
        {"annotator": row.name, "state": clock, "low": pace.low, "median": pace.median, "high": pace.high}
        for row in quality.annotators
        for clock, pace in zip(clocks, (row.habits.shown, row.habits.between), strict=True)
        if pace.known
    ]
    base = _chart(rows).encode(
        y=alt.Y("annotator:N", title=None),
        yOffset=alt.YOffset("state:N", sort=list(clocks)),
        color=_two(*clocks),
    )
    axis = alt.Axis(title="seconds for a task (logarithmic)", grid=True, tickCount=6, format="~g")
    interval = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=alt.Scale(type="log"), axis=axis), x2="high:Q"
    )
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="median:Q",
        shape=alt.Shape(
            "state:N", scale=alt.Scale(domain=list(clocks), range=["circle", "square"]), title=None
        ),
    )
    line = (
        _chart([{"fast": quality.settings["fast_seconds"]}])
        .mark_rule(strokeDash=[5, 4], color=GREY)
        .encode(x="fast:Q")
    )
    return (line + interval + point).properties(width=WIDTH, height=alt.Step(15))


def choices(quality: Quality) -> alt.Chart:
    """Shares of the three choices over both questions."""
    rows = [
        {"annotator": row.name, "choice": choice, "place": place, "answers": row.habits.choices[choice]}
        for row in quality.annotators
        for place, choice in enumerate(CHOICE)
    ]
    return _stacked(rows, "annotator", "choice", "answers", CHOICE, "share of answers", sort="ascending")


def votes(quality: Quality) -> alt.FacetChart:
    """Candidates by the votes that count: how many of how many say invalid, and what that comes to. (A title of the
    axis would not fit a facet of few rows; the caption says it.)"""
    rows = [
        {
            "subset": row.subset,
            "votes": f"{vote.invalid} of {vote.counted}",
            "state": vote.status,
            "candidates": vote.candidates,
        }
        for row in quality.subsets
        for vote in row.votes
    ]
    order = sorted(
        {(vote.counted, vote.invalid) for row in quality.subsets for vote in row.votes}, reverse=True
    )
    chart = (
        _chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("candidates:Q", title="candidates", axis=alt.Axis(tickCount=4, format="~s")),
            y=alt.Y("votes:N", sort=[f"{invalid} of {counted}" for counted, invalid in order], title=None),
            color=_colour("state", STATUS),
        )
    )
    return chart.properties(width=300, height=alt.Step(17)).facet(
        facet=alt.Facet("subset:N", sort=[row.subset for row in quality.subsets], title=None), columns=2
    )


def kappa(quality: Quality) -> alt.LayerChart:
    """Cohen's kappa of every two annotators over all their verdicts, with the number of common candidates below it."""
    rows = [
        {
            "one": one,
            "other": other,
            "kappa": pair.kappa,
            "text": "undefined" if pair.kappa is None else f"{round(pair.kappa, 2) + 0.0:.2f}",
            "both": f"n = {pair.both:,}",
        }
        for pair in quality.agreement_given[0].pairs
        for one, other in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    size = len({row["one"] for row in rows})
    base = _chart(rows).encode(
        x=alt.X("one:N", title=None, axis=alt.Axis(labelAngle=-40, labelLimit=90, domain=False, ticks=False)),
        y=alt.Y("other:N", title=None, axis=alt.Axis(domain=False, ticks=False)),
    )
    # Steps, as a continuous legend needs an id, which Vega numbers anew with every plot of the process.
    shade = alt.Color(
        "kappa:Q", scale=alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=STEPS), title="kappa"
    )
    chart = base.mark_rect(stroke="white").encode(
        color=alt.condition("datum.kappa === null", alt.value("#e3e3e3"), shade)
    )
    ink = alt.condition("datum.kappa >= 0.6", alt.value("white"), alt.value("#222"))
    if size <= MOST_LABELLED:
        chart += base.mark_text(fontSize=11, dy=-5).encode(text="text:N", color=ink)
        chart += base.mark_text(fontSize=8, dy=8).encode(text="both:N", color=ink)
    return chart.properties(width=max(120, min(WIDTH, 58 * size)), height=max(80, min(WIDTH, 34 * size)))


def _chart(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _two(usual: str, other: str) -> alt.Color:
    return _colour("state", {usual: BLUE, other: RED})


def _colour(field: str, colours: dict[str, str]) -> alt.Color:
    return alt.Color(
        f"{field}:N",
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(title=None, orient="top", symbolLimit=0, labelLimit=0),
    )


def _stacked(
    rows: Sequence[dict[str, Any]],
    row: str,
    part: str,
    count: str,
    colours: dict[str, str],
    title: str,
    sort: Any,
) -> alt.Chart:
    bars = (
        _chart(rows)
        .mark_bar()
        .encode(
            x=alt.X(f"{count}:Q", stack="normalize", axis=alt.Axis(format="%", title=title)),
            y=alt.Y(f"{row}:N", sort=sort, title=None),
            color=_colour(part, colours),
            order="place:Q",
        )
    )
    return bars.properties(width=WIDTH, height=alt.Step(20))
