"""The sheet shows the image where the question has an answer above the image where it has none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.core.records import Item
from research.synthetic_world.counterfactual_sheet import GAP, HEIGHT, LINE, WIDTH, render_pair_sheet


def item(image: str, unanswerable: bool) -> Item:
    return Item(
        item_id=f"{image} {unanswerable}",
        subset="counterfactual",
        image_id=image,
        question_id="1",
        text="What is on the table?",
        unanswerable=unanswerable,
        answer="" if unanswerable else "cup",
        pair_id="1",
        split="test",
        category="missing object" if unanswerable else None,
    )


def test_the_answerable_one_is_above(tmp_path: Path) -> None:
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 6), colour).save(tmp_path / f"{name}.jpg")
    for order in (1, -1):
        png = render_pair_sheet([item("a", False), item("b", True)][::order], tmp_path)
        pixels = np.asarray(Image.open(io.BytesIO(png)))
        middle = GAP + WIDTH // 2
        first = GAP + 4 * LINE + GAP // 2 + HEIGHT // 2
        assert pixels[first, middle].argmax() == 0  # red
        assert pixels[first + HEIGHT + LINE + GAP, middle].argmax() == 2  # blue
