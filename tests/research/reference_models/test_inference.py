"""Nets in files, and what they make of questions."""

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from research.reference_models.inference import Asked, device_of, load_net, look, save_net, stepped
from research.reference_models.model_outputs import Ask, read_seen, write_seen
from research.reference_models.tokenization import WordTable
from tests.research.reference_models.toy_nets import THINGS, WIDTH, net, world

NAMES = WordTable(tuple(f"thing{i}" for i in range(THINGS)))
COLORS = ("blue", "green", "red", "white")


def asked(**changes):
    return Asked(net(**changes).eval(), NAMES, COLORS)


ASKS = [Ask("p3", "thing1?"), Ask("p0", "thing4 thing0?"), Ask("p3", "a dragon?")]


def test_a_net_comes_back_from_its_file_to_half_precision(tmp_path):
    given = asked(head="branch")
    save_net(tmp_path / "net.safetensors", given)
    back = load_net(tmp_path / "net.safetensors")
    assert back.words == NAMES and back.answers == COLORS and back.net.shape == given.net.shape
    for name, value in given.net.state_dict().items():
        torch.testing.assert_close(back.net.state_dict()[name], value, atol=1e-3, rtol=1e-3)
    save_net(tmp_path / "again.safetensors", back)
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "net.safetensors").read_bytes()


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", None])
def test_a_file_that_is_no_net_is_refused(content, tmp_path):
    path = tmp_path / "net.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match="not the file of a net"):
        load_net(path)


def test_what_is_seen_does_not_depend_on_what_else_is_asked_nor_on_the_threads():
    store, _ = world()
    model = asked(head="branch")
    together = look(model, ASKS, store)
    alone = look(model, ASKS[:1], store)
    np.testing.assert_allclose(alone.logits[0], together.logits[0], rtol=2e-5)
    np.testing.assert_allclose(alone.extra["branch"][0], together.extra["branch"][0], rtol=2e-5)
    torch.set_num_threads(2)
    assert np.array_equal(look(model, ASKS, store).logits, together.logits)
    assert torch.get_num_threads() == 2


def test_what_is_asked_of_one_picture_is_seen_as_if_each_had_its_own():
    model, (store, _) = asked(), world()
    mixed = [ASKS[0], ASKS[1], ASKS[0], ASKS[2], ASKS[1]]
    each = np.concatenate([look(model, [one], store).logits for one in mixed])
    np.testing.assert_allclose(look(model, mixed, store).logits, each, rtol=2e-5)
    assert not np.allclose(each[0], each[1])


def test_a_step_does_not_change_what_is_seen_without_it():
    model, store = asked(), world()[0]
    np.testing.assert_allclose(
        look(model, ASKS, store, step=1e-4).logits, look(model, ASKS, store).logits, rtol=2e-5
    )


def test_a_feature_that_hardly_varies_is_hardly_moved():
    features = torch.randn(1, 2, 3, requires_grad=True)
    logits = (features.sum((1, 2)) * 3)[:, None]
    moved = stepped(features, logits, torch.tensor([1e-4, 1e-4, 1e-9]))
    assert (moved - features).abs().amax((0, 1)).tolist() == pytest.approx(
        [1e-4, 1e-4, 1e-9], rel=0.2, abs=3e-8
    )


def test_a_net_that_calculates_exactly_does_so_in_float64(tmp_path):
    save_net(tmp_path / "net.safetensors", asked())
    assert load_net(tmp_path / "net.safetensors", exact=True).net.answer.weight.dtype == torch.float64
    assert load_net(tmp_path / "net.safetensors").net.answer.weight.dtype == torch.float32


def test_what_is_seen_goes_into_the_file_of_the_protocol(tmp_path):
    seen = look(asked(head="k_plus_1"), ASKS, world()[0], step=1e-4)
    write_seen(tmp_path / "seen.safetensors", ASKS, seen)
    asks, back = read_seen(tmp_path / "seen.safetensors")
    assert asks == ASKS and back.answers == COLORS and back.stepped is not None
    assert (
        back.logits.shape == (3, 4)
        and back.features.shape == (3, 16)
        and back.extra["k_plus_1"].shape == (3,)
    )


def test_pictures_without_regions_are_named():
    with pytest.raises(UserError, match="p99"):
        look(asked(), [Ask("p99", "thing1?"), Ask("p0", "thing1?")], world()[0])


@pytest.mark.parametrize("lift", [-3.0, 3.0])
def test_odins_step_pushes_the_top_logit_away_from_one_half(lift):
    """Where its probability is below one half the target is 0, so the step lowers it; else it raises it."""
    model = net(answers=1).eval()  # of one answer, so that no other's loss plays in
    with torch.no_grad():
        model.answer.bias += lift
    words = torch.tensor([[2, 0], [3, 4]])
    features, boxes = torch.randn(2, 3, WIDTH, requires_grad=True), torch.rand(2, 3, 4)
    before = model(words, features, boxes).logits
    moved = stepped(features, before, torch.full((WIDTH,), 1e-3))
    assert (moved - features).abs().max() <= 1.01e-3
    after = model(words, moved, boxes).logits
    assert (torch.sign(lift * (after - before)) == 1).all()


def test_without_a_step_nothing_is_stepped():
    assert look(asked(), ASKS, world()[0]).stepped is None
    blind = look(asked(blind=True), ASKS, world()[0], step=1e-4)
    assert blind.stepped is None and blind.logits.shape == (3, 4)


def test_a_gpu_that_is_asked_for_must_be_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of("auto") == device_of("cpu") == "cpu"
    with pytest.raises(UserError, match="finds no GPU"):
        device_of("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_of("auto") == "cuda" and device_of("cpu") == "cpu"
