"""Plots of the quality report as SVG. Colours are Okabe and Ito's, which the colour-blind tell apart; what they say is
said by shape, text or place as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

import altair as alt
from markupsafe import Markup

from annotation.study.quality_figures import Quality
from pipeline.core.pages import svg
from pipeline.core.records import Choice

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8c8c8c"
STATUS = {"unanswerable": BLUE, "answerable": GREEN, "doubtful": ORANGE, "unjudged": GREY}
CHOICE: dict[Choice, str] = {"valid": GREEN, "unsure": GREY, "invalid": BLUE}
STEPS = ["#eef4fa", "#c5dcef", "#8fc1e3", "#3d85c0", "#0b4f8a"]
WIDTH = 560
MOST_LABELLED = 14  # annotators up to which a cell of the heat map has room for its numbers

Plot = alt.Chart | alt.LayerChart | alt.FacetChart


def plots(quality: Quality) -> dict[str, Markup]:
    """Name of each plot that there are figures for -> its SVG."""
    charts: dict[str, Plot] = {
        "verdicts": verdicts(quality),
        "accuracy": accuracy(quality),
        "choices": choices(quality),
        "votes": votes(quality),
    }
    if any(pace.known for row in quality.annotators for pace in (row.habits.shown, row.habits.between)):
        charts["pace"] = pace(quality)
    if quality.agreement_given[0].pairs:
        charts["kappa"] = kappa(quality)
    return {
        name: svg(
            chart.configure(font="DejaVu Sans, Verdana, sans-serif")
            .configure_view(stroke=None)
            .configure_axis(labelLimit=220)
        )
        for name, chart in charts.items()
    }


def verdicts(quality: Quality) -> Plot:
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
    return alt.layer(base.mark_bar(color=BLUE), text).properties(width=WIDTH - 90, height=alt.Step(28))


def accuracy(quality: Quality) -> Plot:
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
    least = quality.settings["min_filter_accuracy"]
    lowest = min([0.5, least, *(row["low"] for row in rows)])
    return _intervals(
        _chart(rows).encode(y=alt.Y("annotator:N", sort=None, title=None)),
        "accuracy",
        {"least": least},
        {"counts": "circle", "excluded": "cross"},
        alt.Scale(domain=[floor(10 * lowest) / 10, 1], zero=False),
        alt.Axis(format="%", title="accuracy on filter questions"),
    ).properties(width=WIDTH, height=alt.Step(22))


def pace(quality: Quality) -> Plot:
    """Median and quartiles of the seconds for a task, by the two clocks; the dashed line is too fast."""
    clocks = ("by the tool's clock", "after the submission before")
    rows = [
        {"annotator": row.name, "state": clock, "low": times.low, "median": times.median, "high": times.high}
        for row in quality.annotators
        for clock, times in zip(clocks, (row.habits.shown, row.habits.between), strict=True)
        if times.known
    ]
    return _intervals(
        _chart(rows).encode(
            y=alt.Y("annotator:N", title=None), yOffset=alt.YOffset("state:N", sort=list(clocks))
        ),
        "median",
        {"fast": quality.settings["fast_seconds"]},
        dict(zip(clocks, ("circle", "square"), strict=True)),
        alt.Scale(type="log"),
        alt.Axis(title="seconds for a task (logarithmic)", grid=True, tickCount=6, format="~g"),
    ).properties(width=WIDTH, height=alt.Step(15))


def choices(quality: Quality) -> Plot:
    """Shares of the three choices over both questions."""
    rows = [
        {"annotator": row.name, "choice": choice, "place": place, "answers": row.habits.choices[choice]}
        for row in quality.annotators
        for place, choice in enumerate(CHOICE)
    ]
    bars = _chart(rows).mark_bar()
    return bars.encode(
        x=alt.X("answers:Q", stack="normalize", axis=alt.Axis(format="%", title="share of answers")),
        y=alt.Y("annotator:N", sort="ascending", title=None),
        color=_colour("choice", CHOICE),
        order="place:Q",
    ).properties(width=WIDTH, height=alt.Step(20))


def votes(quality: Quality) -> Plot:
    """Candidates by the votes that count: how many of how many say invalid, and what that comes to. (A title of the
    axis would not fit a facet of few rows; the caption says it.)"""
    counts = [(row.subset, vote) for row in quality.subsets for vote in row.votes]
    rows = [
        {
            "subset": subset,
            "votes": f"{vote.invalid} of {vote.counted}",
            "state": vote.status,
            "candidates": vote.candidates,
        }
        for subset, vote in counts
    ]
    order = sorted({(vote.counted, vote.invalid) for _, vote in counts}, reverse=True)
    bars = _chart(rows).mark_bar()
    chart = bars.encode(
        x=alt.X("candidates:Q", title="candidates", axis=alt.Axis(tickCount=4, format="~s")),
        y=alt.Y("votes:N", sort=[f"{invalid} of {counted}" for counted, invalid in order], title=None),
        color=_colour("state", STATUS),
    )
    return chart.properties(width=300, height=alt.Step(17)).facet(
        facet=alt.Facet("subset:N", sort=[row.subset for row in quality.subsets], title=None), columns=2
    )


def kappa(quality: Quality) -> Plot:
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
    undefined = alt.condition("datum.kappa === null", alt.value("#e3e3e3"), shade)
    layers = [base.mark_rect(stroke="white").encode(color=undefined)]
    ink = alt.condition("datum.kappa >= 0.6", alt.value("white"), alt.value("#222"))
    if size <= MOST_LABELLED:
        layers.append(base.mark_text(fontSize=11, dy=-5).encode(text="text:N", color=ink))
        layers.append(base.mark_text(fontSize=8, dy=8).encode(text="both:N", color=ink))
    width, height = max(120, min(WIDTH, 58 * size)), max(80, min(WIDTH, 34 * size))
    return alt.layer(*layers).properties(width=width, height=height)


def _chart(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _colour(field: str, colours: Mapping[Any, str]) -> alt.Color:
    return alt.Color(
        f"{field}:N",
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(title=None, orient="top", symbolLimit=0, labelLimit=0),
    )


def _intervals(
    rows: alt.Chart,
    middle: str,
    limit: dict[str, float],
    shapes: dict[str, str],
    scale: alt.Scale,
    axis: alt.Axis,
) -> Plot:
    """Points with intervals (fields `low`, `middle`, `high`) in two colours by `state`, and a dashed line at a limit."""
    base = rows.encode(color=_colour("state", dict(zip(shapes, (BLUE, RED), strict=True))))
    shape = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    (name,) = limit
    line = _chart([limit]).mark_rule(strokeDash=[5, 4], color=GREY)
    interval = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q")
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X(f"{middle}:Q", scale=scale), shape=alt.Shape("state:N", scale=shape, title=None)
    )
    return alt.layer(line.encode(x=alt.X(f"{name}:Q", scale=scale)), interval, point)
