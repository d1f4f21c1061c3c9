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


def instructions(study: Path = HOME) -> str:
    """HTML for a project's `expert_instruction`: consent, guidelines and worked examples with their pictures.

    Args:
        study: a folder that may hold texts that replace the project's own.

    Raises:
        UserError: lists pictures that a text names and that are missing or no pictures.
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")  # HTML inside a text shows as text
    markdown.add_render_rule("image", _picture)
    problems, parts, styles = Problems("instructions"), "", STYLE
    for number, name in enumerate(TEXTS):
        path = study / name if (study / name).exists() else HOME / name
        sheet: list[str] = []
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.add(str(path), f"{error}; write it in UTF-8")
            continue
        parts += markdown.render(text, {"path": path, "number": number, "sheet": sheet, "problems": problems})
        styles += "".join(sheet)
    problems.raise_if_any()
    return f'<style>{styles}</style><div class="rgqa-guide">{parts}</div>'


def _picture(_: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """A picture of a text: its place, for which a style is added to `env["sheet"]`, and its caption."""
    token, path, sheet = tokens[place], env["path"], env["sheet"]
    name = f"picture-{env['number']}-{len(sheet)}"
    try:
        sheet.append(_background(name, path.parent / str(token.attrs["src"])))
    except (OSError, ValueError) as error:
        advice = "put a JPEG, PNG, GIF or WEBP file there"
        env["problems"].add(f"{path}, picture {token.attrs['src']}", f"{error}; {advice}")
    caption = html.escape(token.content)
    return f'<span class="picture {name}" title="{caption}"></span><span class="caption">{caption}</span>'


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
