"""The common interface of VQA models: answer vocabularies, hashes, devices."""

import hashlib
from types import SimpleNamespace

import pytest

from pipeline.core.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from pipeline.inference.hf_vqa import load_vqa_model  # noqa: E402
from pipeline.inference.hf_vqa_base import (  # noqa: E402
    VqaModelSettings,
    explain_load_error,
    get_weights_revision,
    hash_weights,
    load_answer_vocabulary,
)
from tests.inference.tiny_models import tiny_vilt  # noqa: E402


@pytest.mark.parametrize(
    ("gpu", "wanted", "device"), [(True, "", "cuda"), (False, "", "cpu"), (True, "cpu", "cpu")]
)
def test_a_model_uses_a_gpu_if_available_unless_configured(monkeypatch, tmp_path, gpu, wanted, device):
    put = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(transformers.PreTrainedModel, "to", lambda model, place: put.append(place) or model)
    net = load_vqa_model(str(tiny_vilt(tmp_path)), {"device": wanted})
    assert put == [device] == [net.device] and net.model_info["device"] == device


def test_answers_of_the_configuration_are_in_the_order_of_their_ids():
    config = SimpleNamespace(id2label={1: "no", 0: "yes", 2: 3})
    assert load_answer_vocabulary(VqaModelSettings(), config, 3) == ("yes", "no", "3")
    with pytest.raises(UserError, match="4 answers"):
        load_answer_vocabulary(VqaModelSettings(), config, 4)


def test_a_folder_is_identified_by_all_its_weights(tmp_path):
    assert hash_weights(tmp_path) == "" == hash_weights(tmp_path / "nosuch")
    (tmp_path / "b.safetensors").write_bytes(b"b")
    (tmp_path / "config.json").write_text("{}")
    one = hashlib.sha256(b"b").hexdigest()
    assert hash_weights(tmp_path) == "sha256:" + hashlib.sha256(one.encode()).hexdigest()
    (tmp_path / "a.bin").write_bytes(b"a")
    both = hashlib.sha256(b"a").hexdigest() + one
    assert hash_weights(tmp_path) == "sha256:" + hashlib.sha256(both.encode()).hexdigest()


def test_a_model_of_the_hub_is_identified_by_its_commit(tmp_path, monkeypatch):
    # As the hub keeps what it fetched: a branch names a commit, whose files lie in a folder of its name.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--a--b"
    (kept / "refs").mkdir(parents=True)
    for branch, commit in (("main", "a" * 40), ("old", "b" * 40)):
        (kept / "refs" / branch).write_text(commit)
        (kept / "snapshots" / commit).mkdir(parents=True)
        (kept / "snapshots" / commit / "config.json").write_text("{}")
    asked = ("", "old", "b" * 40, "nosuch")
    assert [get_weights_revision("a/b", revision) for revision in asked] == ["a" * 40, "b" * 40, "b" * 40, ""]
    (tmp_path / "w.bin").write_bytes(b"w")
    assert get_weights_revision(str(tmp_path), "old") == hash_weights(tmp_path) != ""


@pytest.mark.parametrize(
    ("value", "is_offline"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("", False), ("no", False)],
)
def test_the_message_mentions_offline_mode(monkeypatch, tmp_path, value, is_offline):
    # What huggingface_hub takes for true (its constants.ENV_VARS_TRUE_VALUES: 1, ON, YES, TRUE).
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    why = explain_load_error("hf-vqa/a/b", "a/b", OSError("no such file\nmore"))
    assert (
        why
        == f"hf-vqa/a/b cannot be loaded{' (HF_HUB_OFFLINE is set, so nothing is downloaded)' * is_offline}: no such file"
    )
    assert "OFFLINE" not in explain_load_error(
        "m", str(tmp_path), OSError("damaged")
    )  # a folder is not fetched
