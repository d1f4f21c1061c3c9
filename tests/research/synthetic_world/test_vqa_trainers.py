"""Trainers of the region head and of the image tower."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.ground_truth_regions import make_ground_truth_regions
from research.reference_models.image_towers import ClipTower
from research.reference_models.net_training import train
from research.reference_models.region_head import MAX_DETECTIONS, MIN_LOG_PROBABILITY, RegionHead, Regions
from research.synthetic_world import region_trainer, tower_trainer
from research.synthetic_world.region_trainer import (
    REGION_NAMES,
    SceneObjects,
    detect_regions,
    evaluate_regions,
    get_relative_box,
    train_head,
)
from research.synthetic_world.tower_trainer import (
    MAP_SIZE,
    ImageDataset,
    TowerTraining,
    make_training_config,
    mirror_objects,
)
from research.synthetic_world.vqa_regions import CLIP_DIR
from research.synthetic_world.vqa_worlds import read_worlds

# The sample's region detector in training.


CUP = SceneObject(object_id="1", name="cup", x=44, y=33, w=90, h=67, attributes=("red", "small"))
DOG = SceneObject(object_id="2", name="dog", x=224, y=168, w=112, h=84, attributes=("brown", "sitting"))
SCENE = SceneGraph(
    image_id="1", split="val", width=448, height=336, objects=(CUP, DOG), location="park", weather="sunny"
)


def test_cells_of_an_image_have_its_objects_at_their_centers():
    grid = np.random.default_rng(0).normal(size=(6, 12, 16)).astype(np.float32)
    cells = region_trainer._get_image_cells(grid, SCENE, np.random.default_rng(0), first=100)
    # the dog's middle (0.625, 0.625): column 10, row 7 of 16 x 12; the cup's (89 / 448, 66.5 / 336) = (0.199, 0.198): 3, 2
    dog, cup = (np.flatnonzero(cells.kind == REGION_NAMES.kinds.index(name))[0] for name in ("dog", "cup"))
    np.testing.assert_allclose(cells.maps[cells.cell[dog] - 100], grid[:, 7, 10], rtol=1e-3)
    np.testing.assert_allclose(cells.maps[cells.cell[cup] - 100], grid[:, 2, 3], rtol=1e-3)
    assert cells.kinds[cells.cell - 100].sum(1).tolist() == [1, 1] and cells.kinds.sum() == 2
    assert set(np.array(REGION_NAMES.looks)[cells.looks[dog]]) == {"brown", "sitting"}
    # its cell's middle: (10.5 / 16, 7.5 / 12) = (0.65625, 0.625)
    assert cells.boxes[dog].tolist() == pytest.approx([-0.03125, 0, 0.25, 0.25])
    assert cells.weights.sum() == pytest.approx(12 * 16)  # the empty ones count for all
    np.testing.assert_allclose(cells.whole[0], grid.mean((1, 2)), atol=1e-3)


def test_two_objects_with_their_middle_in_one_cell_share_it():
    other = SceneObject(object_id="3", name="hat", x=232, y=170, w=100, h=80)
    both = SceneGraph(image_id="1", split="val", width=448, height=336, objects=(DOG, other), location="park")
    cells = region_trainer._get_image_cells(
        np.zeros((2, 12, 16), np.float32), both, np.random.default_rng(0), 0
    )
    assert cells.cell.tolist() == [0, 0] and cells.kinds[0].sum() == 2


def test_the_truth_as_regions_is_found_whole_and_a_wrong_one_is_not():
    regions = make_ground_truth_regions([SCENE], RegionHead(6, REGION_NAMES, hidden=4))
    assert evaluate_regions(regions, [SCENE]) == {"recall": 1, "precision": 1, "looks right": 1}
    names = regions.features[0, :, 4:-1]
    assert {REGION_NAMES.all_names[i] for i in np.flatnonzero(names[1] == 0)} == {"dog", "brown", "sitting"}
    assert {REGION_NAMES.all_names[i] for i in np.flatnonzero(names[-1] == 0)} == {"park", "sunny"} and (
        names[2] == MIN_LOG_PROBABILITY
    ).all()
    moved = Regions(*(np.copy(column) for column in regions))
    moved.boxes[0, 1] += 0.2  # the dog's box is 0.25 wide
    assert evaluate_regions(moved, [SCENE]) == {"recall": 0.5, "precision": 0.5, "looks right": 1}
    paler = Regions(*(np.copy(column) for column in regions))
    paler.features[0, 0, 4 + REGION_NAMES.all_names.index("red")] = MIN_LOG_PROBABILITY
    assert evaluate_regions(paler, [SCENE])["looks right"] == 0.5


def test_more_objects_than_regions_are_truncated():
    many = tuple(
        SceneObject(object_id=str(i), name="cup", x=i, y=0, w=9, h=9) for i in range(MAX_DETECTIONS + 3)
    )
    scene = SceneGraph(image_id="1", split="val", width=448, height=336, objects=many, location="park")
    regions = make_ground_truth_regions([scene], RegionHead(6, REGION_NAMES, hidden=4))
    assert regions.scores.sum() == MAX_DETECTIONS


def test_training_learns_the_images_it_is_shown(few_worlds, monkeypatch):
    monkeypatch.setattr(region_trainer, "SEED", 1)
    tower = ClipTower(CLIP_DIR)
    head = train_head(region_trainer.gather_cells(tower, "look"), epochs=60)
    scenes = [row.scene for row in read_worlds("look")]
    regions = region_trainer.detect_regions(tower, head, "look")
    # Overfitting: three of four objects in four images are found. The untrained head finds none.
    assert evaluate_regions(regions, scenes)["recall"] > 0.75
    untrained = region_trainer.detect_regions(tower, RegionHead(744, REGION_NAMES).eval(), "look")
    assert evaluate_regions(untrained, scenes, least=0)["recall"] < 0.1


# The sample's own image tower in training.


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


def test_training_of_a_tower_learns_the_images_it_is_shown(images, tmp_path, monkeypatch):
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
