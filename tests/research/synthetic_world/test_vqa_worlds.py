"""The worlds on which the sample's nets are trained and evaluated."""

import numpy as np

from research.synthetic_world import vqa_worlds
from research.synthetic_world.build import SEED
from research.synthetic_world.scenes import SPLIT_SIZES, make_image_id
from research.synthetic_world.vqa_worlds import CHUNK_SIZE, WORLD_SERIES

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
