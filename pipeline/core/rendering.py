"""Render templates, Markdown, charts and small images for pages."""

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

# The color-blind safe palette of Okabe and Ito, without its yellow, which is hard to see on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# JPEG qualities (0 to 100) that are tried in turn until the file is small enough.
JPEG_QUALITIES = (82, 70, 55, 40, 25, 10)


def render_template(
    template: Path, extra_filters: Mapping[str, Callable[..., str]] | None = None, **values: object
) -> str:
    """Render a Jinja template. The template can import templates in the same folder by their file names.

    In HTML templates, values are escaped automatically. Markdown templates (`.md.jinja`) must use the filters
    `md` (text in a line or table cell) and `code` (a code span). The filter `number` separates thousands by
    commas.

    Args:
        template: File of the template.
        extra_filters: Further filters by name.
        values: Values for the template, by name.

    Raises:
        jinja2.UndefinedError: The template uses a value that is not in `values`.
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
    """A text that already is Markdown. `escape_markdown` does not change such a text."""

    __slots__ = ()


def escape_markdown(text: object) -> str:
    r"""Escape a text so that Markdown shows it unchanged, on one line and also in tables.

    Example:
        >>> print(escape_markdown("a|b <b>*bold*</b>"), escape_markdown("# no\nheading"), escape_markdown(Markdown("`x`")))
        a\|b &lt;b&gt;\*bold\*&lt;/b&gt; \# no heading `x`
    """
    if isinstance(text, Markdown):
        return text
    plain = _to_single_line(text)
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)
    # At the beginning of a line these characters make headings, lists and rules.
    return re.sub(r"^(\d*)(?=[#+=-]|[.)](?: |$))", r"\1\\", plain)


def format_markdown_table(rows: Sequence[Sequence[str]], num_left: int | None = None) -> str:
    """Return a Markdown table.

    Args:
        rows: Cells of each row, the header first. Cells are Markdown. The caller must escape texts from the
            data with `escape_markdown`.
        num_left: The first `num_left` columns are left-aligned, and the other columns are right-aligned. None
            to left-align all columns.

    Example:
        >>> print(format_markdown_table([["row", "score"], ["m", "0.5"]], 1))
        | row | score |
        | --- | --: |
        | m | 0.5 |
    """
    head, *body = rows
    marks = ["---" if num_left is None or column < num_left else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *body])


def format_code_span(text: object) -> Markdown:
    """Return a text as a code span of Markdown.

    The text may contain backticks. In a table, the text must not contain `|`.

    Example:
        >>> print(format_code_span("n1"), format_code_span("a`b"), format_code_span(""))
        `n1` `` a`b `` ` `
    """
    plain = _to_single_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    padding = " " if not plain or "`" in plain else ""
    return Markdown(f"{fence}{padding}{plain}{padding if plain else ''}{fence}")


def _to_single_line(text: object) -> str:
    """Return a text without line breaks and control characters, which could change how a terminal shows it."""
    return " ".join(CONTROL_CHARACTERS.sub(" ", str(text)).split())


def chart_to_svg(chart: altair.TopLevelMixin) -> Markup:
    """Return a chart as SVG for a page. Texts from the data need no escaping, because Vega escapes them."""
    import vl_convert

    return Markup(vl_convert.vegalite_to_svg(chart.to_json()))


def make_image_data_uri(path: Path | str, limits: tuple[int, int]) -> str:
    """Return a small JPEG of an image as a data URI. The same file always gives the same URI.

    Args:
        path: File of the image.
        limits: Maximum length of the longer side in pixels, and maximum size in bytes.

    Raises:
        UserError: The file is missing, or is no longer a readable image.
    """
    from pipeline.core.images import load_rgb

    max_side, max_bytes = limits
    try:
        small = load_rgb(path, min_side=max_side)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: {error}. The file changed since ingest read it: restore it, or run dvc repro"
        ) from error
    small.thumbnail((max_side, max_side))
    data = b""
    for quality in JPEG_QUALITIES:
        file = io.BytesIO()
        small.save(file, "JPEG", quality=quality, optimize=True)
        data = file.getvalue()
        if len(data) <= max_bytes:
            break
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def resolve_page_path(folders: DatasetFolders, out: Path | None, default_name: str) -> Path:
    """Return the path of a page about a data set.

    Args:
        folders: The data set.
        out: The path given by the user; None for the folder of the data set.
        default_name: File name of the page if `out` is None.

    Raises:
        UserError: The page would replace a file of the data set or of its releases.
    """
    out = out or folders.root / default_name
    folders.check_outputs(Output("--out", out))
    return out
