"""The folder `harness/vlmevalkit` of a release: its items as the tables that VLMEvalKit asks a model from.

Columns and what VLMEvalKit makes of them: its vlmeval/dataset/image_base.py at commit 895762d.
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

# `image_path` beside `image` is the name under which VLMEvalKit keeps the image: once, not once a question.
COLUMNS = ("index", "question", "answer", "category", "image_path", "image")


def write_table(path: Path, items: Collection[Item], images: Mapping[str, str], embed: bool) -> None:
    """Write each of the items once though several subsets have it, which `category` names; how to refuse is
    said with the question, since VLMEvalKit adds nothing to it. An image stands in its first row, later rows have that one's index; without `embed`
    there is no column `image`. Only one image is in memory at a time."""
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, delimiter="\t", lineterminator="\n")
        width = len(COLUMNS) if embed else -1
        table.writerow(COLUMNS[:width])
        table.writerows(row[:width] for row in _make_rows(items, images, embed))
        text.detach()


def _make_rows(items: Collection[Item], images: Mapping[str, str], embed: bool) -> Iterator[tuple[str, ...]]:
    subsets: dict[str, list[str]] = defaultdict(list)
    for item in items:
        subsets[item.item_id].append(item.subset)
    shown: dict[str, str] = {}  # by image the item whose row has it
    for item in items:
        if not (category := ", ".join(sorted(subsets.pop(item.item_id, ())))):
            continue
        path = Path(images[item.image_id])
        first = shown.setdefault(item.image_id, item.item_id)
        image = first
        if embed and first == item.item_id:
            image = b64encode(path.read_bytes()).decode()
        yield (
            item.item_id,
            PROMPTS["refuse"].format_question(item.text),
            item.answer or "unanswerable",
            category,
            f"{item.image_id}{path.suffix}",
            image,
        )
