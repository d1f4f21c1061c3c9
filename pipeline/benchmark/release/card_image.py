"""card.png, the image at the top of the card: of each subset a UQ drawn by lot, and an AQ of the same image."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from pipeline.core.images import load_rgb
from pipeline.core.records import SUBSETS, Item, Subset

PANEL_WIDTH, PANEL_HEIGHT, GAP = 300, 225, 20  # of a panel's image, in pixels
FONT_SIZE = 17  # height of letters
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
TEXT_COLOUR, UQ_COLOUR, AQ_COLOUR = "#1b1f24", "#b3440a", "#1f6fb4"


def draw_card_image(items: Collection[Item], images: Mapping[str, Path]) -> bytes:
    """A PNG; the same items give the same bytes.

    Args:
        items: in release order, whose first UQ of each subset is shown. images: files by id; where one is not there,
            an empty frame says so.
    """
    shown = [pair for subset in SUBSETS if (pair := _first_pair(subset, items))]
    font, line = ImageFont.load_default(FONT_SIZE), round(1.3 * FONT_SIZE)
    texts = [list(_caption_lines(uq, aq, font)) for uq, aq in shown]
    below = line * max(map(len, texts), default=0)
    sheet = Image.new(
        "RGB", (len(shown) * (PANEL_WIDTH + GAP) + GAP, line + PANEL_HEIGHT + below + 3 * GAP), "white"
    )
    pen = ImageDraw.Draw(sheet)
    for place, ((uq, _), text) in enumerate(zip(shown, texts, strict=True)):
        left = GAP + place * (PANEL_WIDTH + GAP)
        pen.text((left, GAP), uq.subset, TEXT_COLOUR, font)
        sheet.paste(_image_panel(images.get(uq.image_id), font), (left, GAP + line))
        for number, (colour, words) in enumerate(text):
            pen.text((left, 1.5 * GAP + PANEL_HEIGHT + (number + 1) * line), words, colour, font)
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def _first_pair(subset: Subset, items: Collection[Item]) -> tuple[Item, Item | None] | None:
    """The first UQ of a subset and the first AQ of its image there."""
    uq = next((item for item in items if item.unanswerable and item.subset == subset), None)
    if uq is None:
        return None
    aqs = (item for item in items if not item.unanswerable and item.subset == subset)
    return uq, next((item for item in aqs if item.image_id == uq.image_id), None)


def _caption_lines(uq: Item, aq: Item | None, font: Font) -> Iterator[tuple[str, str]]:
    """The lines below an image, each with its colour."""
    for item, colour, answer in ((uq, UQ_COLOUR, "no answer"), (aq, AQ_COLOUR, aq.answer if aq else "")):
        if item:
            yield from ((colour, line) for line in [*_wrap_text(item.text, font), f"  {answer}", ""])


def _image_panel(path: Path | None, font: Font) -> Image.Image:
    """A panel with the image in its middle."""
    panel = Image.new("RGB", (PANEL_WIDTH, PANEL_HEIGHT), "#eef1f4")
    if path is None:
        ImageDraw.Draw(panel).text((GAP, PANEL_HEIGHT // 2), "image not in this release", TEXT_COLOUR, font)
        return panel
    small = load_rgb(path)
    scale = min(PANEL_WIDTH / small.width, PANEL_HEIGHT / small.height)
    small = small.resize((max(1, round(small.width * scale)), max(1, round(small.height * scale))))
    panel.paste(small, ((PANEL_WIDTH - small.width) // 2, (PANEL_HEIGHT - small.height) // 2))
    return panel


def _wrap_text(text: str, font: Font) -> Iterator[str]:
    """Lines no wider than a panel."""
    line = ""
    for word in text.split():
        if line and font.getlength(f"{line} {word}") > PANEL_WIDTH:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
