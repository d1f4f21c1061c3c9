import sys
from hashlib import sha256

import datasets
import pytest
from PIL import Image

import pipeline.core.images
import pipeline.scoring  # noqa: F401
from pipeline.benchmark.release.rgqa_tasks import (
    deduplicate_items,
    expected_response,
    load_images,
    make_prompt,
    process_results,
)


def place(name):
    return sha256(name.encode()).hexdigest()


def test_each_item_is_asked_once_in_an_order_that_does_not_depend_on_its_subset():
    # Two subsets share the AQ "c", each with its own UQ.
    pairs = {"p": ["a", "b"], "q": ["c", "d"], "r": ["c", "e"]}
    rows = [{"item_id": item, "pair_id": pair} for pair, items in pairs.items() for item in items]
    asked = list(deduplicate_items(datasets.Dataset.from_list(rows))["item_id"])
    assert asked == list(deduplicate_items(datasets.Dataset.from_list(rows[::-1]))["item_id"])
    expected = [item for pair in sorted(pairs, key=place) for item in sorted(pairs[pair], key=place)]
    assert asked == [*dict.fromkeys(expected)] and sorted(asked) == [*"abcde"]


def test_without_the_package_the_message_states_what_to_install(tmp_path):
    with pytest.raises(ImportError, match=r"pip install RELEASE/scorers/\*.whl"):
        load_images({"image_id": "n1"})


def test_the_image_comes_from_the_row_or_from_a_folder(tmp_path, monkeypatch):
    # The wheel contains `core` in the package of the scorers.
    for name, here in {"": "scoring", ".core": "core", ".core.images": "core.images"}.items():
        monkeypatch.setitem(sys.modules, f"rgqa_scorers{name}", sys.modules[f"pipeline.{here}"])
    assert [p.mode for p in load_images({"image": Image.new("L", (2, 3)), "image_id": "n1"})] == ["RGB"]
    Image.new("L", (2, 3)).save(tmp_path / "n1.png")
    monkeypatch.setenv("RGQA_IMAGES", str(tmp_path))
    (image,) = load_images({"image_id": "n1"})
    assert (image.mode, image.size) == ("RGB", (2, 3))
    with pytest.raises(FileNotFoundError, match="no image n2 in .*set RGQA_IMAGES"):
        load_images({"image_id": "n2"})


def test_prompt_target_and_log_of_a_row():
    row = {"item_id": "pthard_n1+2", "question": "What is red?", "answer": ""}
    assert make_prompt(row) == "What is red?"
    assert (
        make_prompt(row, {"pre_prompt": "Look. ", "post_prompt": "\nOne word."})
        == "Look. What is red?\nOne word."
    )
    assert (expected_response(row), expected_response(row | {"answer": "cup"})) == ("unanswerable", "cup")
    assert process_results(row, ["cup"]) == {"item_id": "pthard_n1+2", "max_new_tokens": 64}
