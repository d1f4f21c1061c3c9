"""Pages: the one way from a template to text, and from a chart to SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

if TYPE_CHECKING:
    import altair

# Okabe and Ito's colours, which colour-blind eyes tell apart, without their yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def render(template: Path, filters: Mapping[str, Callable[..., str]] | None = None, **values: object) -> str:
    """Fill in a template; others beside it can be imported by their file names.

    Whatever text comes in is escaped, in templates of Markdown (`.md.jinja`) excepted; the filter `number` writes
    thousands with commas.

    Args:
        filters: more of them, by name.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(("html.jinja",), ("md.jinja",), default=True),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"number": "{:,}".format, **(filters or {})}
    return environment.get_template(template.name).render(values)


def svg(chart: altair.TopLevelMixin) -> Markup:
    """A chart as SVG that may stand in a page as it is: Vega escapes the texts of the data."""
    import vl_convert

    return Markup(vl_convert.vegalite_to_svg(chart.to_json()))
