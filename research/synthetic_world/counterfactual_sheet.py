"""Render counterfactual pairs as one image: a question for each kind of change, with both images (the image
with the answer on top).
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from textwrap import wrap

from PIL import Image, ImageDraw, ImageFont

from pipeline.core.images import load_rgb
from pipeline.core.records import Item

# Width and height of a panel, margins and line height, in pixels.
WIDTH, HEIGHT, GAP, LINE = 300, 225, 20, 21
TEXT_COLOR, UQ_COLOR, AQ_COLOR = "#1b1f24", "#b3440a", "#1f6fb4"


def render_pair_sheet(items: Iterable[Item], images: Path) -> bytes:
    """Render the first pair of each category as a PNG. The same items give the same bytes.

    Args:
        items: The items of a release.
        images: The folder of the images, `<image id>.jpg`.
    """
    pairs: dict[str, dict[bool, Item]] = {}
    shown: dict[str, dict[bool, Item]] = {}
    for item in items:
        pair = pairs.setdefault(item.pair_id, {})
        pair[item.unanswerable] = item
        if len(pair) == 2 and (category := pair[True].category):
            shown.setdefault(category, pair)
    font = ImageFont.load_default(16)
    size = len(shown) * (WIDTH + GAP) + GAP, 2 * (HEIGHT + LINE + GAP) + 5 * LINE + GAP
    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    for place, (category, pair) in enumerate(sorted(shown.items())):
        left, top = GAP + place * (WIDTH + GAP), GAP
        words = [
            (TEXT_COLOR, category.upper()),
            *((TEXT_COLOR, line) for line in wrap(pair[True].text, 36)[:3]),
        ]
        for colour, line in words:
            pen.text((left, top), line, colour, font)
            top += LINE
        top = GAP + 4 * LINE + GAP // 2
        for unanswerable, colour in ((False, AQ_COLOR), (True, UQ_COLOR)):
            image = load_rgb(images / f"{pair[unanswerable].image_id}.jpg")
            sheet.paste(image.resize((WIDTH, HEIGHT)), (left, top))
            pen.text((left, top + HEIGHT + 3), pair[unanswerable].answer or "no answer", colour, font)
            top += HEIGHT + LINE + GAP
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()
