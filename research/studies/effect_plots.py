"""Plot each effect on a set's ranking (`ranking_effects`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pipeline.core.records import SUBSETS
from research.studies.ranking_effects import Effect, EffectPoint

TITLES: dict[Effect, str] = {
    "noise": "proportion of AQs labelled as UQs",
    "cap": "reuse cap: uses of one question in a subset",
    "balancing": "pairing rules",
    "size": "items (of a sample of the images)",
}
TAU_TITLE, TEXT_ONLY_TITLE = "tau with counterfactual pairs", "text-only AUROC"
NO_CAP_LABEL = "none"
PLOT_WIDTH, PLOT_HEIGHT = 300, 220
COLOR_SCALE, VALUE_SCALE = alt.Scale(scheme="dark2"), alt.Scale(zero=False)


def plot_effect(points: Sequence[EffectPoint], effect: Effect) -> Any:
    """Plot tau with its 95 % interval against what was changed, and text-only AUROC beside it where it is
    measured.

    Raises:
        ValueError: There is no point of this effect.
    """
    table = make_effect_table(points, effect)
    if effect in ("noise", "size"):
        return _plot_lines(table, effect)
    return _plot_points(table, effect)


def _plot_lines(table: pd.DataFrame, effect: Effect) -> Any:
    """Plot lines with bands: for noise a line for each subset, for size a panel for each subset and a line
    for each rule set.
    """
    if effect == "noise":
        x = alt.X("x_value:Q", title=TITLES[effect], axis=alt.Axis(format=".0%"))
        colour = alt.Color("subset:N", title="subset", sort=list(SUBSETS), scale=COLOR_SCALE)
    else:
        x = alt.X("x_value:Q", title=TITLES[effect], scale=alt.Scale(type="log", nice=False))
        colour = alt.Color("pairing_rules:N", title="rules", scale=COLOR_SCALE)
    base = alt.Chart(table, width=PLOT_WIDTH, height=PLOT_HEIGHT).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.15).encode(
        alt.Y("low:Q", title=TAU_TITLE, scale=VALUE_SCALE), y2="high:Q"
    )
    both = band + base.mark_line(point=True).encode(alt.Y("tau:Q", title=TAU_TITLE, scale=VALUE_SCALE))
    return both if effect == "noise" else both.facet(alt.Facet("subset:N", title=None), columns=2)


def _plot_points(table: pd.DataFrame, effect: Effect) -> Any:
    """Plot points with intervals. Points with the same x value are side by side."""
    x = alt.X(
        "x_value:N",
        title=TITLES[effect],
        sort=list(dict.fromkeys(table["x_value"])),
        axis=alt.Axis(labelAngle=0),
    )
    base = alt.Chart(table, width=PLOT_WIDTH, height=PLOT_HEIGHT).encode(
        x=x,
        xOffset=alt.XOffset("group:N"),
        color=alt.Color("subset:N", title="subset", sort=list(SUBSETS), scale=COLOR_SCALE),
    )
    dots = base.mark_point(filled=True, size=50)
    if effect == "cap":
        dots = dots.encode(shape=alt.Shape("pairing_rules:N", title="pairing"))
    bars = base.mark_rule().encode(alt.Y("low:Q", title=TAU_TITLE, scale=VALUE_SCALE), y2="high:Q")
    tau = bars + dots.encode(alt.Y("tau:Q", title=TAU_TITLE, scale=VALUE_SCALE))
    return alt.hconcat(tau, dots.encode(alt.Y("text_only_auroc:Q", title=TEXT_ONLY_TITLE, scale=VALUE_SCALE)))


def make_effect_table(points: Sequence[EffectPoint], effect: Effect) -> pd.DataFrame:
    """Return the points of an effect as a table with columns `x_value` and `group`, which separates points of
    one x value.

    Raises:
        ValueError: There is no point of this effect.
    """
    rows = [one for one in points if one.effect == effect]
    if not rows:
        raise ValueError(f"there is no point of effect {effect}")
    table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in rows])
    x_values: dict[Effect, Any] = {
        "noise": table["x"],
        "cap": [f"{x:g}" if x else NO_CAP_LABEL for x in table["x"]],
        "balancing": table["pairing_rules"],
        "size": table["num_items"],
    }
    return table.assign(x_value=x_values[effect], group=table["subset"] + table["pairing_rules"])
