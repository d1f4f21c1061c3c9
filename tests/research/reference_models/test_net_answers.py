"""Rows of the tiny project's nets, asked from outside any stage."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from research.reference_models.inference import load_net, look
from research.reference_models.model_outputs import Ask
from research.reference_models.net_answers import nouns_of, plan_rows, regions_for, said_by_nets
from research.reference_models.region_head import load_head
from tests.tiny.nets import SAMPLE, VQA, add_nets
from tests.tiny.project import lay_out

PICTURES = {path.stem: path for path in sorted(Folders("sample").source.glob("images/*.jpg"))[:2]}
ASKS = sorted(Ask(picture, text) for picture in PICTURES for text in ("What color is the cup?", "Is it red?"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = lay_out(tmp_path_factory.mktemp("asked"))
    add_nets(made)
    return made


def test_rows_are_planned_by_what_lies_there_and_by_whether_the_truth_is_known(home):
    plan = plan_rows(home / VQA, truth=False)
    assert set(plan.looks) == {0, 1}
    assert "ens" in plan.rows(1) and plan.lacks[0]["ens"] == "no net mix"
    assert plan.lacks[0]["true_regions"].startswith("nobody knows") and not plan.needs("true")
    assert plan_rows(home / VQA, truth=True).needs("true")
    with pytest.raises(UserError, match="the nets cannot be asked"):
        plan_rows(home / "nowhere", truth=True)


def test_each_row_says_what_its_net_says(home, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plan = plan_rows(home / VQA, truth=False)
    regions = regions_for(plan, SAMPLE / "clip", PICTURES)
    said = {(seed, row): one for seed, row, one in said_by_nets(plan, ASKS, regions)}
    assert {seed for seed, _ in said} == {0, 1} and [row for seed, row in said if seed == 1] == plan.rows(1)
    seen = look(load_net(home / VQA / "rp-1.safetensors", exact=True), ASKS, regions.stores["found"])
    expected = 1 / (1 + np.exp(-seen.logits.max(axis=1).astype(float)))
    np.testing.assert_allclose(said[1, "rp"].confidence, expected)


def test_nouns_are_those_of_each_ask(home):
    head = load_head(home / VQA / "regions.safetensors")
    assert nouns_of(ASKS, head)[1] == {"cup"} and nouns_of(ASKS, head)[0] == frozenset()


def test_pictures_that_are_not_there_are_named(home):
    plan = plan_rows(home / VQA, truth=False)
    with pytest.raises(UserError, match=r"lost\.jpg is missing"):
        regions_for(plan, SAMPLE / "clip", {"lost": Path("lost.jpg")})
