"""Outputs of nets: how they are computed, prefetched and stored."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from pipeline.core.errors import UserError
from research.reference_models.inference import (
    LoadedModel,
    load_net,
    odin_perturbed,
    predict,
    resolve_device,
    save_net,
)
from research.reference_models.model_outputs import ModelOutputs, VqaQuery, read_outputs, write_outputs
from research.reference_models.prefetch import prefetch
from research.reference_models.tokenization import WordVocabulary
from tests.research.reference_models.toy_nets import KINDS, WIDTH, net, world

# Nets in files, and what they make of questions.


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


# Outputs of nets are read as written, and all faults are listed.


OUTPUTS_ASKS = [
    VqaQuery("n1", "Is the cup red?"),
    VqaQuery("n1", "What is it – “très” <b>?"),
    VqaQuery("n2", "Is the cup red?"),
]


def seen(n=3, k=4, d=5, *, seed=0, **changes):
    random = np.random.default_rng(seed)
    logits, stepped = random.normal(size=(2, n, k)).astype(np.float32)
    features, stepped_features = random.normal(size=(2, n, d)).astype(np.float32)
    answers = tuple(f"answer {i}" for i in range(k))
    extra = {"branch": random.normal(size=n).astype(np.float32)}
    made = ModelOutputs(answers, logits, features, extra, ModelOutputs(answers, stepped, stepped_features))
    return made._replace(**changes)


def same(a, b):
    return (
        a.answers == b.answers
        and np.array_equal(a.logits, b.logits)
        and np.array_equal(a.features, b.features)
        and a.head_logits.keys() == b.head_logits.keys()
        and all(np.array_equal(a.head_logits[name], b.head_logits[name]) for name in a.head_logits)
        and (a.odin_perturbed is None) == (b.odin_perturbed is None)
        and (a.odin_perturbed is None or same(a.odin_perturbed, b.odin_perturbed))
    )


@pytest.mark.parametrize(
    "changes", [{}, {"head_logits": {}}, {"odin_perturbed": None}], ids=["all", "no heads", "no step"]
)
def test_outputs_are_read_as_written(tmp_path, changes):
    write_outputs(tmp_path / "seen.safetensors", OUTPUTS_ASKS, seen(**changes))
    asks, read = read_outputs(tmp_path / "seen.safetensors")
    assert asks == OUTPUTS_ASKS
    assert all(isinstance(ask, VqaQuery) for ask in asks)
    assert same(read, seen(**changes))
    assert {array.dtype for array in (read.logits, read.features)} == {np.dtype(np.float32)}


def test_the_bytes_do_not_depend_on_the_memory_layout(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    made = seen(head_logits={"k_plus_1": np.zeros(3, np.float32), "branch": np.ones(3, np.float32)})
    write_outputs(first, OUTPUTS_ASKS, made)
    other = {"branch": made.head_logits["branch"], "k_plus_1": made.head_logits["k_plus_1"]}
    write_outputs(
        second, tuple(OUTPUTS_ASKS), made._replace(logits=np.asfortranarray(made.logits), head_logits=other)
    )
    assert first.read_bytes() == second.read_bytes()


def test_outputs_for_no_queries_are_written_too(tmp_path):
    write_outputs(tmp_path / "seen", [], seen(n=0))
    asks, read = read_outputs(tmp_path / "seen")
    assert asks == []
    assert read.logits.shape == (0, 4)


def test_all_faults_are_listed_and_nothing_is_written(tmp_path):
    bad = seen(
        answers=("yes", "yes", "no"),
        features=np.zeros((2, 5), np.float32),
        head_logits={"brunch": np.zeros(3, np.float32), "branch": np.array([0, np.nan, np.inf], np.float32)},
        odin_perturbed=ModelOutputs((), np.zeros((3, 3), np.float64), np.zeros((3, 6), np.float32)),
    )
    with pytest.raises(UserError) as error:
        write_outputs(tmp_path / "seen", [*OUTPUTS_ASKS[:2], OUTPUTS_ASKS[0]], bad)
    assert error.value.problems == [
        f"{tmp_path / 'seen'}: not the outputs of a net; run the net again: 8 problems",
        "logits: float32 (3, 4), wanted float32 (3, 3)",
        "features: float32 (2, 5), wanted float32 (3, any)",
        "extra.brunch: unknown head; the heads are branch, multi_branch, separated, k_plus_1, caption_match",
        "extra.branch: 2 values are not finite; the net's training went wrong",
        "odin_perturbed.logits: float64 (3, 3), wanted float32 (3, 3)",
        "odin_perturbed.features: float32 (3, 6), wanted float32 (2, 5)",
        "queries: VqaQuery(image_id='n1', text='Is the cup red?') occurs 2 times",
        "answers: 'yes' occurs 2 times",
    ]
    assert not (tmp_path / "seen").exists()


def damaged(path, how):
    tensors = load_file(path)
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-7])
    elif how == "no logits":
        del tensors["logits"]
    elif how == "queries are no pairs":
        tensors["queries"] = np.frombuffer(b'[["n1"]]', np.uint8)
    elif how == "half a step":
        del tensors["odin_perturbed.features"]
    if how != "truncated":
        save_file(tensors, path)


@pytest.mark.parametrize(
    "how",
    ["truncated", "no logits", "queries are no pairs", "half a step"],
    ids=lambda how: how.replace(" ", "-"),
)
def test_a_damaged_file_is_named(tmp_path, how):
    write_outputs(tmp_path / "seen", OUTPUTS_ASKS, seen())
    damaged(tmp_path / "seen", how)
    with pytest.raises(UserError, match="seen: not the outputs of a net"):
        read_outputs(tmp_path / "seen")


def test_a_missing_file_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_outputs(tmp_path / "seen")


# What is needed next, made meanwhile.


def test_values_come_in_order_and_few_are_computed_in_advance():
    made = []
    found = prefetch(lambda key: made.append(key) or -key, range(10), depth=2)
    for key, value in found:
        assert value == -key
        assert len(made) <= key + 3  # this one and two that wait
    assert made == list(range(10))


def test_values_are_computed_in_another_thread():
    threads = {thread for _, thread in prefetch(lambda key: threading.current_thread(), range(5))}
    assert len(threads) == 1 and threads != {threading.current_thread()}


def test_an_error_is_raised_at_its_key_and_waiting_values_are_dropped():
    made, got = [], []

    def make(key):
        made.append(key)
        return 1 / (3 - key)

    with pytest.raises(ZeroDivisionError):
        for key, _ in prefetch(make, range(1000), depth=2):
            got.append(key)
    assert got == [0, 1, 2] and len(made) < 10


def test_an_early_stop_leaves_no_thread():
    found = prefetch(lambda key: key, range(1000))
    next(found)
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]
