"""The sample's own picture tower in training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from research.reference_models.net_training import train
from research.synthetic_world import tower_trainer
from research.synthetic_world.region_trainer import NAMES, Things, box_of, regions_of, tried
from research.synthetic_world.tower_trainer import MAP, Pictures, TowerTraining, mirrored, recipe_of
from research.synthetic_world.vqa_worlds import worlds_of


@pytest.fixture(scope="module")
def pictures(few_worlds):
    return Pictures(["look", "learn"])


def test_pictures_of_all_parts_come_with_their_own_things(pictures):
    worlds = [*worlds_of("look"), *worlds_of("learn")]
    assert len(pictures) == len(worlds) == 4 + 8
    shown = pictures.shown(np.array([9, 2]), np.array([False, False]))
    scenes = [worlds[place].scene for place in (9, 2)]
    names = [item.name for scene in scenes for item in scene.objects]
    assert [NAMES.kinds[kind] for kind in shown.things.kind] == names
    per_map = MAP[0] * MAP[1]
    counts = np.bincount(shown.things.cell // per_map, minlength=2)
    assert counts.tolist() == [len(scene.objects) for scene in scenes]
    true = [box_of(item, scene) for scene in scenes for item in scene.objects]
    for cell, box, (left, top, right, bottom) in zip(
        shown.things.cell, shown.things.boxes, true, strict=True
    ):
        down, across = divmod(cell % per_map, MAP[1])
        middle = (across + 0.5) / MAP[1] + box[0], (down + 0.5) / MAP[0] + box[1]
        assert middle == pytest.approx(((left + right) / 2, (top + bottom) / 2), abs=1e-6)
    assert not np.array_equal(shown.pixels[0], shown.pixels[1])


def test_a_mirrored_picture_has_its_things_where_they_are_seen(pictures):
    rows = np.array([3, 3])
    plain, turned = (pictures.shown(rows, np.array([False, mirror])) for mirror in (False, True))
    np.testing.assert_array_equal(turned.pixels[1], plain.pixels[1][:, :, ::-1])
    np.testing.assert_array_equal(turned.pixels[0], plain.pixels[0])
    # A thing in the second column of 16, its middle 0.01 to the right of the cell's, is then in the last but one, 0.01 to the left.
    one = Things(
        np.array([16 + 1]),
        np.array([0]),
        np.zeros((1, 2), bool),
        np.array([[0.01, 0.02, 0.1, 0.2]], np.float32),
    )
    there = mirrored(one)
    assert MAP == (12, 16) and there.cell.tolist() == [16 + 14]
    assert there.boxes[0].tolist() == pytest.approx([-0.01, 0.02, 0.1, 0.2])
    assert mirrored(there).cell.tolist() == one.cell.tolist()


def test_training_learns_the_pictures_it_is_shown(pictures, tmp_path, monkeypatch):
    run = TowerTraining(Pictures(["look"]), replace(recipe_of(4), steps=150, every=150))
    scenes = [row.scene for row in worlds_of("look")]
    before = tried(regions_of(run.tower.eval(), run.head.eval(), "look"), scenes)
    run.net.train()
    train(run, tmp_path / "tower.pt", lambda _: 0.0)
    after = tried(regions_of(run.tower, run.head, "look"), scenes)
    assert before["recall"] == 0 and after["recall"] > 0.75 and after["precision"] > 0.75


def test_the_criterion_is_of_the_part_that_chooses(pictures, monkeypatch):
    asked = []
    monkeypatch.setattr(tower_trainer, "regions_of", lambda tower, head, part: asked.append(part))
    monkeypatch.setattr(
        tower_trainer, "tried", lambda found, scenes: {"recall": 0.5, "precision": 1.0, "looks right": 0.9}
    )
    run = TowerTraining(pictures, recipe_of(12))
    assert run.score(None) == pytest.approx(2 / 3)  # 2 * 0.5 * 1 / 1.5
    assert asked == ["choose"]


def test_every_picture_is_seen_once_an_epoch(pictures, monkeypatch):
    seen = []
    monkeypatch.setattr(
        tower_trainer, "tower_loss", lambda tower, head, shown: torch.zeros(1, requires_grad=True).sum()
    )
    monkeypatch.setattr(Pictures, "shown", lambda self, rows, mirror: seen.extend(rows.tolist()))
    run = TowerTraining(pictures, recipe_of(12))
    for number in range(3):
        run.step(number)
    assert sorted(seen) == list(range(12))
