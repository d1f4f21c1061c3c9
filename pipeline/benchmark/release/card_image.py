"""card.png, the picture at the top of the card: of each subset a UQ drawn by lot, and an AQ of the same picture."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from pipeline.core.images import load_rgb
from pipeline.core.records import SUBSETS, Item, Subset

WIDTH, HEIGHT, GAP = 300, 225, 20  # of a panel's picture, in pixels
TEXT = 17  # height of letters
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
INK, UQ, AQ = "#1b1f24", "#b3440a", "#1f6fb4"


def card_picture(items: Collection[Item], pictures: Mapping[str, Path]) -> bytes:
    """A PNG; the same items give the same bytes.

    Args:
        items: in release order, whose first UQ of each subset is shown. pictures: files by id; where one is not there,
            an empty frame says so.
    """
    shown = [pair for subset in SUBSETS if (pair := _pair(subset, items))]
    font, line = ImageFont.load_default(TEXT), round(1.3 * TEXT)
    texts = [list(_lines(uq, aq, font)) for uq, aq in shown]
    below = line * max(map(len, texts), default=0)
    sheet = Image.new("RGB", (len(shown) * (WIDTH + GAP) + GAP, line + HEIGHT + below + 3 * GAP), "white")
    pen = ImageDraw.Draw(sheet)
    for place, ((uq, _), text) in enumerate(zip(shown, texts, strict=True)):
        left = GAP + place * (WIDTH + GAP)
        pen.text((left, GAP), uq.subset, INK, font)
        sheet.paste(_framed(pictures.get(uq.picture_id), font), (left, GAP + line))
        for number, (colour, words) in enumerate(text):
            pen.text((left, 1.5 * GAP + HEIGHT + (number + 1) * line), words, colour, font)
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def _pair(subset: Subset, items: Collection[Item]) -> tuple[Item, Item | None] | None:
    """The first UQ of a subset and the first AQ of its picture there."""
    uq = next((item for item in items if item.unanswerable and item.subset == subset), None)
    if uq is None:
        return None
    aqs = (item for item in items if not item.unanswerable and item.subset == subset)
    return uq, next((item for item in aqs if item.picture_id == uq.picture_id), None)


def _lines(uq: Item, aq: Item | None, font: Font) -> Iterator[tuple[str, str]]:
    """The lines below a picture, each with its colour."""
    for item, colour, answer in ((uq, UQ, "no answer"), (aq, AQ, aq.answer if aq else "")):
        if item:
            yield from ((colour, line) for line in [*_wrapped(item.text, font), f"  {answer}", ""])


def _framed(path: Path | None, font: Font) -> Image.Image:
    """A panel with the picture in its middle."""
    panel = Image.new("RGB", (WIDTH, HEIGHT), "#eef1f4")
    if path is None:
        ImageDraw.Draw(panel).text((GAP, HEIGHT // 2), "picture not in this release", INK, font)
        return panel
    small = load_rgb(path)
    scale = min(WIDTH / small.width, HEIGHT / small.height)
    small = small.resize((max(1, round(small.width * scale)), max(1, round(small.height * scale))))
    panel.paste(small, ((WIDTH - small.width) // 2, (HEIGHT - small.height) // 2))
    return panel


def _wrapped(text: str, font: Font) -> Iterator[str]:
    """Lines no wider than a panel."""
    line = ""
    for word in text.split():
        if line and font.getlength(f"{line} {word}") > WIDTH:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
