"""Render the Markdown texts that annotators read: `consent.md`, `guidelines.md`, and (for servers other than
ours) `instructions.md`.

The study leader can replace each text by a file of the same name in `data/<data set>/study/`. Images are
files in the folder of the text. The images are embedded in the page, so that no server has to serve them.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import Problems, UserError
from pipeline.core.images import WHITE, encode_image

if TYPE_CHECKING:
    from markdown_it.token import Token

TEXTS_DIR = Path(__file__).parent
# Maximum width of an image in pixels. The window of the instructions is 680 pixels wide.
MAX_IMAGE_WIDTH = 448


def read_text(name: str, study: Path) -> tuple[Path, str]:
    """Return a text and its path: the file of the study if there is one, else the default.

    Args:
        name: File name of the text.
        study: The folder study/ of the data set.

    Raises:
        UserError: The file cannot be read.
    """
    path = study / name if (study / name).exists() else TEXTS_DIR / name
    try:
        return path, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}. Save the file as UTF-8") from error


def render_page(text: str, path: Path = TEXTS_DIR / "consent.md", sheet: list[str] | None = None) -> str:
    """Render a Markdown text as HTML. HTML in the text is escaped.

    Label Studio removes images with `data:` URLs from instructions, but keeps style sheets. If `sheet` is
    given, the images become background images in the style sheet.

    Args:
        text: The Markdown text.
        path: The file of the text. Image paths are relative to its folder.
        sheet: List of style rules to which the rules for images are appended; None to use images with `data:`
            URLs.

    Raises:
        UserError: Images are missing or cannot be read. All such images are listed.
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("image", _render_image)
    problems = Problems("instructions")
    rendered = markdown.render(text, {"path": path, "sheet": sheet, "problems": problems})
    problems.raise_if_any()
    return rendered


def read_guidelines(study: Path, is_yes_no: bool = False) -> tuple[Path, str]:
    """Return the guidelines and their path, as `read_text`.

    Args:
        study: The folder study/ of the data set.
        is_yes_no: Whether annotators choose between yes and no.
    """
    own = study / "guidelines.md"
    return read_text("guidelines_yes_no.md" if is_yes_no and not own.exists() else own.name, study)


def render_guidelines(study: Path, is_yes_no: bool = False) -> str:
    """Render the guidelines for our annotation page, with embedded images."""
    path, text = read_guidelines(study, is_yes_no)
    return render_page(text, path)


def _render_image(_: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Render an image with its caption, in its original size or scaled down to `MAX_IMAGE_WIDTH`."""
    token, sheet = tokens[place], env["sheet"]
    path = env["path"].parent / str(token.attrs["src"])
    caption = html.escape(token.content)
    try:
        image = encode_image(path, background=WHITE)
    except (OSError, ValueError) as error:
        env["problems"].add(f"{env['path']}, image {token.attrs['src']}", str(error))
        return ""
    width, height = image.size
    shown_width = min(width, MAX_IMAGE_WIDTH)
    size = shown_width, round(height * shown_width / width)
    below = f'<span class="caption">{caption}</span>'
    if sheet is None:
        return f'<img src="{image.data_uri}" width="{size[0]}" height="{size[1]}" alt="{caption}">{below}'
    name = f"image-{len(sheet)}"
    style = f"width: {size[0]}px; height: {size[1]}px; background-image: url({image.data_uri});"
    sheet.append(f".rgqa-guide .{name} {{ {style} }}\n")
    return f'<span class="image {name}" title="{caption}"></span>{below}'
