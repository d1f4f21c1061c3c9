"""Render the quality report as one self-contained HTML page.

The page has no scripts and needs no network: plots are inline SVG, and thumbnails are embedded. The colors
are those of Okabe and Ito, which color-blind people can distinguish. Whatever a color means is also shown by
a shape or a text.
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
    "majority": "more than half of them agree",
    "unanimity": "all of them agree",
    "dawid-skene": "the votes support this, and it is probable enough by the model of the votes, which combines the "
    "prior of stage estimate with what gold questions show about each annotator",
}
COLOURS = {"sensitivity": "#0072B2", "specificity": "#D55E00"}
# Width of a plot in pixels.
PLOT_WIDTH = 560
# Maximum length of the longer side of a thumbnail in pixels, and maximum size of its file in bytes.
THUMBNAIL = (180, 12_000)


def render_page(quality: QualityReport, images: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the report as HTML. All text from people or sources is escaped.

    Args:
        quality: The report.
        images: Image id -> image file. An uncertain candidate is shown with a thumbnail if its image is in
            this mapping.

    Returns:
        A complete HTML document.
    """
    shown = {row.image_id for row in quality.uncertain_items} & images.keys()
    return render_template(
        Path(__file__).with_name("quality.html.jinja"),
        {"percent": format_percent, "decimals": format_decimals, "interval": format_interval},
        q=quality,
        rates_plot=plot_rates(quality),
        rule=RULE_DESCRIPTIONS[quality.settings["aggregation"]],
        thumbnails={key: make_image_data_uri(images[key], THUMBNAIL) for key in shown},
    )


def format_percent(proportion: float | None, num_decimals: int = 1) -> str:
    """Return a proportion as a percentage, or a dash if it is undefined (None).

    >>> format_percent(0.125), format_percent(None)
    ('12.5%', '–')
    """
    return "–" if proportion is None else f"{proportion:.{num_decimals}%}"


def format_decimals(value: float | None, num_decimals: int = 2) -> str:
    """Return a number with a fixed number of decimals, or a dash if it is undefined (None)."""
    return "–" if value is None else f"{value:.{num_decimals}f}"


def format_interval(estimate: IntervalEstimate | tuple[float | None, ...], num_decimals: int = 2) -> str:
    """Return a value with its interval, only the value if there is no interval, or a dash if the value is
    undefined.

    >>> format_interval((0.61, 0.55, 0.67))
    '0.61 (0.55 to 0.67)'
    """
    value, low, high = (
        (estimate.value, estimate.low, estimate.high) if isinstance(estimate, IntervalEstimate) else estimate
    )
    if value is None:
        return "–"
    interval = f" ({low:.{num_decimals}f} to {high:.{num_decimals}f})" if None not in (low, high) else ""
    return f"{value:.{num_decimals}f}{interval}"


def plot_rates(quality: QualityReport) -> Markup:
    """Return an SVG plot of each annotator's sensitivity and specificity with intervals.

    Dashed lines mark the minimums.
    """
    rows = [
        {"annotator": row.name, "measure": name, "low": found.low, "rate": found.rate, "high": found.high}
        for row in quality.annotators
        for name, found in ((name, getattr(row.gold_accuracy, name)) for name in COLOURS)
        if found.rate is not None
    ]
    limits = [{"measure": name, "minimum": quality.settings[f"min_{name}"]} for name in COLOURS]
    lowest = floor(10 * min(0.5, *(limit["minimum"] for limit in limits), *(row["low"] for row in rows))) / 10
    names, colours = list(COLOURS), list(COLOURS.values())
    colour = alt.Color(
        "measure:N", scale=alt.Scale(domain=names, range=colours), legend=alt.Legend(title=None, orient="top")
    )
    shape = alt.Shape("measure:N", scale=alt.Scale(domain=names, range=["circle", "square"]), title=None)
    axis = alt.Axis(format="%", title="gold questions answered correctly")
    low = alt.X("low:Q", scale=alt.Scale(domain=[lowest, 1], zero=False), axis=axis)
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("annotator:N", title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset("measure:N", sort=names),
        color=colour,
    )
    limit = (
        alt.Chart(alt.Data(values=limits)).mark_rule(strokeDash=[5, 4]).encode(x="minimum:Q", color=colour)
    )
    interval = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x="rate:Q", shape=shape)
    chart = alt.layer(limit, interval, point).properties(width=PLOT_WIDTH, height=alt.Step(15))
    return chart_to_svg(chart.configure(font="DejaVu Sans, Verdana, sans-serif").configure_view(stroke=None))
