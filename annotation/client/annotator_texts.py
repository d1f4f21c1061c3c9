"""The texts that annotators read, from Markdown: `consent.md`, `guidelines.md`, and on other servers than ours `screen.md`.

The study leader replaces them by files of the same name in `data/<data set>/study/`. Images are files beside a text and
travel inside the page, so they need no file serving, on any server.
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
MAX_IMAGE_WIDTH = 448  # pixels; the window of the instructions is 680 wide


def read_text(name: str, study: Path) -> tuple[Path, str]:
    """A text and where it stands: the study's own, or the project's.

    Raises:
        UserError: it cannot be read.
    """
    path = study / name if (study / name).exists() else TEXTS_DIR / name
    try:
        return path, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}; write it in UTF-8") from error


def render_page(text: str, path: Path = TEXTS_DIR / "consent.md", sheet: list[str] | None = None) -> str:
    """HTML of a text; HTML inside it shows as text.

    Label Studio cleans instructions: it takes `data:` addresses of images out, but leaves style sheets. With a `sheet`,
    images are backgrounds in it.

    Args:
        path: the text's file, from which its images are found.

    Raises:
        UserError: lists images that it names and that are missing or no images.
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("image", _render_image)
    problems = Problems("instructions")
    made = markdown.render(text, {"path": path, "sheet": sheet, "problems": problems})
    problems.raise_if_any()
    return made


def render_guidelines(study: Path) -> str:
    """The guidelines as our own desk shows them, images inside."""
    path, text = read_text("guidelines.md", study)
    return render_page(text, path)


def _render_image(_: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """An image of a text and its caption; at its own size, or at the widest that fits."""
    token, sheet = tokens[place], env["sheet"]
    path = env["path"].parent / str(token.attrs["src"])
    caption = html.escape(token.content)
    try:
        image = encode_image(path, background=WHITE)
    except (OSError, ValueError) as error:
        env["problems"].add(f"{env['path']}, image {token.attrs['src']}", str(error))
        return ""
    width, height = image.size
    shown = min(width, MAX_IMAGE_WIDTH)
    size = shown, round(height * shown / width)
    below = f'<span class="caption">{caption}</span>'
    if sheet is None:
        return f'<img src="{image.data_uri}" width="{size[0]}" height="{size[1]}" alt="{caption}">{below}'
    name = f"image-{len(sheet)}"
    style = f"width: {size[0]}px; height: {size[1]}px; background-image: url({image.data_uri});"
    sheet.append(f".rgqa-guide .{name} {{ {style} }}\n")
    return f'<span class="image {name}" title="{caption}"></span>{below}'
