"""A figure for each effect on a set's ranking (`ranking_effects`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pipeline.core.records import SUBSETS
from research.studies.ranking_effects import Effect, EffectPoint

TITLES: dict[Effect, str] = {
    "noise": "share of AQs told as UQs",
    "cap": "cap: uses of one question in a subset",
    "balancing": "pairing",
    "size": "items (some of the images)",
}
TAU_TITLE, TEXT_ONLY_TITLE = "tau with twins", "AUROC of the wording alone"
NO_CAP_LABEL = "none"
PLOT_WIDTH, PLOT_HEIGHT = 300, 220
COLOR_SCALE, VALUE_SCALE = alt.Scale(scheme="dark2"), alt.Scale(zero=False)


def plot_effect(points: Sequence[EffectPoint], effect: Effect) -> Any:
    """The figure of an effect: tau against what was changed, with 95 %; where the wording's AUROC is told, that beside it.

    Raises:
        ValueError: no point of this effect.
    """
    table = make_effect_table(points, effect)
    if effect in ("noise", "size"):
        return _plot_lines(table, effect)
    return _plot_points(table, effect)


def _plot_lines(table: pd.DataFrame, effect: Effect) -> Any:
    """Lines with bands: of noise by subset, of size a panel for each subset and a line for each rules."""
    if effect == "noise":
        x = alt.X("where:Q", title=TITLES[effect], axis=alt.Axis(format=".0%"))
        colour = alt.Color("subset:N", title="subset", sort=list(SUBSETS), scale=COLOR_SCALE)
    else:
        x = alt.X("where:Q", title=TITLES[effect], scale=alt.Scale(type="log", nice=False))
        colour = alt.Color("series:N", title="rules", scale=COLOR_SCALE)
    base = alt.Chart(table, width=PLOT_WIDTH, height=PLOT_HEIGHT).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.15).encode(
        alt.Y("low:Q", title=TAU_TITLE, scale=VALUE_SCALE), y2="high:Q"
    )
    both = band + base.mark_line(point=True).encode(alt.Y("tau:Q", title=TAU_TITLE, scale=VALUE_SCALE))
    return both if effect == "noise" else both.facet(alt.Facet("subset:N", title=None), columns=2)


def _plot_points(table: pd.DataFrame, effect: Effect) -> Any:
    """Points with intervals, those of one place side by side."""
    x = alt.X(
        "where:N", title=TITLES[effect], sort=list(dict.fromkeys(table["where"])), axis=alt.Axis(labelAngle=0)
    )
    base = alt.Chart(table, width=PLOT_WIDTH, height=PLOT_HEIGHT).encode(
        x=x,
        xOffset=alt.XOffset("beside:N"),
        color=alt.Color("subset:N", title="subset", sort=list(SUBSETS), scale=COLOR_SCALE),
    )
    dots = base.mark_point(filled=True, size=50)
    if effect == "cap":
        dots = dots.encode(shape=alt.Shape("series:N", title="pairing"))
    bars = base.mark_rule().encode(alt.Y("low:Q", title=TAU_TITLE, scale=VALUE_SCALE), y2="high:Q")
    tau = bars + dots.encode(alt.Y("tau:Q", title=TAU_TITLE, scale=VALUE_SCALE))
    return alt.hconcat(tau, dots.encode(alt.Y("wording:Q", title=TEXT_ONLY_TITLE, scale=VALUE_SCALE)))


def make_effect_table(points: Sequence[EffectPoint], effect: Effect) -> pd.DataFrame:
    """The points of an effect as a table; `where` is what stands on its axis, `beside` tells
    apart what stands at one place."""
    rows = [one for one in points if one.effect == effect]
    if not rows:
        raise ValueError(f"no point of {effect}")
    table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in rows])
    where: dict[Effect, Any] = {
        "noise": table["x"],
        "cap": [f"{x:g}" if x else NO_CAP_LABEL for x in table["x"]],
        "balancing": table["series"],
        "size": table["items"],
    }
    return table.assign(where=where[effect], beside=table["subset"] + table["series"])
