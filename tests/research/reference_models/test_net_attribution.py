"""What the sample's own net looked at, against captum and against what stage `answer` gets."""

import json

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.inference.attribution.attribution_maps import rasterize_boxes
from research.reference_models import net_attribution
from research.reference_models.inference import load_net, predict
from research.reference_models.match_net import Output
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_attribution import MIN_MARK_WEIGHT, DetectedRegions, NetAttributor
from research.reference_models.region_extraction import extract_regions
from research.reference_models.region_head import load_head, load_images
from tests.closure import ROOT

SAMPLE = ROOT / "data/sample"
IMAGE = "n000953"
FILE = SAMPLE / f"source/images/{IMAGE}.jpg"


def net(name):
    return NetAttributor(SAMPLE / "vqa", SAMPLE / "clip", SAMPLE / f"vqa/{name}.safetensors")


@pytest.fixture(scope="module")
def rp():
    return net("rp-0")


@pytest.fixture(scope="module")
def texts():
    questions = json.loads((SAMPLE / "source/questions1.2/testdev_balanced_questions.json").read_text())
    return [question["question"] for question in questions.values() if question["imageId"] == IMAGE][:6]


@pytest.fixture(scope="module")
def seen(rp, texts):
    return rp.attribute(FILE, texts)


def test_answers_and_attention_equal_those_of_stage_answer(seen, texts):
    """Compare with the regions of `region_extraction` and the outputs of `inference`."""
    regions = extract_regions(SAMPLE / "clip", load_head(SAMPLE / "vqa/regions.safetensors"), {IMAGE: FILE})
    asked = load_net(SAMPLE / "vqa/rp-0.safetensors", use_float64=True)
    store = regions.stores["detected"]
    wanted = predict(asked, [VqaQuery(IMAGE, text) for text in texts], store)
    logits = wanted.logits.astype(float)
    assert [one.answer for one in seen] == [asked.answers[k] for k in logits.argmax(1)]
    assert [one.probability for one in seen] == pytest.approx(1 / (1 + np.exp(-logits.max(1))), abs=1e-4)
    assert {mark.text for mark in seen[0].get_panel("detections").marks} == regions.detected_names[IMAGE]
    features, boxes = (
        torch.from_numpy(array).double() for array in store.get_regions(np.zeros(len(texts), int))
    )
    tokens = torch.from_numpy(asked.vocabulary.encode(texts))
    attention = asked.net(tokens, features, boxes).attention.detach().numpy()
    for row, one in enumerate(seen):
        wanted_grid = rasterize_boxes(attention[row].mean(0), boxes[row].numpy())
        assert one.get_panel("attention").attribution_map == pytest.approx(wanted_grid, abs=1e-6)
        assert one.get_panel("glance-2").attribution_map == pytest.approx(
            rasterize_boxes(attention[row, 1], boxes[row].numpy()), abs=1e-6
        )


def test_maps_sum_to_one_and_marks_have_a_minimum_weight(seen):
    for one in seen:
        for panel in one.panels:
            assert panel.attribution_map.sum() == pytest.approx(1) and panel.attribution_map.min() >= 0
        assert all(mark.score >= MIN_MARK_WEIGHT for mark in one.get_panel("attention").marks)


def test_attribution_does_not_depend_on_other_questions(rp, seen, texts):
    (alone,) = rp.attribute(FILE, texts[3:4])
    for method in ("attention", "grad-cam"):
        assert alone.get_panel(method).attribution_map == pytest.approx(
            seen[3].get_panel(method).attribution_map, abs=1e-9
        )


