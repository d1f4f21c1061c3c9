"""Outputs of nets are read as written, and all faults are listed."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from pipeline.core.errors import UserError
from research.reference_models.model_outputs import ModelOutputs, VqaQuery, read_outputs, write_outputs

ASKS = [
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
    write_outputs(tmp_path / "seen.safetensors", ASKS, seen(**changes))
    asks, read = read_outputs(tmp_path / "seen.safetensors")
    assert asks == ASKS
    assert all(isinstance(ask, VqaQuery) for ask in asks)
    assert same(read, seen(**changes))
    assert {array.dtype for array in (read.logits, read.features)} == {np.dtype(np.float32)}


def test_the_bytes_do_not_depend_on_the_memory_layout(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    made = seen(head_logits={"k_plus_1": np.zeros(3, np.float32), "branch": np.ones(3, np.float32)})
    write_outputs(first, ASKS, made)
    other = {"branch": made.head_logits["branch"], "k_plus_1": made.head_logits["k_plus_1"]}
    write_outputs(
        second, tuple(ASKS), made._replace(logits=np.asfortranarray(made.logits), head_logits=other)
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
        write_outputs(tmp_path / "seen", [*ASKS[:2], ASKS[0]], bad)
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
    write_outputs(tmp_path / "seen", ASKS, seen())
    damaged(tmp_path / "seen", how)
    with pytest.raises(UserError, match="seen: not the outputs of a net"):
        read_outputs(tmp_path / "seen")


def test_a_missing_file_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_outputs(tmp_path / "seen")
