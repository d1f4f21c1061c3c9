import datasets
import pytest
from PIL import Image

from pipeline.core.records import Picture
from pipeline.releasing.card import card
from pipeline.releasing.parquet_tables import write_table
from tests.pipeline.releasing.card_facts import FACTS


@pytest.fixture
def pictures(tmp_path):
    found = {}
    for name, color in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 6), color).save(tmp_path / f"{name}.png")
        found[name] = Picture(
            picture_id=name, split="testdev", path=str(tmp_path / f"{name}.png"), width=8, height=6, sha256=""
        )
    return found


def test_a_subset_opens_offline_by_name_with_its_pictures(tmp_path, items, pictures, monkeypatch):
    home = tmp_path / "release"
    for part in ("dev", "test"):
        write_table(
            home / "data" / f"clip-hard-{part}.parquet",
            [i for i in items if i.part == part],
            pictures,
            "canary",
            True,
        )
    (home / "README.md").write_text(card(items, FACTS))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    found = datasets.load_dataset(str(home), "clip-hard", cache_dir=str(tmp_path / "cache"))
    assert {part: len(found[part]) for part in found} == {"dev": 4, "test": 4}
    row = found["test"][0]
    assert (row["item_id"], row["label"], row["clip_rank"], row["canary"]) == (
        "cliphard_a+00",
        1,
        3,
        "canary",
    )
    assert row["image"].getpixel((0, 0)) == (255, 0, 0)


def test_a_picture_shown_in_many_rows_is_stored_once(tmp_path, items, pictures):
    noise = Image.effect_noise((200, 200), 90)
    noise.save(pictures["a"].path)
    once, often = tmp_path / "once.parquet", tmp_path / "often.parquet"
    row = next(i for i in items if i.picture_id == "a")
    write_table(once, [row], pictures, "c", True)
    write_table(often, [row] * 50, pictures, "c", True)
    assert often.stat().st_size < 1.2 * once.stat().st_size
