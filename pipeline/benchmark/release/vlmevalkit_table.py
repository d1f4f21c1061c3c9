"""Write the folder `harness/vlmevalkit` of a release: its items as tables of VLMEvalKit.

The columns follow vlmeval/dataset/image_base.py of VLMEvalKit at commit 895762d.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pipeline.core.atomic_files import atomic_write
from pipeline.core.records import Item
from pipeline.inference.prompts import PROMPTS

# VLMEvalKit stores an image under the name in `image_path`. So an image is stored once, and not once per
# question.
COLUMNS = ("index", "question", "answer", "category", "image_path", "image")


def write_table(path: Path, items: Collection[Item], images: Mapping[str, str], has_images: bool) -> None:
    """Write each item once, with the subsets that contain the item in the column `category`.

    The question includes the instruction how to abstain, because VLMEvalKit does not add a prompt. Only one
    image is in memory at a time.

    Args:
        path: The TSV file.
        items: The items, in release order.
        images: Image id -> path of the image.
        has_images: Whether to write the column `image`. The first row of an image contains the image as
            Base64. Later rows of the same image contain the index of the first row.
    """
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, delimiter="\t", lineterminator="\n")
        width = len(COLUMNS) if has_images else -1
        table.writerow(COLUMNS[:width])
        table.writerows(row[:width] for row in _make_rows(items, images, has_images))
        text.detach()


def _make_rows(
    items: Collection[Item], images: Mapping[str, str], has_images: bool
) -> Iterator[tuple[str, ...]]:
    subsets: dict[str, list[str]] = defaultdict(list)
    for item in items:
        subsets[item.item_id].append(item.subset)
    # Image id -> id of the item whose row contains the image.
    first_items: dict[str, str] = {}
    for item in items:
        if not (category := ", ".join(sorted(subsets.pop(item.item_id, ())))):
            continue
        path = Path(images[item.image_id])
        first = first_items.setdefault(item.image_id, item.item_id)
        image = first
        if has_images and first == item.item_id:
            image = b64encode(path.read_bytes()).decode()
        yield (
            item.item_id,
            PROMPTS["abstain"].format_question(item.text),
            item.answer or "unanswerable",
            category,
            f"{item.image_id}{path.suffix}",
            image,
        )
