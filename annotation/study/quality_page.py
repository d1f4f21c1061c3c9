"""The quality report as one HTML page that needs nothing else: no script, no network, plots drawn in it as SVG.

Colours are Okabe and Ito's, which the colour-blind tell apart; what they say is said by shape, text or place as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from pathlib import Path
from typing import Any

import altair as alt
from markupsafe import Markup

from annotation.study.quality_figures import Quality
from pipeline.core.pages import render, svg
from pipeline.core.records import Choice

RULES = {
    "majority": "more than half of the votes that count say so",
    "unanimity": "all votes that count say so",
    "dawid-skene": "more votes say so than the opposite, and its probability by Dawid and Skene's estimate, made for each "
    "subset by itself, is high enough",
}
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8c8c8c"
STATUS = {"unanswerable": BLUE, "answerable": GREEN, "doubtful": ORANGE, "unjudged": GREY}
CHOICE: dict[Choice, str] = {"valid": GREEN, "unsure": GREY, "invalid": BLUE}
STEPS = ["#eef4fa", "#c5dcef", "#8fc1e3", "#3d85c0", "#0b4f8a"]
WIDTH = 560
MOST_LABELLED = 14  # annotators up to which a cell of the heat map has room for its numbers

Plot = alt.Chart | alt.LayerChart | alt.FacetChart


def page(quality: Quality) -> str:
    """The HTML. Whatever text comes from people or pictures' sources is shown as text."""
    return render(
        Path(__file__).with_name("quality.html.jinja"),
        {"percent": percent, "places": places},
        q=quality,
        plots=plots(quality),
        rule=RULES[quality.settings["rule"]],
    )


def percent(share: float | None, count: int = 1) -> str:
    """A share in percent with so many places; a dash where it is undefined."""
    return "–" if share is None else f"{share:.{count}%}"


def places(value: float | None, count: int = 2) -> str:
    """A number with so many places; a dash where it is undefined."""
    return "–" if value is None else f"{value:.{count}f}"


def plots(quality: Quality) -> dict[str, Markup]:
    """Name of each plot that there are figures for -> its SVG."""
    drawn = {"verdicts": verdicts, "accuracy": accuracy, "choices": choices, "votes": votes}
    if any(pace.known for row in quality.annotators for pace in (row.habits.shown, row.habits.between)):
        drawn["pace"] = pace
    if quality.agreement_given[0].pairs:
        drawn["kappa"] = kappa
    return {
        name: svg(
            draw(quality)
            .configure(font="DejaVu Sans, Verdana, sans-serif")
            .configure_view(stroke=None)
            .configure_axis(labelLimit=220)
        )
        for name, draw in drawn.items()
    }


def verdicts(quality: Quality) -> Plot:
    """From verdicts given to verdicts that count."""
    steps = {
        "given": quality.given,
        "by annotators not excluded": quality.given - quality.excluded,
        "with their filter question passed": quality.counted,
    }
    base = _chart([{"step": step, "verdicts": count} for step, count in steps.items()]).encode(
        x=alt.X("verdicts:Q", axis=alt.Axis(title="verdicts", tickMinStep=1, tickCount=5)),
        y=alt.Y("step:N", sort=None, title=None),
    )
    text = base.mark_text(align="left", dx=4).encode(text=alt.Text("verdicts:Q", format=","))
    return alt.layer(base.mark_bar(color=BLUE), text).properties(width=WIDTH - 90, height=alt.Step(28))


def accuracy(quality: Quality) -> Plot:
    """Accuracy on filter questions with its interval, the best first; the dashed line is the least that counts."""
    known = [row for row in quality.annotators if row.accuracy is not None]
    rows = [
        {
            "annotator": row.name,
            "state": "excluded" if row.excluded else "counts",
            "low": row.low,
            "accuracy": row.accuracy,
            "high": row.high,
        }
        for row in sorted(known, key=lambda row: (-(row.accuracy or 0), row.name))
    ]
    least = quality.settings["min_filter_accuracy"]
    lowest = floor(10 * min([0.5, least, *(row["low"] for row in rows)])) / 10
    axis = alt.Axis(format="%", title="accuracy on filter questions")
    low = alt.X("low:Q", scale=alt.Scale(domain=[lowest, 1], zero=False), axis=axis)
    base = _chart(rows).encode(y=alt.Y("annotator:N", sort=None, title=None))
    shapes = {"counts": "circle", "excluded": "cross"}
    return _intervals(base, low, "accuracy", {"least": least}, shapes).properties(
        width=WIDTH, height=alt.Step(22)
    )


def pace(quality: Quality) -> Plot:
    """Median and quartiles of the seconds for a task, by the two clocks; the dashed line is too fast."""
    shapes = {"by the tool's clock": "circle", "after the submission before": "square"}
    rows = [
        {"annotator": row.name, "state": clock, "low": times.low, "median": times.median, "high": times.high}
        for row in quality.annotators
        for clock, times in zip(shapes, (row.habits.shown, row.habits.between), strict=True)
        if times.known
    ]
    base = _chart(rows).encode(
        y=alt.Y("annotator:N", title=None), yOffset=alt.YOffset("state:N", sort=list(shapes))
    )
    axis = alt.Axis(title="seconds for a task (logarithmic)", grid=True, tickCount=6, format="~g")
    low = alt.X("low:Q", scale=alt.Scale(type="log"), axis=axis)
    fast = {"fast": quality.settings["fast_seconds"]}
    return _intervals(base, low, "median", fast, shapes).properties(width=WIDTH, height=alt.Step(15))


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
    kinds = {(vote.counted, vote.invalid) for row in quality.subsets for vote in row.votes}
    order = [f"{invalid} of {counted}" for counted, invalid in sorted(kinds, reverse=True)]
    bars = _chart(rows).mark_bar()
    chart = bars.encode(
        x=alt.X("candidates:Q", title="candidates", axis=alt.Axis(tickCount=4, format="~s")),
        y=alt.Y("votes:N", sort=order, title=None),
        color=_colour("state", STATUS),
    )
    facet = alt.Facet("subset:N", sort=[row.subset for row in quality.subsets], title=None)
    return chart.properties(width=300, height=alt.Step(17)).facet(facet=facet, columns=2)


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
    steps = alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=STEPS)
    shade = alt.Color("kappa:Q", scale=steps, title="kappa")
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
    base: alt.Chart, low: alt.X, middle: str, limit: dict[str, float], shapes: dict[str, str]
) -> Plot:
    """Points with intervals (from `low` to the field `high`) in two colours by `state`, and a dashed line at a limit."""
    base = base.encode(color=_colour("state", dict(zip(shapes, (BLUE, RED), strict=True))))
    shape = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    (name,) = limit
    line = _chart([limit]).mark_rule(strokeDash=[5, 4], color=GREY).encode(x=f"{name}:Q")
    interval = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=f"{middle}:Q", shape=alt.Shape("state:N", scale=shape, title=None)
    )
    return alt.layer(line, interval, point)
