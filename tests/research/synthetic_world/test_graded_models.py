"""Nets of graded strength, trained on a few synthetic worlds with a detector of random weights."""

import numpy as np
import pytest
import torch

from research.reference_models import net_configs
from research.reference_models.inference import load_net
from research.reference_models.region_head import RegionHead, save_head
from research.reference_models.region_stores import ArrayStore
from research.synthetic_world import graded_models as graded
from research.synthetic_world.graded_models import (
    GRADES,
    TrainingGrade,
    get_graded_models,
    keep_best_regions,
    prepare_worlds,
)
from research.synthetic_world.region_trainer import REGION_NAMES

FEW = {"short": TrainingGrade(2, 2), "half_blind": TrainingGrade(1, 2, "none", num_regions=3)}


@pytest.fixture(scope="module")
def out(few_worlds, tmp_path_factory):
    (few_worlds / "vqa").mkdir(exist_ok=True)
    torch.manual_seed(0)
    save_head(few_worlds / "vqa/regions.safetensors", RegionHead(56 * 4 + 152 + 368, REGION_NAMES, hidden=8))
    return tmp_path_factory.mktemp("graded")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(net_configs, "TRAIN_BATCH_SIZE", 16)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_each_grade_is_a_net_and_existing_files_are_kept(out, monkeypatch):
    found = get_graded_models(out, FEW)
    assert {name: net.num_regions for name, net in found.items()} == {"short": 0, "half_blind": 3}
    nets = {name: load_net(net.path) for name, net in found.items()}
    assert nets["short"].net.shape.answers == len(nets["short"].answers) > 1
    before = {name: net.path.read_bytes() for name, net in found.items()}
    monkeypatch.setattr(graded, "train_graded_model", None)  # fails if called
    assert get_graded_models(out, FEW) == found
    assert {name: net.path.read_bytes() for name, net in found.items()} == before


def test_a_grade_of_more_images_sees_more_of_the_same_worlds(out):
    (one, store), (two, stores) = prepare_worlds("learn", 1, out), prepare_worlds("learn", 2, out)
    assert len(one.scenes) == 4 and len(two.scenes) == 8 and one.scenes.items() <= two.scenes.items()
    np.testing.assert_array_equal(store.features, stores.features[:4])
    assert {question.image_id for question in two.questions} == set(stores.index_of)


def test_a_net_with_few_regions_has_the_best_scored_ones():
    features = np.arange(2 * 4 * 3).reshape(2, 4, 3).astype(np.float16)
    store = ArrayStore(["a", "b"], features, np.zeros((2, 4, 4), np.float32))
    assert keep_best_regions(store, 0) is store
    cut = keep_best_regions(store, 2)
    assert cut.shape == (2, 3) and cut.index_of == store.index_of
    np.testing.assert_array_equal(cut.features, features[:, :2])


def test_grades_differ_in_time_images_pairs_and_sight():
    grades = GRADES.values()
    assert len(GRADES) >= 4 and all(
        len({getattr(one, name) for one in grades}) > 1 for name in TrainingGrade._fields
    )
