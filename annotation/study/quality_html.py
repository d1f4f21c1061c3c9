"""The quality report as one HTML page that needs nothing else: no script, no network, plots drawn in it as SVG, images held in it.

Colours are Okabe and Ito's, which the colour-blind tell apart; what they say is said by shape, text or place as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from pathlib import Path
from types import MappingProxyType

import altair as alt
from markupsafe import Markup

from annotation.study.agreement import IntervalEstimate
from annotation.study.quality_report import QualityReport
from pipeline.core.rendering import chart_to_svg, make_image_data_uri, render_template

RULE_DESCRIPTIONS = {
    "majority": "more than half of the votes that count say so",
    "unanimity": "all votes that count say so",
    "dawid-skene": "more votes say so than the opposite, and its probability by Dawid and Skene's estimate, from the prior of "
    "stage estimate and everybody's answers to filter questions on, is high enough (a single vote may do)",
}
COLOURS = {"sensitivity": "#0072B2", "specificity": "#D55E00"}
PLOT_WIDTH = 560
THUMBNAIL = (180, 12_000)  # pixels of the longer side, most bytes


def render_page(quality: QualityReport, images: Mapping[str, str] = MappingProxyType({})) -> str:
    """The HTML. Whatever text comes from people or images' sources is shown as text.

    Args:
        images: image id -> file; of those that are there, the worst items show a thumbnail.
    """
    shown = {row.image_id for row in quality.uncertain_items} & images.keys()
    return render_template(
        Path(__file__).with_name("quality.html.jinja"),
        {"percent": format_percent, "places": format_decimals, "bounds": format_interval},
        q=quality,
        skill=plot_rates(quality),
        rule=RULE_DESCRIPTIONS[quality.settings["rule"]],
        thumbnails={key: make_image_data_uri(images[key], THUMBNAIL) for key in shown},
    )


def format_percent(proportion: float | None, num_decimals: int = 1) -> str:
    """A share in percent with so many places; a dash where it is undefined."""
    return "–" if proportion is None else f"{proportion:.{num_decimals}%}"


def format_decimals(value: float | None, num_decimals: int = 2) -> str:
    """A number with so many places; a dash where it is undefined."""
    return "–" if value is None else f"{value:.{num_decimals}f}"


def format_interval(estimate: IntervalEstimate | tuple[float | None, ...], num_decimals: int = 2) -> str:
    """Return `0.61 (0.55 to 0.67)`, the value alone where it has no interval, and a dash where it is undefined."""
    value, low, high = (
        (estimate.value, estimate.low, estimate.high) if isinstance(estimate, IntervalEstimate) else estimate
    )
    if value is None:
        return "–"
    interval = f" ({low:.{num_decimals}f} to {high:.{num_decimals}f})" if None not in (low, high) else ""
    return f"{value:.{num_decimals}f}{interval}"


def plot_rates(quality: QualityReport) -> Markup:
    """A plot of sensitivity and specificity with their intervals; the dashed lines are the least that counts."""
    rows = [
        {"annotator": row.name, "of": name, "low": found.low, "share": found.share, "high": found.high}
        for row in quality.annotators
        for name, found in ((name, getattr(row.skill, name)) for name in COLOURS)
        if found.share is not None
    ]
    limits = [{"of": name, "least": quality.settings[f"min_{name}"]} for name in COLOURS]
    lowest = floor(10 * min(0.5, *(limit["least"] for limit in limits), *(row["low"] for row in rows))) / 10
    names, colours = list(COLOURS), list(COLOURS.values())
    colour = alt.Color(
        "of:N", scale=alt.Scale(domain=names, range=colours), legend=alt.Legend(title=None, orient="top")
    )
    shape = alt.Shape("of:N", scale=alt.Scale(domain=names, range=["circle", "square"]), title=None)
    axis = alt.Axis(format="%", title="filter questions answered as known")
    low = alt.X("low:Q", scale=alt.Scale(domain=[lowest, 1], zero=False), axis=axis)
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("annotator:N", title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset("of:N", sort=names),
        color=colour,
    )
    limit = alt.Chart(alt.Data(values=limits)).mark_rule(strokeDash=[5, 4]).encode(x="least:Q", color=colour)
    interval = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x="share:Q", shape=shape)
    chart = alt.layer(limit, interval, point).properties(width=PLOT_WIDTH, height=alt.Step(15))
    return chart_to_svg(chart.configure(font="DejaVu Sans, Verdana, sans-serif").configure_view(stroke=None))
