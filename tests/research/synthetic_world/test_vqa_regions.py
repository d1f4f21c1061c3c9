"""Worlds for the training of nets, and their regions."""

from dataclasses import replace

import numpy as np
import pytest

from research.reference_models import image_towers
from research.reference_models.region_head import MAX_DETECTIONS
from research.synthetic_world import region_trainer, tower_trainer, vqa_regions, vqa_worlds
from research.synthetic_world.build import SEED
from research.synthetic_world.scenes import SPLIT_SIZES, make_image_id
from research.synthetic_world.tower_trainer import TowerTraining
from research.synthetic_world.vqa_regions import build_clip_regions, build_own_regions
from research.synthetic_world.vqa_worlds import CHUNK_SIZE, WORLD_SERIES

# Regions of the images: what is computed, kept and continued.


@pytest.fixture(scope="module")
def work(few_worlds):
    return few_worlds / "work"


@pytest.fixture
def no_clip(monkeypatch):
    def refused(*_):
        raise AssertionError("the CLIP was opened")

    monkeypatch.setattr(image_towers.ClipTower, "__init__", refused)
    monkeypatch.setattr("pipeline.candidates.encoders.weights.load_pretrained_model", refused)


@pytest.fixture(scope="module")
def own(work):
    """The own detector's file and its training's run."""
    path = work / "regions_own.safetensors"
    return path, build_own_regions(path, None)


def test_the_own_detector_is_made_without_the_clip(work, own, no_clip):
    (work / "tower.pt").unlink()
    path, run = own
    before = path.read_bytes()
    assert build_own_regions(path, None).report == run.report and path.read_bytes() == before
    for part, count in (("learn", 8), ("choose", 4), ("report", 4)):
        found = np.load(work / part / "detected-own_tower.npy")
        assert len(found) == count and found.shape[1] == MAX_DETECTIONS + 1
        assert np.load(work / part / "boxes-own_tower.npy").shape == (count, MAX_DETECTIONS + 1, 4)
    assert run.images == 4 + 8 and run.tries and set(run.report) == {"recall", "precision", "looks right"}


def test_the_two_detectors_find_by_maps_of_their_own(work, own):
    build_clip_regions(work / "regions.safetensors", None)
    ours, clips = (np.load(work / "report" / f"detected{kind}.npy") for kind in ("-own_tower", ""))
    assert ours.shape == clips.shape and not np.array_equal(ours, clips)
    assert (work / "report" / "images.json").exists()


def test_checkpoints_are_chosen_and_results_measured_on_different_subsets(work, own, monkeypatch):
    (work / "tower.pt").unlink()
    asked, of = [], region_trainer.detect_regions
    monkeypatch.setattr(
        tower_trainer, "detect_regions", lambda tower, head, part: asked.append(part) or of(tower, head, part)
    )
    measured = []
    monkeypatch.setattr(
        vqa_regions,
        "read_worlds",
        lambda part, real=vqa_regions.read_worlds: measured.append(part) or real(part),
    )
    again = build_own_regions(own[0], None)
    assert set(asked) == {"choose"} and len(asked) == len(again.tries) and measured == ["report"]


def test_a_killed_training_goes_on_to_the_same_bytes(work, own, monkeypatch):
    path, _ = own
    whole = path.read_bytes()
    (work / "tower.pt").unlink()
    step, recipe_of = TowerTraining.step, tower_trainer.make_training_config

    def dies(self, number, *rest):
        if number == self.config.num_steps - 1:
            raise KeyboardInterrupt
        return step(self, number, *rest)

    def often(images):
        made = recipe_of(images)
        return replace(made, checkpoint_interval=1)

    monkeypatch.setattr(tower_trainer, "make_training_config", often)
    monkeypatch.setattr(TowerTraining, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        build_own_regions(path, None)
    assert (work / "tower.pt").exists()
    monkeypatch.setattr(TowerTraining, "step", step)
    build_own_regions(path, None)
    assert path.read_bytes() == whole


def test_what_is_known_is_not_trained_again_and_only_lacking_regions_are_written(work, own, monkeypatch):
    path, run = own
    monkeypatch.setattr(tower_trainer, "TowerTraining", None)  # fails if called
    lacking, there = (work / part / "scores-own_tower.npy" for part in ("choose", "learn"))
    values, time = np.load(lacking), there.stat().st_mtime_ns
    lacking.unlink()
    assert build_own_regions(path, run) is run
    np.testing.assert_array_equal(np.load(lacking), values)
    assert there.stat().st_mtime_ns == time


# The worlds on which the sample's nets are trained and evaluated.


CLIP_IMAGES = (
    200 * 256
)  # the default of rgqa sample train-clip, and more than any of its runs had (training.json)


def test_subsets_share_no_scene_with_each_other_the_published_ones_or_the_clips_training_data():
    taken = {split: set(range(size)) for split, size in SPLIT_SIZES.items()}
    taken["train"] |= set(range(CLIP_IMAGES))
    for series in WORLD_SERIES.values():
        here = set(range(series.start, series.start + series.chunks * CHUNK_SIZE))
        assert not taken[series.split] & here
        taken[series.split] |= here


def test_what_nets_learn_from_is_train_and_what_they_are_tried_on_is_val():
    assert {part: series.split for part, series in WORLD_SERIES.items()} == {
        "look": "train",
        "learn": "train",
        "choose": "val",
        "report": "val",
        "fit": "val",
    }
    assert vqa_worlds.SEED == SEED  # else the ids of images would mean other worlds


def test_images_of_all_subsets_have_unique_ids():
    ids = [
        make_image_id(series.split, series.start + place)
        for series in WORLD_SERIES.values()
        for place in range(series.chunks * CHUNK_SIZE)
    ]
    assert len(set(ids)) == len(ids)


def test_rendered_images_are_read_with_pixels_truth_and_questions(few_worlds):
    rows = vqa_worlds.read_worlds("learn")
    assert len(rows) == 8 and all(row.scene.is_complete for row in rows)
    assert {q.image_id for row in rows for q in row.questions} == {row.scene.image_id for row in rows}
    pixels = np.concatenate(list(vqa_worlds.open_pixels("learn")))
    assert pixels.shape == (8, 3, *vqa_worlds.IMAGE_SIZE) and pixels.dtype == np.uint8
    assert all(image.std() > 5 for image in pixels)
    assert vqa_worlds.read_worlds("look")[0].questions == ()


def test_an_existing_chunk_is_kept(few_worlds):
    path = vqa_worlds.WORK_DIR / "choose-000.npy"
    before = path.stat().st_mtime_ns
    vqa_worlds.render_chunk("choose", 0)
    assert path.stat().st_mtime_ns == before
