import sys
from hashlib import sha256

import datasets
import pytest
from PIL import Image

import pipeline.core.images
import pipeline.scorers  # noqa: F401
from pipeline.releasing.rgqa_tasks import once, pictures, prompt, results, target


def test_each_item_is_asked_once_in_an_order_that_owes_nothing_to_its_subset():
    rows = datasets.Dataset.from_list([{"item_id": name} for name in ("c", "a", "b", "a", "c", "d")])
    asked = list(once(rows)["item_id"])
    assert asked == sorted("abcd", key=lambda name: sha256(name.encode()).hexdigest())
    assert asked == list(once(datasets.Dataset.from_list([{"item_id": name} for name in "dcba"]))["item_id"])


def test_without_the_wheel_a_folder_of_pictures_says_what_to_install(tmp_path):
    with pytest.raises(ImportError, match=r"pip install RELEASE/scorers/\*.whl"):
        pictures({"picture_id": "n1"})


def test_the_picture_comes_from_the_row_or_from_a_folder(tmp_path, monkeypatch):
    # As in the wheel, which has core in the package of the scorers.
    for name, here in {"": "scorers", ".core": "core", ".core.images": "core.images"}.items():
        monkeypatch.setitem(sys.modules, f"rgqa_scorers{name}", sys.modules[f"pipeline.{here}"])
    assert [p.mode for p in pictures({"image": Image.new("L", (2, 3)), "picture_id": "n1"})] == ["RGB"]
    Image.new("L", (2, 3)).save(tmp_path / "n1.png")
    monkeypatch.setenv("RGQA_PICTURES", str(tmp_path))
    (picture,) = pictures({"picture_id": "n1"})
    assert (picture.mode, picture.size) == ("RGB", (2, 3))
    with pytest.raises(FileNotFoundError, match="no picture n2 in .*set RGQA_PICTURES"):
        pictures({"picture_id": "n2"})


def test_a_row_is_asked_and_named():
    row = {"item_id": "pthard_n1+2", "question": "What is red?", "answer": ""}
    assert prompt(row) == "What is red?"
    assert (
        prompt(row, {"pre_prompt": "Look. ", "post_prompt": "\nOne word."}) == "Look. What is red?\nOne word."
    )
    assert (target(row), target(row | {"answer": "cup"})) == ("unanswerable", "cup")
    assert results(row, ["cup"]) == {"item_id": "pthard_n1+2", "max_new_tokens": 64}
