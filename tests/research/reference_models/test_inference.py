"""Nets in files, and what they make of questions."""

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from research.reference_models.inference import (
    LoadedModel,
    load_net,
    odin_perturbed,
    predict,
    resolve_device,
    save_net,
)
from research.reference_models.model_outputs import VqaQuery, read_outputs, write_outputs
from research.reference_models.tokenization import WordVocabulary
from tests.research.reference_models.toy_nets import KINDS, WIDTH, net, world

NAMES = WordVocabulary(tuple(f"thing{i}" for i in range(KINDS)))
COLORS = ("blue", "green", "red", "white")


def asked(**changes):
    return LoadedModel(net(**changes).eval(), NAMES, COLORS)


ASKS = [VqaQuery("p3", "thing1?"), VqaQuery("p0", "thing4 thing0?"), VqaQuery("p3", "a dragon?")]


def test_a_net_is_saved_in_half_precision(tmp_path):
    given = asked(head="branch")
    save_net(tmp_path / "net.safetensors", given)
    back = load_net(tmp_path / "net.safetensors")
    assert back.vocabulary == NAMES and back.answers == COLORS and back.net.shape == given.net.shape
    for name, value in given.net.state_dict().items():
        torch.testing.assert_close(back.net.state_dict()[name], value, atol=1e-3, rtol=1e-3)
    save_net(tmp_path / "again.safetensors", back)
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "net.safetensors").read_bytes()


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", None])
def test_a_file_that_is_no_net_is_rejected(content, tmp_path):
    path = tmp_path / "net.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match="not the file of a net"):
        load_net(path)


def test_outputs_do_not_depend_on_other_queries_or_threads():
    store, _ = world()
    model = asked(head="branch")
    together = predict(model, ASKS, store)
    alone = predict(model, ASKS[:1], store)
    np.testing.assert_allclose(alone.logits[0], together.logits[0], rtol=2e-5)
    np.testing.assert_allclose(alone.head_logits["branch"][0], together.head_logits["branch"][0], rtol=2e-5)
    torch.set_num_threads(2)
    assert np.array_equal(predict(model, ASKS, store).logits, together.logits)
    assert torch.get_num_threads() == 2


def test_queries_about_one_image_share_its_regions():
    model, (store, _) = asked(), world()
    mixed = [ASKS[0], ASKS[1], ASKS[0], ASKS[2], ASKS[1]]
    each = np.concatenate([predict(model, [one], store).logits for one in mixed])
    np.testing.assert_allclose(predict(model, mixed, store).logits, each, rtol=2e-5)
    assert not np.allclose(each[0], each[1])


def test_odins_step_does_not_change_the_other_outputs():
    model, store = asked(), world()[0]
    np.testing.assert_allclose(
        predict(model, ASKS, store, odin_step=1e-4).logits, predict(model, ASKS, store).logits, rtol=2e-5
    )


def test_odins_step_is_scaled_by_the_spread_of_a_feature():
    features = torch.randn(1, 2, 3, requires_grad=True)
    logits = (features.sum((1, 2)) * 3)[:, None]
    moved = odin_perturbed(features, logits, torch.tensor([1e-4, 1e-4, 1e-9]))
    assert (moved - features).abs().amax((0, 1)).tolist() == pytest.approx(
        [1e-4, 1e-4, 1e-9], rel=0.2, abs=3e-8
    )


def test_a_net_computes_in_float64_if_requested(tmp_path):
    save_net(tmp_path / "net.safetensors", asked())
    assert load_net(tmp_path / "net.safetensors", use_float64=True).net.answer.weight.dtype == torch.float64
    assert load_net(tmp_path / "net.safetensors").net.answer.weight.dtype == torch.float32


def test_outputs_can_be_written(tmp_path):
    seen = predict(asked(head="k_plus_1"), ASKS, world()[0], odin_step=1e-4)
    write_outputs(tmp_path / "seen.safetensors", ASKS, seen)
    asks, back = read_outputs(tmp_path / "seen.safetensors")
    assert asks == ASKS and back.answers == COLORS and back.odin_perturbed is not None
    assert (
        back.logits.shape == (3, 4)
        and back.features.shape == (3, 16)
        and back.head_logits["k_plus_1"].shape == (3,)
    )


def test_images_without_regions_are_named():
    with pytest.raises(UserError, match="p99"):
        predict(asked(), [VqaQuery("p99", "thing1?"), VqaQuery("p0", "thing1?")], world()[0])


@pytest.mark.parametrize("lift", [-3.0, 3.0])
def test_odins_step_pushes_the_top_logit_away_from_one_half(lift):
    """Where its probability is below one half the target is 0, so the step lowers it; else it raises it."""
    model = net(answers=1).eval()  # of one answer, so that no other's loss plays in
    with torch.no_grad():
        model.answer.bias += lift
    words = torch.tensor([[2, 0], [3, 4]])
    features, boxes = torch.randn(2, 3, WIDTH, requires_grad=True), torch.rand(2, 3, 4)
    before = model(words, features, boxes).logits
    moved = odin_perturbed(features, before, torch.full((WIDTH,), 1e-3))
    assert (moved - features).abs().max() <= 1.01e-3
    after = model(words, moved, boxes).logits
    assert (torch.sign(lift * (after - before)) == 1).all()


def test_without_a_step_there_are_no_perturbed_outputs():
    assert predict(asked(), ASKS, world()[0]).odin_perturbed is None
    text_only = predict(asked(blind=True), ASKS, world()[0], odin_step=1e-4)
    assert text_only.odin_perturbed is None and text_only.logits.shape == (3, 4)


def test_a_requested_gpu_must_exist(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(UserError, match="finds no GPU"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == "cuda" and resolve_device("cpu") == "cpu"
