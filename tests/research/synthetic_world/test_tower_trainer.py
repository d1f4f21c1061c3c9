"""The sample's own image tower in training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from research.reference_models.net_training import train
from research.synthetic_world import tower_trainer
from research.synthetic_world.region_trainer import (
    REGION_NAMES,
    SceneObjects,
    detect_regions,
    evaluate_regions,
    get_relative_box,
)
from research.synthetic_world.tower_trainer import (
    MAP_SIZE,
    ImageDataset,
    TowerTraining,
    make_training_config,
    mirror_objects,
)
from research.synthetic_world.vqa_worlds import read_worlds


@pytest.fixture(scope="module")
def images(few_worlds):
    return ImageDataset(["look", "learn"])


def test_images_of_all_subsets_come_with_their_own_objects(images):
    worlds = [*read_worlds("look"), *read_worlds("learn")]
    assert len(images) == len(worlds) == 4 + 8
    shown = images.get_batch(np.array([9, 2]), np.array([False, False]))
    scenes = [worlds[place].scene for place in (9, 2)]
    names = [item.name for scene in scenes for item in scene.objects]
    assert [REGION_NAMES.kinds[kind] for kind in shown.things.kind] == names
    per_map = MAP_SIZE[0] * MAP_SIZE[1]
    counts = np.bincount(shown.things.cell // per_map, minlength=2)
    assert counts.tolist() == [len(scene.objects) for scene in scenes]
    true = [get_relative_box(item, scene) for scene in scenes for item in scene.objects]
    for cell, box, (left, top, right, bottom) in zip(
        shown.things.cell, shown.things.boxes, true, strict=True
    ):
        down, across = divmod(cell % per_map, MAP_SIZE[1])
        middle = (across + 0.5) / MAP_SIZE[1] + box[0], (down + 0.5) / MAP_SIZE[0] + box[1]
        assert middle == pytest.approx(((left + right) / 2, (top + bottom) / 2), abs=1e-6)
    assert not np.array_equal(shown.pixels[0], shown.pixels[1])


def test_a_mirrored_image_has_its_objects_where_they_are_seen(images):
    rows = np.array([3, 3])
    plain, turned = (images.get_batch(rows, np.array([False, mirror])) for mirror in (False, True))
    np.testing.assert_array_equal(turned.pixels[1], plain.pixels[1][:, :, ::-1])
    np.testing.assert_array_equal(turned.pixels[0], plain.pixels[0])
    # A thing in the second column of 16, its middle 0.01 to the right of the cell's, is then in the last but one, 0.01 to the left.
    one = SceneObjects(
        np.array([16 + 1]),
        np.array([0]),
        np.zeros((1, 2), bool),
        np.array([[0.01, 0.02, 0.1, 0.2]], np.float32),
    )
    there = mirror_objects(one)
    assert MAP_SIZE == (12, 16) and there.cell.tolist() == [16 + 14]
    assert there.boxes[0].tolist() == pytest.approx([-0.01, 0.02, 0.1, 0.2])
    assert mirror_objects(there).cell.tolist() == one.cell.tolist()


def test_training_learns_the_images_it_is_shown(images, tmp_path, monkeypatch):
    run = TowerTraining(
        ImageDataset(["look"]), replace(make_training_config(4), num_steps=150, checkpoint_interval=150)
    )
    scenes = [row.scene for row in read_worlds("look")]
    before = evaluate_regions(detect_regions(run.tower.eval(), run.head.eval(), "look"), scenes)
    run.net.train()
    train(run, tmp_path / "tower.pt", lambda _: 0.0)
    after = evaluate_regions(detect_regions(run.tower, run.head, "look"), scenes)
    assert before["recall"] == 0 and after["recall"] > 0.75 and after["precision"] > 0.75


def test_the_criterion_uses_subset_choose(images, monkeypatch):
    asked = []
    monkeypatch.setattr(tower_trainer, "detect_regions", lambda tower, head, part: asked.append(part))
    monkeypatch.setattr(
        tower_trainer,
        "evaluate_regions",
        lambda found, scenes: {"recall": 0.5, "precision": 1.0, "looks right": 0.9},
    )
    run = TowerTraining(images, make_training_config(12))
    assert run.score(None) == pytest.approx(2 / 3)  # 2 * 0.5 * 1 / 1.5
    assert asked == ["choose"]


def test_every_image_is_seen_once_an_epoch(images, monkeypatch):
    seen = []
    monkeypatch.setattr(
        tower_trainer, "tower_loss", lambda tower, head, shown: torch.zeros(1, requires_grad=True).sum()
    )
    monkeypatch.setattr(ImageDataset, "get_batch", lambda self, rows, mirror: seen.extend(rows.tolist()))
    run = TowerTraining(images, make_training_config(12))
    for number in range(3):
        run.step(number)
    assert sorted(seen) == list(range(12))
