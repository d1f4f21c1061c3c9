"""Rows of the tiny project's nets, asked from outside any stage."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from research.reference_models.inference import load_net, predict
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_answers import extract_query_nouns, load_regions, plan_rows, predict_rows
from research.reference_models.region_head import load_head
from tests.tiny.nets import SAMPLE, VQA, add_nets
from tests.tiny.project import lay_out

IMAGES = {path.stem: path for path in sorted(DatasetFolders("sample").source.glob("images/*.jpg"))[:2]}
ASKS = sorted(VqaQuery(image, text) for image in IMAGES for text in ("What color is the cup?", "Is it red?"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = lay_out(tmp_path_factory.mktemp("asked"))
    add_nets(made)
    return made


def test_rows_are_planned_by_what_lies_there_and_by_whether_the_truth_is_known(home):
    plan = plan_rows(home / VQA, has_ground_truth=False)
    assert set(plan.planned_inference) == {0, 1}
    assert "ens" in plan.available_rows(1) and plan.missing_requirements[0]["ens"] == "no net mix"
    assert plan.missing_requirements[0]["true_regions"].startswith("nobody knows") and not plan.needs_regions(
        "true"
    )
    assert plan_rows(home / VQA, has_ground_truth=True).needs_regions("true")
    with pytest.raises(UserError, match="the nets cannot be asked"):
        plan_rows(home / "nowhere", has_ground_truth=True)


def test_each_row_says_what_its_net_says(home, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plan = plan_rows(home / VQA, has_ground_truth=False)
    regions = load_regions(plan, SAMPLE / "clip", IMAGES)
    said = {(seed, row): one for seed, row, one in predict_rows(plan, ASKS, regions)}
    assert {seed for seed, _ in said} == {0, 1} and [
        row for seed, row in said if seed == 1
    ] == plan.available_rows(1)
    seen = predict(load_net(home / VQA / "rp-1.safetensors", use_float64=True), ASKS, regions.stores["found"])
    expected = 1 / (1 + np.exp(-seen.logits.max(axis=1).astype(float)))
    np.testing.assert_allclose(said[1, "rp"].confidence, expected)


def test_nouns_are_those_of_each_ask(home):
    head = load_head(home / VQA / "regions.safetensors")
    assert extract_query_nouns(ASKS, head)[1] == {"cup"} and extract_query_nouns(ASKS, head)[0] == frozenset()


def test_images_that_are_not_there_are_named(home):
    plan = plan_rows(home / VQA, has_ground_truth=False)
    with pytest.raises(UserError, match=r"lost\.jpg is missing"):
        load_regions(plan, SAMPLE / "clip", {"lost": Path("lost.jpg")})
