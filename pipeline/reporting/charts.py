"""The page's plots as SVG: histograms of CLIP scores, and what attackers reach."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.core.records import Record
from pipeline.reporting.clip_scores import Histograms

if TYPE_CHECKING:
    import altair

AQ, UQ = (
    "#1f6fb4",
    "#c8500a",
)  # told apart by eyes that see red and green alike, and in print by the dashes of UQ
WIDTH = 470


class Reach(Record):
    """What one attacker reaches: max(AUROC, 1 - AUROC) with its interval; under the paper's rules; the limit, if any."""

    attacker: str
    auroc: float | None
    low: float | None
    high: float | None
    paper: float | None = None
    limit: float | None = None


def histogram_svg(found: Histograms, span: tuple[float, float]) -> str:
    """Both histograms of a subset. `span` is the axis, the same for all subsets, so that they can be compared."""
    import altair as alt

    rows = [
        {"kind": kind, "from": found.edges[i], "to": found.edges[i + 1], "share": round(share, 6)}
        for kind, shares in (("AQ", found.aq), ("UQ", found.uq))
        for i, share in enumerate(shares)
    ]
    # A step is drawn from the lower edge of each bin; one more point ends the last bin.
    outline = [*rows, *({"kind": kind, "from": found.edges[-1], "share": 0.0} for kind in ("AQ", "UQ"))]
    x = alt.X(
        "from:Q",
        title="CLIP score (cosine of picture and question)",
        scale=alt.Scale(domain=span, nice=False),
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[AQ, UQ]), legend=None)
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[[1, 0], [5, 3]]), legend=None)
    top = 1.06 * max(*found.aq, *found.uq)
    y = alt.Y(
        "share:Q",
        title="share of its kind",
        stack=None,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(format="%", minExtent=34),
    )
    area = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.3)
        .encode(x=x, x2="to:Q", y=y, y2=alt.datum(0), color=colour)
    )
    line = (
        alt.Chart(alt.Data(values=outline))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
    )
    means = [{"kind": "AQ", "from": round(found.aq_mean, 6)}, {"kind": "UQ", "from": round(found.uq_mean, 6)}]
    rule = (
        alt.Chart(alt.Data(values=means))
        .mark_rule(strokeWidth=1.2)
        .encode(x=x, color=colour, strokeDash=dash)
    )
    return _svg((area + line + rule).properties(width=WIDTH, height=180))


def attack_svg(rows: Sequence[Reach]) -> str:
    """What every attacker reaches in one subset, with intervals, limits and the paper's rules beside."""
    import altair as alt

    order = [row.attacker for row in rows if row.auroc is not None]
    shown = [
        {
            "attacker": r.attacker,
            "auroc": r.auroc,
            "low": r.low,
            "high": r.high,
            "paper": r.paper,
            "limit": r.limit,
        }
        for r in rows
        if r.auroc is not None
    ]
    y = alt.Y("attacker:N", sort=order, title=None, axis=alt.Axis(minExtent=115))

    def x(field: str) -> altair.X:
        return alt.X(
            f"{field}:Q",
            title="max(AUROC, 1 - AUROC); 0.5 is chance",
            scale=alt.Scale(domain=[0.45, 1.0], nice=False, clamp=True),
            axis=alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format=".1f"),
        )

    def some(field: str) -> altair.Chart:
        return alt.Chart(alt.Data(values=[row for row in shown if row[field] is not None]))

    chart = (
        some("low").mark_rule(color=AQ, strokeWidth=3, opacity=0.45).encode(x=x("low"), x2="high:Q", y=y)
        + some("auroc").mark_point(filled=True, size=70, color=AQ, opacity=1).encode(x=x("auroc"), y=y)
        + some("paper")
        .mark_point(shape="diamond", size=75, color=UQ, strokeWidth=1.8, opacity=1)
        .encode(x=x("paper"), y=y)
        + some("limit").mark_tick(color="#111", thickness=2, size=20).encode(x=x("limit"), y=y)
    )
    return _svg(chart.properties(width=WIDTH - 100, height=25 * len(order)))


def span_of(found: Mapping[str, Histograms]) -> tuple[float, float]:
    """The axis that holds all histograms."""
    return min(h.edges[0] for h in found.values()), max(h.edges[-1] for h in found.values())


def _svg(chart: altair.Chart) -> str:
    """SVG to stand in HTML: decoration for a reader of screens, whom the caption and the table beside it serve."""
    import vl_convert

    spec = (
        chart.configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#e8ebee")
        .to_json()
    )
    svg = vl_convert.vegalite_to_svg(spec)
    return re.sub(r"^<svg ", '<svg aria-hidden="true" focusable="false" ', svg, count=1)
