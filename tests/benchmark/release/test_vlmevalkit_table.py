import base64
import io

import pandas as pd
import pytest
from PIL import Image

from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.core.records import Item

# id, subset, image_id, question, answer
ITEMS = [
    ("02930152", "clip-hard", "n2", 'Is it "red"\tor blue?', "red"),
    ("pthard_n1+7", "pt-hard", "n1", "Where is the cat?", ""),
    ("02930152", "pt-easy", "n2", 'Is it "red"\tor blue?', "red"),
    ("0405", "pt-hard", "n1", "Which animal is it?", "dog"),
    ("0406", "pt-hard", "n1", "Is there anything?", "none"),
]


@pytest.fixture
def given(tmp_path):
    """Return the items and the paths of their images."""
    paths = {name: tmp_path / f"{name}.png" for name in ("n1", "n2")}
    for number, path in enumerate(paths.values()):
        Image.effect_noise((8, 8), 50 + number).save(path)
    items = [
        Item(item_id, subset, image_id, "7", text, not answer, answer, "p", "test")
        for item_id, subset, image_id, text, answer in ITEMS
    ]
    return items, {name: str(path) for name, path in paths.items()}


def load_like_vlmevalkit(path):
    """Load a table like VLMEvalKit (vlmeval/smp/file.py, vlmeval/dataset/image_base.py at 895762d).

    Ids are strings. An image with at most 64 characters is the index of the row that contains the image.
    """
    table = pd.read_csv(path, sep="\t")
    table["index"] = [str(name) for name in table["index"]]
    if "image" in table:
        images = dict(zip(table["index"], map(str, table["image"]), strict=True))
        for image in images.values():
            if len(image) <= 64:
                assert len(images[image]) > 64
        table["image"] = [
            images[images[name]] if len(images[name]) <= 64 else images[name] for name in images
        ]
    return table


def test_vlmevalkit_finds_each_item_once_with_its_image(given, tmp_path):
    items, paths = given
    write_table(tmp_path / "t.tsv", items, paths, True)
    table = load_like_vlmevalkit(tmp_path / "t.tsv")
    assert list(table["index"]) == ["02930152", "pthard_n1+7", "0405", "0406"]
    assert list(table["category"]) == ["clip-hard, pt-easy", "pt-hard", "pt-hard", "pt-hard"]
    question, instruction = table["question"][0].split("\n")
    assert question == 'Is it "red"\tor blue?' and instruction.endswith("answer: unanswerable")
    assert list(table["answer"][:3]) == ["red", "unanswerable", "dog"]
    assert list(table["image_path"]) == ["n2.png", "n1.png", "n1.png", "n1.png"]
    for image, name in zip(table["image"], ("n2", "n1", "n1", "n1"), strict=True):
        data = base64.b64decode(image, validate=True)
        assert data == (tmp_path / f"{name}.png").read_bytes()
        assert Image.open(io.BytesIO(data)).size == (8, 8)


def test_an_image_is_stored_once_and_the_bytes_are_reproducible(given, tmp_path):
    items, paths = given
    for name in ("a.tsv", "b.tsv"):
        write_table(tmp_path / name, items, paths, True)
    raw = pd.read_csv(tmp_path / "a.tsv", sep="\t")
    assert list(raw["image"].str.len() > 64) == [True, True, False, False]
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()


def test_without_images_the_table_has_only_their_names(given, tmp_path):
    items, paths = given
    write_table(tmp_path / "t.tsv", items, {name: f"elsewhere/{name}.jpg" for name in paths}, False)
    table = load_like_vlmevalkit(tmp_path / "t.tsv")
    assert list(table.columns) == ["index", "question", "answer", "category", "image_path"]
    assert list(table["image_path"]) == ["n2.jpg", "n1.jpg", "n1.jpg", "n1.jpg"]
