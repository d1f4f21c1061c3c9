"""Draw card.png, the image at the top of the dataset card.

It shows one unanswerable question (UQ) of each subset, and an answerable question (AQ) about the same image.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from pipeline.core.images import load_rgb
from pipeline.core.records import SUBSETS, Item, Subset

# Sizes in pixels.
PANEL_WIDTH, PANEL_HEIGHT, GAP = 300, 225, 20
FONT_SIZE = 17
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
TEXT_COLOUR, UQ_COLOUR, AQ_COLOUR = "#1b1f24", "#b3440a", "#1f6fb4"


def draw_card_image(items: Collection[Item], images: Mapping[str, Path]) -> bytes:
    """Return a PNG. The same items give the same bytes.

    Args:
        items: Items in release order, which is random. The first UQ of each subset is shown.
        images: Image id -> image file. A missing image is replaced by an empty panel.
    """
    shown = [pair for subset in SUBSETS if (pair := _first_pair(subset, items))]
    font, line = ImageFont.load_default(FONT_SIZE), round(1.3 * FONT_SIZE)
    texts = [list(_caption_lines(uq, aq, font)) for uq, aq in shown]
    below = line * max(map(len, texts), default=0)
    sheet = Image.new(
        "RGB", (len(shown) * (PANEL_WIDTH + GAP) + GAP, line + PANEL_HEIGHT + below + 3 * GAP), "white"
    )
    pen = ImageDraw.Draw(sheet)
    for column, ((uq, _), text) in enumerate(zip(shown, texts, strict=True)):
        left = GAP + column * (PANEL_WIDTH + GAP)
        pen.text((left, GAP), uq.subset, TEXT_COLOUR, font)
        sheet.paste(_image_panel(images.get(uq.image_id), font), (left, GAP + line))
        for number, (colour, words) in enumerate(text):
            pen.text((left, 1.5 * GAP + PANEL_HEIGHT + (number + 1) * line), words, colour, font)
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def _first_pair(subset: Subset, items: Collection[Item]) -> tuple[Item, Item | None] | None:
    """Return the first UQ of a subset, and an AQ of the subset about the same image (or None).

    This is the AQ of the same pair if it is about this image, which is the case in PT subsets, and otherwise the first one.
    """
    uq = next((item for item in items if item.unanswerable and item.subset == subset), None)
    if uq is None:
        return None
    aqs = [
        item
        for item in items
        if not item.unanswerable and item.subset == subset and item.image_id == uq.image_id
    ]
    return uq, min(aqs, key=lambda item: item.pair_id != uq.pair_id, default=None)


def _caption_lines(uq: Item, aq: Item | None, font: Font) -> Iterator[tuple[str, str]]:
    """Yield the lines below an image with their colours."""
    for item, colour, answer in ((uq, UQ_COLOUR, "no answer"), (aq, AQ_COLOUR, aq.answer if aq else "")):
        if item:
            yield from ((colour, line) for line in [*_wrap_text(item.text, font), f"  {answer}", ""])


def _image_panel(path: Path | None, font: Font) -> Image.Image:
    """Return a panel with the image in its centre."""
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
    """Yield the lines of a text. A line is not wider than a panel, unless a single word is wider."""
    line = ""
    for word in text.split():
        if line and font.getlength(f"{line} {word}") > PANEL_WIDTH:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
