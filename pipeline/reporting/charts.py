"""The page's plots as SVG: histograms of CLIP scores, and what attackers reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt
import msgspec
from markupsafe import Markup

from pipeline.auditing.clip_histograms import Histograms
from pipeline.core.pages import svg
from pipeline.core.records import Record

# Told apart by eyes that see red and green alike, and in print by the dashes of UQ.
AQ, UQ = "#1f6fb4", "#c8500a"
WIDTH = 470


class AttackRow(Record):
    """What one attacker reaches: max(AUROC, 1 - AUROC) with its interval; under the paper's rules; the limit, if any."""

    attacker: str
    auroc: float | None
    low: float | None
    high: float | None
    paper: float | None = None
    limit: float | None = None


def histogram_svg(drawn: Histograms, span: tuple[float, float]) -> Markup:
    """Both histograms of a subset. `span` is the axis, the same for all subsets, so that they can be compared."""
    bins = [
        {"kind": kind, "from": start, "to": end, "share": round(share, 6)}
        for kind, shares in (("AQ", drawn.aq), ("UQ", drawn.uq))
        for start, end, share in zip(drawn.edges, drawn.edges[1:], shares, strict=False)
    ]
    # A step is drawn from the lower edge of each bin; one more point ends the last bin.
    outline = [*bins, *({"kind": kind, "from": drawn.edges[-1], "share": 0.0} for kind in ("AQ", "UQ"))]
    means = [{"kind": "AQ", "from": round(drawn.aq_mean, 6)}, {"kind": "UQ", "from": round(drawn.uq_mean, 6)}]
    x = alt.X(
        "from:Q",
        title="CLIP score (cosine of picture and question)",
        scale=alt.Scale(domain=span, nice=False),
    )
    y = alt.Y(
        "share:Q",
        title="share of its kind",
        stack=None,
        scale=alt.Scale(domain=[0, 1.06 * max(*drawn.aq, *drawn.uq)], nice=False),
        axis=alt.Axis(format="%", minExtent=34),
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[AQ, UQ]), legend=None)
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=["AQ", "UQ"], range=[[1, 0], [5, 3]]), legend=None)
    area = _chart(bins).mark_bar(opacity=0.3).encode(x=x, x2="to:Q", y=y, y2=alt.datum(0), color=colour)
    line = _chart(outline).mark_line(interpolate="step-after", strokeWidth=1.6)
    rule = _chart(means).mark_rule(strokeWidth=1.2)
    return _decoration(
        (
            area
            + line.encode(x=x, y=y, color=colour, strokeDash=dash)
            + rule.encode(x=x, color=colour, strokeDash=dash)
        ).properties(width=WIDTH, height=180)
    )


def attack_svg(rows: Sequence[AttackRow]) -> Markup:
    """What every attacker reaches in one subset, with intervals, limits and the paper's rules beside."""
    shown = [msgspec.to_builtins(row) for row in rows if row.auroc is not None]
    order = [row["attacker"] for row in shown]
    y = alt.Y("attacker:N", sort=order, title=None, axis=alt.Axis(minExtent=115))

    def x(field: str) -> alt.X:
        return alt.X(
            f"{field}:Q",
            title="max(AUROC, 1 - AUROC); 0.5 is chance",
            scale=alt.Scale(domain=[0.45, 1.0], nice=False, clamp=True),
            axis=alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format=".1f"),
        )

    def having(field: str) -> alt.Chart:
        return _chart(row for row in shown if row[field] is not None).encode(x=x(field), y=y)

    chart = (
        having("low").mark_rule(color=AQ, strokeWidth=3, opacity=0.45).encode(x2="high:Q")
        + having("auroc").mark_point(filled=True, size=70, color=AQ, opacity=1)
        + having("paper").mark_point(shape="diamond", size=75, color=UQ, strokeWidth=1.8, opacity=1)
        + having("limit").mark_tick(color="#111", thickness=2, size=20)
    )
    return _decoration(chart.properties(width=WIDTH - 100, height=25 * len(order)))


def _chart(rows: Iterable[dict[str, object]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _decoration(chart: alt.LayerChart | alt.FacetChart) -> Markup:
    """SVG to stand in HTML: decoration for a reader of screens, whom the caption and the table beside it serve."""
    styled = chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#e8ebee"
    )
    return Markup(str(svg(styled)).replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
