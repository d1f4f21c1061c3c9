"""Load the item sets by which models are ranked: our items, the items by RGQA's rules, and counterfactual
pairs.

Here the id of an item is derived from its image and text. So different item sets can use the same answers,
and a net answers each question about an image only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import content_hash, read_json, read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, Category, ImageRecord, Item
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.items import Items
from research.studies.net_predictions import QueryItem

# Categories of counterfactual pairs that are named by what was edited in the scene.
CATEGORY_OF_EDIT: dict[str, Category] = {
    "object": "missing object",
    "attribute": "wrong attribute",
    "relation": "wrong relation",
}
OUR_RULES, PAPER_RULES, COUNTERFACTUAL_PAIRS = "ours", "the paper's rules", "counterfactual"


class ItemSet(NamedTuple):
    """Items by which rows are ranked.

    `source_ids` [n] are the ids of their source questions, for attackers' folds.
    """

    items: Items
    source_ids: list[str]


def make_query_id(image_id: str, text: str) -> str:
    """Return an id for a question about an image."""
    return f"{image_id}+{content_hash(text)}"


def make_item_set(rows: Iterable[Item]) -> ItemSet:
    """Return item records as a table.

    If a set asks the same question of an image twice, the item counts twice.
    """
    kept = sorted(rows, key=lambda row: row.item_id)
    columns = {
        "id": [make_query_id(row.image_id, row.text) for row in kept],
        "image": [row.image_id for row in kept],
        "question_text": [row.text for row in kept],
        "answers": [{} if row.unanswerable else {row.answer: 1.0} for row in kept],
        "category": [row.category or "" for row in kept],
        "pair_id": [row.pair_id for row in kept],
    }
    return ItemSet(Items(columns, len(kept)), [row.question_id for row in kept])


def load_dataset_sets(folders: DatasetFolders, split: str = "test") -> dict[tuple[str, str], ItemSet]:
    """Return the items of one split of a data set by rules (`OUR_RULES`, `PAPER_RULES`) and subset. They are
    the items that the leaderboard uses.

    Raises:
        UserError: There are no items by the paper's rules, because the complete ground truth is not known.
    """
    rows = {OUR_RULES: [*folders.read_records(Item)]}
    rows[PAPER_RULES] = [*read_jsonl(folders.stage_dir("paper") / "items.jsonl", Item)]
    if not rows[PAPER_RULES]:
        raise UserError(
            f"{folders.stage_dir('paper')}: no items by the paper's rules. They need the images' complete scene graphs, which the sample has."
        )
    return {
        (rules, subset): make_item_set(row for row in of if row.subset == subset and row.split == split)
        for rules, of in rows.items()
        for subset in SUBSETS
    }


def load_counterfactual_pairs(release: Path, split: str = "test") -> ItemSet:
    """Return the counterfactual pairs of a release, which are its subset `counterfactual`.

    Raises:
        UserError: The release does not exist or does not have this subset.
    """
    items = read_benchmark(release, [COUNTERFACTUAL_PAIRS]).subsets[COUNTERFACTUAL_PAIRS]
    if (items["split"] != "").any():
        items = items.select(items["split"] == split)
    if not items.answerable.any() or items.answerable.all():
        raise UserError(f"{release}: subset {COUNTERFACTUAL_PAIRS} has no pair of split {split}")
    ids = [make_query_id(*pair) for pair in zip(items["image"], items["question_text"], strict=True)]
    named = [CATEGORY_OF_EDIT.get(name, name) for name in items["category"]]
    return ItemSet(items.with_columns(id=ids, category=named), items["question_text"].tolist())


def find_dataset_images(folders: DatasetFolders) -> dict[str, Path]:
    """Return the image files of a data set by image id."""
    return {row.image_id: Path(row.path) for row in folders.read_records(ImageRecord)}


def find_release_images(release: Path, images: Path | None = None) -> dict[str, Path]:
    """Return image files by their names without suffix.

    Args:
        release: Its params.json names the data set whose images are used if `images` is None.
        images: A folder of images.

    Raises:
        UserError: The folder does not exist.
    """
    params = release / "params.json"
    if images is None and params.is_file():
        named = read_json(params, dict[str, object]).get("dataset", "")
        images = DatasetFolders(str(named)).source / "images"
    if images is None or not images.is_dir():
        raise UserError(f"{release}: its images are not in {images}. Name their folder with --images.")
    return {path.stem: path for path in sorted(images.iterdir()) if path.is_file()}


def collect_queries(sets: Iterable[ItemSet], files: Mapping[str, Path]) -> list[QueryItem]:
    """Return every question of these sets once.

    Raises:
        UserError: Lists the images without a file.
    """
    problems = Problems("images that have no file")
    found: dict[str, QueryItem] = {}
    for one in sets:
        columns = (one.items[name] for name in ("id", "image", "question_text"))
        for key, image, text in zip(*columns, strict=True):
            if key not in found and image not in files:
                problems.add(image, "there is no file of this name")
            elif key not in found:
                found[key] = QueryItem(key, files[image], text)
    problems.raise_if_any()
    return [found[key] for key in sorted(found)]


def number_jointly(columns: Sequence[np.ndarray]) -> tuple[int, list[np.ndarray]]:
    """Number the names in several columns jointly.

    Returns the number of names and the numbers of each column.
    """
    names, places = np.unique(np.concatenate(columns).astype(str), return_inverse=True)
    return len(names), np.split(places, np.cumsum([len(column) for column in columns])[:-1])