@pytest.mark.parametrize("name", ["rp-0", "own_vanilla-0"])
def test_grad_cam_equals_captums(name, texts):
    attr = pytest.importorskip("captum.attr")
    sight = net(name)

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tower, self.rest = sight.tower, sight.head_with_net

        def forward(self, pixels, tokens):
            return self.rest(self.tower(pixels), tokens)[1].logits

    whole = Whole()
    pixels = sight.tower.normalize(load_images([FILE], sight.tower.size))
    for text, one in zip(texts, sight.attribute(FILE, texts), strict=True):
        tokens = sight.tokenize([text])
        wanted = attr.LayerGradCam(whole, whole.tower).attribute(
            pixels,
            target=sight.model.answers.index(one.answer),
            additional_forward_args=tokens,
            relu_attributions=True,
        )[0, 0]
        assert one.get_panel("grad-cam").attribution_map == pytest.approx(
            (wanted / wanted.sum()).detach().numpy(), abs=1e-9
        )


def test_gradients_are_concentrated_in_the_cells_of_regions(rp, texts, monkeypatch):
    """Why Grad-CAM's mean over cells says little of this net (docs/guides/attribution.md): 16 regions are read from 16 of 192 cells."""
    slopes = []

    def noted(maps, slope):
        slopes.append(np.sort(np.abs(slope).sum(0).ravel())[::-1])
        return ()

    monkeypatch.setattr(net_attribution, "_grad_cam_panels", noted)
    rp.attribute(FILE, texts)
    assert {slope.size for slope in slopes} == {192} and len(slopes) == len(texts)
    assert min(slope[:16].sum() / slope.sum() for slope in slopes) > 0.99


def test_hires_cam_equals_captums_input_times_gradient(rp, texts):
    """The sum of slope times map is how much the logit changes when all of the map grows by a share: by captum, which knows it as
    Input x Gradient of the layer."""
    attr = pytest.importorskip("captum.attr")

    class Rest(torch.nn.Module):
        def forward(self, maps, tokens):
            return rp.head_with_net(maps, tokens)[1].logits

    maps = rp.tower.compute_maps(load_images([FILE], rp.tower.size)).clone()
    for text, one in zip(texts[:3], rp.attribute(FILE, texts[:3]), strict=True):
        target = rp.model.answers.index(one.answer)
        wanted = attr.InputXGradient(Rest()).attribute(
            maps.clone().requires_grad_(), target=target, additional_forward_args=rp.tokenize([text])
        )[0].sum(0).clamp(min=0)  # fmt: skip
        assert one.get_panel("hires-cam").attribution_map == pytest.approx(
            (wanted / wanted.sum()).detach().numpy(), abs=1e-9
        )


def test_grad_cam_shows_positive_evidence_only(rp, texts, monkeypatch):
    """After the tower a sum that is known: the second answer counts channel 0 of the map and takes away channel 1. Its Grad-CAM is
    ReLU(A_0 - A_1): the mean slope of channel 0 is 1 / cells, that of channel 1 the same below 0."""

    def known(maps, tokens):
        means = maps.mean((2, 3))
        logits = torch.stack([means[:, 0] * 0 - 99, means[:, 0] - means[:, 1]], 1)
        n = len(maps)
        regions = DetectedRegions(
            torch.tensor([[[0.0, 0, 1, 1]]]).expand(n, 2, 4),
            torch.zeros(n, 1, dtype=torch.long),
            torch.ones(n, 1),
        )
        return regions, Output(logits, logits, {}, torch.full((n, 1, 2), 0.5))  # fmt: skip

    monkeypatch.setattr(rp.head_with_net, "forward", known)
    first, second = rp.tower.compute_maps(load_images([FILE], rp.tower.size))[0, :2].numpy()
    wanted = np.maximum(first - second, 0)
    assert 0 < wanted.astype(bool).mean() < 1
    (one,) = rp.attribute(FILE, texts[:1])
    assert one.get_panel("grad-cam").attribution_map == pytest.approx(wanted / wanted.sum())


@pytest.mark.parametrize("name", ["blind-0", "caption_match-0", "true_regions-0"])
def test_nets_without_positions_are_rejected(name):
    with pytest.raises(UserError, match="has no attribution"):
        net(name)


def test_an_unreadable_image_is_one_message(rp, texts, tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    for name in ("broken.jpg", "none.jpg"):
        with pytest.raises(UserError, match=f"{name}: the image is missing or cannot be read"):
            rp.attribute(tmp_path / name, texts)
