"""What annotators get in the browser: the screen of a task, and the instructions that they read first.

The study leader replaces texts by files of the same name in `data/<data set>/study/`: `guidelines.md`, `consent.md`.
Both are Markdown with tables; pictures are files beside the text and travel inside the instructions.

Label Studio cleans instructions on the server: it takes `style` attributes and `data:` addresses of pictures out, but
leaves style sheets. So pictures are backgrounds in a style sheet. They then need no file serving, on any server.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import Problems
from pipeline.core.paths import Folders

if TYPE_CHECKING:
    from markdown_it.token import Token

HOME = Path(__file__).parent
TEXTS = ("consent.md", "guidelines.md")  # in the order shown
WIDEST = 448  # pixels; the window of the instructions is 680 wide
KINDS = ("JPEG", "PNG", "GIF", "WEBP")
# For an account's `custom_hotkeys`: Enter alone submits, beside what Label Studio has anyway.
HOTKEYS = {"annotation:annotation:submit": {"key": "ctrl+enter,command+enter,enter", "active": True}}

# Without child combinators, which the server would escape.
STYLE = """
.rgqa-guide { font-size: 16px; line-height: 1.45; }
.rgqa-guide h1 { font-size: 24px; margin: 20px 0 8px; }
.rgqa-guide h2 { font-size: 19px; margin: 20px 0 6px; }
.rgqa-guide p, .rgqa-guide li { margin: 6px 0; }
.rgqa-guide ul { padding-left: 22px; list-style: disc; }
.rgqa-guide strong, .rgqa-guide em, .rgqa-guide code { display: inline; }
.rgqa-guide strong { font-weight: 700; }
.rgqa-guide em { font-style: italic; }
.rgqa-guide code { font-family: monospace; border: 1px solid #98a2b3; border-radius: 4px; padding: 0 5px; }
.rgqa-guide table { width: 100%; border-collapse: collapse; margin: 8px 0; }
.rgqa-guide th, .rgqa-guide td { border: 1px solid #98a2b3; padding: 4px 8px; text-align: left; vertical-align: top; }
.rgqa-guide .picture { display: block; background-size: 100% 100%; border-radius: 6px; margin-top: 12px; }
.rgqa-guide .caption { display: block; font-size: 13px; opacity: 0.75; }
"""


def interface() -> str:
    """The labelling configuration: one picture, two questions, what can be said of them and the keys for it."""
    return (HOME / "interface.xml").read_text(encoding="utf-8")


def instructions(folders: Folders | None = None) -> str:
    """HTML for a project's `expert_instruction`: consent, guidelines and worked examples with their pictures.

    Args:
        folders: of the data set, whose `study/` may hold texts that replace the project's own; None for those.

    Raises:
        UserError: lists pictures that a text names and that are missing or no pictures.
    """
    problems, parts, sheets = Problems("instructions"), "", STYLE
    for number, name in enumerate(TEXTS):
        path = HOME / name
        if folders and (folders.study / name).exists():
            path = folders.study / name
        part, sheet = _html(path, number, problems)
        parts, sheets = parts + part, sheets + sheet
    problems.raise_if_any()
    return f'<style>{sheets}</style><div class="rgqa-guide">{parts}</div>'


def _html(path: Path, number: int, problems: Problems) -> tuple[str, str]:
    """A text as HTML, and the style sheet of its pictures. HTML inside the text shows as text."""
    from markdown_it import MarkdownIt

    sheet: list[str] = []

    def picture(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        token = tokens[place]
        name = f"picture-{number}-{len(sheet)}"
        try:
            sheet.append(_background(name, path.parent / str(token.attrs["src"])))
        except (OSError, ValueError) as error:
            problems.add(
                f"{path}, picture {token.attrs['src']}", f"{error}; put a JPEG, PNG, GIF or WEBP file there"
            )
        caption = html.escape(token.content)
        return f'<span class="picture {name}" title="{caption}"></span><span class="caption">{caption}</span>'

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("image", picture)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems.add(str(path), f"{error}; write it in UTF-8")
        return "", ""
    return markdown.render(text), "".join(sheet)


def _background(name: str, path: Path) -> str:
    """A style sheet that shows a picture file at its own size, or at the widest that fits."""
    from PIL import Image

    with Image.open(path) as picture:
        width, height, kind = *picture.size, picture.format
    if kind not in KINDS:
        raise ValueError(f"{kind} is not shown by every browser")
    shown = min(width, WIDEST)
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f".rgqa-guide .{name} {{ width: {shown}px; height: {round(height * shown / width)}px; "
        f"background-image: url(data:image/{kind.lower()};base64,{data}); }}\n"
    )
