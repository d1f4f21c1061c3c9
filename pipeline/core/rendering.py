"""Pages: the one way from a template to text, and from a chart to SVG."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from pipeline.core.errors import CONTROL_CHARACTERS, UserError
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders

if TYPE_CHECKING:
    import altair

# Okabe and Ito's colours, which colour-blind eyes tell apart, without their yellow, which is faint on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
JPEG_QUALITIES = (82, 70, 55, 40, 25, 10)  # of JPEG, tried in turn


def render_template(
    template: Path, extra_filters: Mapping[str, Callable[..., str]] | None = None, **values: object
) -> str:
    """Fill in a template; others beside it can be imported by their file names.

    Whatever text comes in is escaped in templates of HTML. Those of Markdown (`.md.jinja`) write texts of the data with the
    filters `md` (within a line or a cell) and `code`. The filter `number` writes thousands with commas.

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
    own = {"number": "{:,}".format, "md": escape_markdown, "code": format_code_span}
    environment.filters |= {**own, **(extra_filters or {})}
    return environment.get_template(template.name).render(values)


class Markdown(str):
    """A text that is Markdown already, which `escape_markdown` leaves as it is."""

    __slots__ = ()


def escape_markdown(text: object) -> str:
    r"""Escape a text so that Markdown, tables included, shows it as it is, in one line.

    >>> print(escape_markdown("a|b <b>*bold*</b>"), escape_markdown("# no\nheading"), escape_markdown(Markdown("`x`")))
    a\|b &lt;b&gt;\*bold\*&lt;/b&gt; \# no heading `x`
    """
    if isinstance(text, Markdown):
        return text
    plain = _to_single_line(text)
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)
    # At the beginning of a line these make headings, lists and rules.
    return re.sub(r"^(\d*)(?=[#+=-]|[.)](?: |$))", r"\1\\", plain)


def format_markdown_table(rows: Sequence[Sequence[str]], num_left: int | None = None) -> str:
    """Lay out a table in Markdown.

    Args:
        rows: The head first. Cells are Markdown: texts of the data go through `escape_markdown` before.
        num_left: How many columns, from the first on, are aligned to the left, the others to the right; None for all.

    >>> print(markdown_table([["row", "score"], ["m", "0.5"]], 1))
    | row | score |
    | --- | --: |
    | m | 0.5 |
    """
    head, *body = rows
    marks = ["---" if num_left is None or column < num_left else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *body])


def format_code_span(text: object) -> Markdown:
    """A text as code within a line of Markdown, whatever marks are in it but `|`, which ends a cell of a table.

    >>> print(code_span("n1"), code_span("a`b"), code_span(""))
    `n1` `` a`b `` ` `
    """
    plain = _to_single_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    apart = " " if not plain or "`" in plain else ""
    return Markdown(f"{fence}{apart}{plain}{apart if plain else ''}{fence}")


def _to_single_line(text: object) -> str:
    """A text without line breaks and control characters, which could steer a terminal that shows it."""
    return " ".join(CONTROL_CHARACTERS.sub(" ", str(text)).split())


def chart_to_svg(chart: altair.TopLevelMixin) -> Markup:
    """A chart as SVG that may stand in a page as it is: Vega escapes the texts of the data."""
    import vl_convert

    return Markup(vl_convert.vegalite_to_svg(chart.to_json()))


def make_image_data_uri(path: Path | str, limits: tuple[int, int]) -> str:
    """A JPEG within `size` (pixels of the longer side, most bytes), as an address that holds it. The same file gives the same.

    Raises:
        UserError: the file is missing or cannot be read as an image any more.
    """
    from pipeline.core.images import load_rgb

    side, most = limits
    try:
        small = load_rgb(path, min_side=side)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: {error}. Since ingest read it, it has changed: restore it, or run dvc repro"
        ) from error
    small.thumbnail((side, side))
    data = b""
    for quality in JPEG_QUALITIES:
        file = io.BytesIO()
        small.save(file, "JPEG", quality=quality, optimize=True)
        data = file.getvalue()
        if len(data) <= most:
            break
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def resolve_page_path(folders: DatasetFolders, out: Path | None, default_name: str) -> Path:
    """Return where a page about a data set goes: in the folder of the data set unless another place is named.

    Raises:
        UserError: the page would replace or lie among the files that it is about.
    """
    out = out or folders.root / default_name
    folders.check_outputs(Output("--out", out))
    return out
