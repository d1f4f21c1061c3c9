"""The functions with which lmms-eval asks a model the items of a release.

A release contains a copy of this file in harness/lmms_eval, next to the tasks. The copy does not import other
modules of the project. Run a model and score its log with:

    lmms-eval --include_path RELEASE/harness/lmms_eval --tasks rgqa --model MODEL --log_samples \\
        --output_path logs
    rgqa-score RELEASE logs/MODEL/DATE_samples_rgqa.jsonl --detect-abstention
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

# Maximum number of tokens of a response. The file rgqa_common has the same value.
MAX_NEW_TOKENS = 64
# The environment variable with the folder of the images, for releases without images.
IMAGES_VARIABLE = "RGQA_IMAGES"


def deduplicate_items(rows: Any) -> Any:
    """Return each item once. The two items of a pair follow each other.

    A pair is an unanswerable question and its answerable question. The order of the pairs does not depend on
    subset or label, so the first hundred items are a random sample.

    Args:
        rows: A `datasets.Dataset` of the tables of one or several subsets.
    """

    def random_sort_key(name: str) -> bytes:
        return sha256(name.encode()).digest()

    both = zip(rows["pair_id"], rows["item_id"], strict=True)
    order = sorted(enumerate(both), key=lambda row: tuple(map(random_sort_key, row[1])))
    index: dict[str, int] = {}
    for i, (_, item) in order:
        index.setdefault(item, i)
    return rows.select([*index.values()])


def load_images(row: Mapping[str, Any]) -> list[Any]:
    """Return the image of an item as a list of one image.

    The image comes from the row or, if the row has no image, from the folder of images.

    Raises:
        FileNotFoundError: Neither the row nor the folder has the image.
        ImportError: The package of the release is not installed. It is needed to read the folder.
        ValueError: The file is damaged or has an unsupported format.
    """
    if "image" in row:
        return [row["image"].convert("RGB")]
    # The package in RELEASE/scorers loads images as annotators saw them.
    try:
        from rgqa_scorers.core.images import WHITE, find_image_files, load_rgb  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(
            f"{error}: loading images needs the package of the release: pip install RELEASE/scorers/*.whl"
        ) from error

    folder = Path(os.environ.get(IMAGES_VARIABLE, "."))
    if path := find_image_files(folder)[0].get(row["image_id"]):
        return [load_rgb(path, background=WHITE)]
    raise FileNotFoundError(
        f"no image {row['image_id']} in {folder.resolve()}; set {IMAGES_VARIABLE} to the folder of the images"
    )


def make_prompt(row: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, str] | None = None) -> str:
    """Return the question between the texts in `rgqa_common`."""
    texts = lmms_eval_specific_kwargs or {}
    return f"{texts.get('pre_prompt', '')}{row['question']}{texts.get('post_prompt', '')}"


def expected_response(row: Mapping[str, Any]) -> str:
    """Return the reply that a perfect model gives."""
    return row["answer"] or "unanswerable"


def process_results(row: Mapping[str, Any], responses: Sequence[str]) -> dict[str, str | int]:
    """Return the values that lmms-eval logs with each response.

    These are the id of the item and the token limit. The token limit shows which responses are truncated.
    """
    return {"item_id": row["item_id"], "max_new_tokens": MAX_NEW_TOKENS}
