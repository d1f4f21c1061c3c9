"""The quality report as one HTML page that needs nothing else: no script, no network, plots drawn in it."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from annotation.study.quality_figures import Quality
from annotation.study.quality_plots import plots

RULES = {
    "majority": "more than half of the votes that count say so",
    "unanimity": "all votes that count say so",
    "dawid-skene": "more votes say so than the opposite, and its probability by Dawid and Skene's estimate, made for each "
    "subset by itself, is high enough",
}


def page(quality: Quality) -> str:
    """The HTML. Whatever text comes from people or pictures' sources is shown as text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"percent": percent, "places": places, "number": "{:,}".format}
    drawn = {name: Markup(svg) for name, svg in plots(quality).items()}  # Vega escapes the text in its SVG
    return environment.get_template("quality.html.jinja").render(
        q=quality, plots=drawn, rule=RULES[quality.settings["rule"]]
    )


def percent(share: float | None, count: int = 1) -> str:
    """A share in percent with so many places; a dash where it is undefined."""
    return "–" if share is None else f"{share:.{count}%}"


def places(value: float | None, count: int = 2) -> str:
    """A number with so many places; a dash where it is undefined."""
    return "–" if value is None else f"{value:.{count}f}"
