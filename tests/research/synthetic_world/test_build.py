"""The committed sample is what the code generates: GQA's format, always the same bytes."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from research.synthetic_world import build
from research.synthetic_world.scenes import SPLIT_SIZES

HOME = Path(__file__).parents[3] / "data" / "sample"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a sample of four images per split."""
    monkeypatch.setattr(build, "SPLIT_SIZES", dict.fromkeys(SPLIT_SIZES, 4))


def test_two_builds_give_the_same_bytes(small: None) -> None:
    assert dict(build.build_documents(3)) == dict(build.build_documents(3))
    assert dict(build.render_images(3)) == dict(build.render_images(3))
    assert dict(build.build_documents(3)) != dict(build.build_documents(4))


def test_the_files_have_the_names_that_gqa_gives_them(small: None) -> None:
    assert sorted(dict(build.build_documents(3))) == [
        "source/questions1.2/testdev_balanced_questions.json",
        "source/questions1.2/train_balanced_questions.json",
        "source/questions1.2/val_balanced_questions.json",
        "source/sceneGraphs/train_sceneGraphs.json",
        "source/sceneGraphs/val_sceneGraphs.json",
        "truth/testdev_sceneGraphs.json",
    ]
    every = dict(build.build_documents(3, all_truth=True))
    assert {"truth/train_sceneGraphs.json", "truth/val_sceneGraphs.json"} <= every.keys()


def test_a_scene_graph_has_the_fields_of_gqa(small: None) -> None:
    graphs = json.loads(dict(build.build_documents(3))["source/sceneGraphs/val_sceneGraphs.json"])
    assert len(graphs) == 4
    for entry in graphs.values():
        assert entry.keys() - {"weather"} == {"width", "height", "objects", "location"}
        for item in entry["objects"].values():
            assert item.keys() == {"name", "x", "y", "w", "h", "attributes", "relations"}
            assert all(relation.keys() == {"name", "object"} for relation in item["relations"])
            assert all(isinstance(item[side], int) for side in "xywh")


def test_an_image_is_the_size_of_gqas_and_keeps_its_colors(small: None) -> None:
    for data in dict(build.render_images(3)).values():
        with Image.open(io.BytesIO(data)) as image:
            assert (image.size, image.mode, image.format) == ((448, 336), "RGB", "JPEG")
            # 4:4:4: every component is sampled at every pixel
            assert {component[1:3] for component in image.layer} == {(1, 1)}


def test_a_file_that_differs_is_named(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.json").write_bytes(b"{}\n")
    (tmp_path / "source" / "old.json").write_bytes(b"{}\n")
    wanted = {"source/a.json": b"[]\n", "source/b.json": b"{}\n"}
    assert [line.split(":")[0] for line in build.compare_files(tmp_path, wanted).lines] == [
        "source/a.json",
        "source/b.json",
        "source/old.json",
    ]


def test_images_are_compared_by_pixels_within_rounding() -> None:
    def png(value: int) -> bytes:
        file = io.BytesIO()
        Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(file, "PNG")
        return file.getvalue()

    assert build.describe_difference("a.jpg", png(100), png(104)) is None
    assert build.describe_difference("a.jpg", png(100), png(110)) == "pixels differ by up to 10 of 255"
    assert "not an image" in (build.describe_difference("a.jpg", png(100), b"") or "")


def test_what_is_committed_has_the_promised_size() -> None:
    questions = json.loads((HOME / "source/questions1.2/testdev_balanced_questions.json").read_bytes())
    assert len(questions) >= 1800
    images = {path.stem for path in (HOME / "source/images").glob("*.jpg")}
    assert len(images) >= 150 and {entry["imageId"] for entry in questions.values()} <= images
    assert sum(path.stat().st_size for path in (HOME / "source/images").iterdir()) < 5_000_000
    for split, least in (("train", 600), ("val", 150)):
        graphs = json.loads((HOME / f"source/sceneGraphs/{split}_sceneGraphs.json").read_bytes())
        assert len(graphs) >= least
        assert sum(len(entry["objects"]) for entry in graphs.values()) / len(graphs) >= 6
    assert not (HOME / "source/sceneGraphs/testdev_sceneGraphs.json").exists()


@pytest.mark.slow
def test_what_is_committed_is_what_the_code_makes() -> None:
    # every JSON file, and the first 12 images; `build --check` compares them all
    made = [*build.build_documents(), *islice(build.render_images(), 12)]
    assert [
        path for path, data in made if build.describe_difference(path, data, (HOME / path).read_bytes())
    ] == []
