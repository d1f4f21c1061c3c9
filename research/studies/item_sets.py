"""The sets by which rows are ranked: ours and those by the paper's rules, on the same images, and counterfactual pairs.

An item's id is here what it asks: sets share answers, and a net answers a question of an image once.
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

# Categories as counterfactual pairs may name them, by what was edited in the scene.
CATEGORY_OF_EDIT: dict[str, Category] = {
    "object": "missing object",
    "attribute": "wrong attribute",
    "relation": "wrong relation",
}
OUR_RULES, PAPER_RULES, COUNTERFACTUAL_PAIRS = "ours", "the paper's rules", "twins"


class ItemSet(NamedTuple):
    """Items that rows are ranked by; `sources` [n] are the ids of the questions that they come from, for attackers' folds."""

    items: Items
    source_ids: list[str]


def make_query_id(image_id: str, text: str) -> str:
    """An id for a question of an image."""
    return f"{image_id}+{content_hash(text)}"


def make_item_set(rows: Iterable[Item]) -> ItemSet:
    """Records of items as a table. Where a set asks the same of an image twice, it counts twice."""
    kept = sorted(rows, key=lambda row: row.item_id)
    columns = {
        "id": [make_query_id(row.image_id, row.text) for row in kept],
        "image": [row.image_id for row in kept],
        "asked": [row.text for row in kept],
        "answers": [{} if row.unanswerable else {row.answer: 1.0} for row in kept],
        "category": [row.category or "" for row in kept],
        "pair": [row.pair_id for row in kept],
    }
    return ItemSet(Items(columns, len(kept)), [row.question_id for row in kept])


def load_dataset_sets(folders: DatasetFolders, split: str = "test") -> dict[tuple[str, str], ItemSet]:
    """By rules (`OURS`, `PAPER`) and subset the items of a data set; of one part, as the leaderboard ranks.

    Raises:
        UserError: there are none by the paper's rules: nobody knows the truth that they are judged by.
    """
    rows = {OUR_RULES: [*folders.read_records(Item)]}
    rows[PAPER_RULES] = [*read_jsonl(folders.stage_dir("paper") / "items.jsonl", Item)]
    if not rows[PAPER_RULES]:
        raise UserError(
            f"{folders.stage_dir('paper')}: no items by the paper's rules; they need the images' complete truth, as the sample has it"
        )
    return {
        (rules, subset): make_item_set(row for row in of if row.subset == subset and row.split == split)
        for rules, of in rows.items()
        for subset in SUBSETS
    }


def load_counterfactual_pairs(release: Path, split: str = "test") -> ItemSet:
    """The counterfactual pairs of a release, which are its subset `twins`.

    Raises:
        UserError: no such release, or it has no such subset.
    """
    items = read_benchmark(release, [COUNTERFACTUAL_PAIRS]).subsets[COUNTERFACTUAL_PAIRS]
    if (items["split"] != "").any():
        items = items.select(items["split"] == split)
    if not items.answerable.any() or items.answerable.all():
        raise UserError(f"{release}: {COUNTERFACTUAL_PAIRS} has no pair of split {split}")
    ids = [make_query_id(*pair) for pair in zip(items["image"], items["asked"], strict=True)]
    named = [CATEGORY_OF_EDIT.get(name, name) for name in items["category"]]
    return ItemSet(items.with_columns(id=ids, category=named), items["asked"].tolist())


def find_dataset_images(folders: DatasetFolders) -> dict[str, Path]:
    """Files of a data set's images, by id."""
    return {row.image_id: Path(row.path) for row in folders.read_records(ImageRecord)}


def find_release_images(release: Path, images: Path | None = None) -> dict[str, Path]:
    """Files of images by their names without ending: those in the folder `images`, or in that of the data set that the
    release's params.json names.

    Raises:
        UserError: no such folder.
    """
    params = release / "params.json"
    if images is None and params.is_file():
        named = read_json(params, dict[str, object]).get("dataset", "")
        images = DatasetFolders(str(named)).source / "images"
    if images is None or not images.is_dir():
        raise UserError(f"{release}: its images are not in {images}; name their folder: --images FOLDER")
    return {path.stem: path for path in sorted(images.iterdir()) if path.is_file()}


def collect_queries(sets: Iterable[ItemSet], files: Mapping[str, Path]) -> list[QueryItem]:
    """Everything that these sets ask, once.

    Raises:
        UserError: lists the images that have no file.
    """
    problems = Problems("images that have no file")
    found: dict[str, QueryItem] = {}
    for one in sets:
        columns = (one.items[name] for name in ("id", "image", "asked"))
        for key, image, text in zip(*columns, strict=True):
            if key not in found and image not in files:
                problems.add(image, "no file of this name")
            elif key not in found:
                found[key] = QueryItem(key, files[image], text)
    problems.raise_if_any()
    return [found[key] for key in sorted(found)]


def number_jointly(columns: Sequence[np.ndarray]) -> tuple[int, list[np.ndarray]]:
    """Number the names in several columns together: how many there are, and each item's number."""
    names, places = np.unique(np.concatenate(columns).astype(str), return_inverse=True)
    return len(names), np.split(places, np.cumsum([len(column) for column in columns])[:-1])
