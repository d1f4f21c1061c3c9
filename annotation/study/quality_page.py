"""The quality report as one HTML page that needs nothing else: no script, no network, plots drawn in it."""

from __future__ import annotations

from pathlib import Path

from annotation.study.quality_figures import Quality
from annotation.study.quality_plots import plots
from pipeline.core.pages import render

RULES = {
    "majority": "more than half of the votes that count say so",
    "unanimity": "all votes that count say so",
    "dawid-skene": "more votes say so than the opposite, and its probability by Dawid and Skene's estimate, made for each "
    "subset by itself, is high enough",
}


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
