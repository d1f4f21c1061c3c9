"""The release of counterfactual items, and its sheet of images."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.benchmark.release.check_release import check_release, read_released_items
from pipeline.core.errors import UserError
from pipeline.core.records import Item
from pipeline.scoring.benchmark_reader import read_benchmark
from research.synthetic_world.counterfactual_pairs import generate_pair
from research.synthetic_world.counterfactual_release import build_pair_release, make_items
from research.synthetic_world.counterfactual_sheet import GAP, HEIGHT, LINE, WIDTH, render_pair_sheet
from research.synthetic_world.secret_seeds import derive_seed, hash_seed

# The release of counterfactual pairs: in the format of all releases, with each text and image once per label.


REPO = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a release of 24 pairs in a folder."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "data/sample").mkdir(parents=True)
    (folder / "data/sample/clip").symlink_to(REPO / "data/sample/clip")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build_pair_release("a secret", 24, "small")
    return folder


@pytest.fixture(scope="module")
def items(home: Path) -> list[Item]:
    return list(read_released_items(home / "data/release/small/1.0.0"))


def test_it_passes_the_check_of_every_release_and_is_read_by_the_scorers(home: Path) -> None:
    release = home / "data/release/small/1.0.0"
    assert "48 items identical in all files" in check_release(release)
    (read,) = read_benchmark(release).subsets.values()
    assert len(read) == 48
    assert set(read["category"]) == {"", "missing object", "wrong attribute", "wrong relation"}


def test_every_text_and_every_image_is_once_an_aq_and_once_a_uq(items: list[Item]) -> None:
    for name in ("text", "image_id", "pair_id"):
        kinds = Counter((getattr(item, name), item.unanswerable) for item in items)
        assert set(kinds.values()) == {1}, name
        assert len(kinds) == 48


def test_both_images_of_a_scene_are_in_one_split(items: list[Item]) -> None:
    splits = {(int(item.image_id[1:]) // 2, item.split) for item in items}
    assert len(splits) == 12


def test_the_hash_of_the_seed_is_published_but_not_the_seed(home: Path) -> None:
    release = home / "data/release/small/1.0.0"
    wanted = hashlib.sha256(b"a secret").hexdigest()
    assert hash_seed("a secret") == wanted
    assert json.loads((release / "params.json").read_text())["seed_sha256"] == wanted
    number = str(derive_seed("a secret"))
    for path in (
        path for path in home.rglob("*") if path.is_file() and path.suffix in (".json", ".md", ".jsonl")
    ):
        text = path.read_text()
        assert "a secret" not in text and number not in text, path


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data/sample").mkdir(parents=True)
    (tmp_path / "data/sample/clip").symlink_to(REPO / "data/sample/clip")
    monkeypatch.chdir(tmp_path)
    build_pair_release("a secret", 24, "small")
    sums = "data/release/small/1.0.0/CHECKSUMS.sha256"
    assert (tmp_path / sums).read_bytes() == (home / sums).read_bytes()
    assert (
        generate_pair(derive_seed("another"), 0).questions[0]
        != generate_pair(derive_seed("a secret"), 0).questions[0]
    )


def test_the_sheet_shows_a_pair_of_each_category(home: Path) -> None:
    with Image.open(home / "data/release/small/1.0.0/card.png") as sheet:
        assert sheet.size[0] == 3 * 320 + 20


def test_the_report_has_counts_and_attacks_on_the_altered_image(home: Path) -> None:
    report = json.loads((home / "data/release/small/1.0.0/counterfactual.json").read_text())
    assert report["pairs"] == 24
    assert report["categories"] == {"missing object": 8, "wrong attribute": 8, "wrong relation": 8}
    assert report["objects_attack"]["groups"] == report["embedding_attack"]["groups"] == 12


@pytest.mark.parametrize(("seed", "pairs"), [("", 24), ("s", 3), ("s", 0)])
def test_impossible_requests_are_errors(
    seed: str, pairs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="must be even|--seed is empty"):
        build_pair_release(seed, pairs)
    assert not any(tmp_path.iterdir())


def test_a_data_set_that_is_there_is_left_as_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with pytest.raises(UserError, match="exists already. Choose another --dataset"):
        build_pair_release("other", 24, "small")
    check_release(home / "data/release/small/1.0.0")


def test_a_failed_attempt_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        build_pair_release("s", 4, "small")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_item_lacks_what_was_altered(items: list[Item]) -> None:
    both = generate_pair(derive_seed("a secret"), 1)
    scores = {(scene.image_id, asked.text): 0.1 for scene in both.truths for asked in both.questions}
    assert [item.category for item in make_items(both, scores)] == [None, "wrong attribute"] * 2
    assert [item.image_id for item in make_items(both, scores)] == [
        "n000002",
        "n000003",
        "n000003",
        "n000002",
    ]
    assert {item.item_id for item in items} >= {"000002", "counterfactual_n000003+000002"}


# The sheet shows the image where the question has an answer above the image where it has none.


def item(image: str, unanswerable: bool) -> Item:
    return Item(
        item_id=f"{image} {unanswerable}",
        subset="counterfactual",
        image_id=image,
        question_id="1",
        text="What is on the table?",
        unanswerable=unanswerable,
        answer="" if unanswerable else "cup",
        pair_id="1",
        split="test",
        category="missing object" if unanswerable else None,
    )


def test_the_answerable_one_is_above(tmp_path: Path) -> None:
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 6), colour).save(tmp_path / f"{name}.jpg")
    for order in (1, -1):
        png = render_pair_sheet([item("a", False), item("b", True)][::order], tmp_path)
        pixels = np.asarray(Image.open(io.BytesIO(png)))
        middle = GAP + WIDTH // 2
        first = GAP + 4 * LINE + GAP // 2 + HEIGHT // 2
        assert pixels[first, middle].argmax() == 0  # red
        assert pixels[first + HEIGHT + LINE + GAP, middle].argmax() == 2  # blue
