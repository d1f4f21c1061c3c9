"""How lmms-eval asks a model the items of a release. A release has this file in harness/lmms_eval, beside the tasks;
it stands alone there, and its functions are lmms-eval's to call.

    lmms-eval --include_path RELEASE/harness/lmms_eval --tasks rgqa --model MODEL --log_samples --output_path logs
    rgqa-score RELEASE logs/MODEL/DATE_samples_rgqa.jsonl --detect-abstention
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

MAX_NEW_TOKENS = 64  # as rgqa_common has it
IMAGES_VARIABLE = "RGQA_IMAGES"  # names the folder of the images, where the release has none in its tables


def deduplicate_items(rows: Any) -> Any:
    """The rows, a `datasets.Dataset`, each item once though several subsets have it, pair by pair (a UQ with its AQ), in
    an order that does not depend on subset or label: the first hundred are a random sample."""

    def random_place(name: str) -> bytes:
        return sha256(name.encode()).digest()

    both = zip(rows["pair_id"], rows["item_id"], strict=True)
    order = sorted(enumerate(both), key=lambda row: tuple(map(random_place, row[1])))
    places: dict[str, int] = {}
    for place, (_, item) in order:
        places.setdefault(item, place)
    return rows.select([*places.values()])


def load_images(row: Mapping[str, Any]) -> list[Any]:
    """The item's image, from its row or else from the folder of images.

    Raises:
        FileNotFoundError: it is in neither. ImportError: the release's wheel is not installed, which reads the folder.
        ValueError: the file is damaged, or of a kind that is refused.
    """
    if "image" in row:
        return [row["image"].convert("RGB")]
    # The wheel in RELEASE/scorers, which reads the logs too, loads images as annotators saw them.
    try:
        from rgqa_scorers.core.images import WHITE, image_files, load_rgb  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(
            f"{error}: loading images needs the wheel of the release: pip install RELEASE/scorers/*.whl"
        ) from error

    folder = Path(os.environ.get(IMAGES_VARIABLE, "."))
    if path := image_files(folder)[0].get(row["image_id"]):
        return [load_rgb(path, background=WHITE)]
    raise FileNotFoundError(
        f"no image {row['image_id']} in {folder.resolve()}; set {IMAGES_VARIABLE} to their folder"
    )


def make_prompt(row: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, str] | None = None) -> str:
    """The question between the texts that `rgqa_common` names."""
    around = lmms_eval_specific_kwargs or {}
    return f"{around.get('pre_prompt', '')}{row['question']}{around.get('post_prompt', '')}"


def expected_response(row: Mapping[str, Any]) -> str:
    """What the model should say."""
    return row["answer"] or "unanswerable"


def process_results(row: Mapping[str, Any], responses: Sequence[str]) -> dict[str, str | int]:
    """What lmms-eval writes beside the response: the item's id, by which `rgqa-score` knows what was asked, and the tokens
    allowed, by which it knows what was cut off."""
    return {"item_id": row["item_id"], "max_new_tokens": MAX_NEW_TOKENS}
