"""What a net saw comes back from its file as it was; what cannot be right is refused, with all that is wrong."""

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
        and a.extra.keys() == b.extra.keys()
        and all(np.array_equal(a.extra[name], b.extra[name]) for name in a.extra)
        and (a.stepped is None) == (b.stepped is None)
        and (a.stepped is None or same(a.stepped, b.stepped))
    )


@pytest.mark.parametrize(
    "changes", [{}, {"extra": {}}, {"stepped": None}], ids=["all", "no heads", "no step"]
)
def test_what_was_written_is_read(tmp_path, changes):
    write_outputs(tmp_path / "seen.safetensors", ASKS, seen(**changes))
    asks, read = read_outputs(tmp_path / "seen.safetensors")
    assert asks == ASKS
    assert all(isinstance(ask, VqaQuery) for ask in asks)
    assert same(read, seen(**changes))
    assert {array.dtype for array in (read.logits, read.features)} == {np.dtype(np.float32)}


def test_the_same_content_gives_the_same_bytes_whatever_the_arrays_look_like_in_memory(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    made = seen(extra={"k_plus_1": np.zeros(3, np.float32), "branch": np.ones(3, np.float32)})
    write_outputs(first, ASKS, made)
    other = {"branch": made.head_logits["branch"], "k_plus_1": made.head_logits["k_plus_1"]}
    write_outputs(
        second, tuple(ASKS), made._replace(logits=np.asfortranarray(made.logits), head_logits=other)
    )
    assert first.read_bytes() == second.read_bytes()


def test_a_net_that_was_asked_nothing_is_written_too(tmp_path):
    write_outputs(tmp_path / "seen", [], seen(n=0))
    asks, read = read_outputs(tmp_path / "seen")
    assert asks == []
    assert read.logits.shape == (0, 4)


def test_everything_that_cannot_be_right_is_said_at_once_and_nothing_is_written(tmp_path):
    bad = seen(
        answers=("yes", "yes", "no"),
        features=np.zeros((2, 5), np.float32),
        extra={"brunch": np.zeros(3, np.float32), "branch": np.array([0, np.nan, np.inf], np.float32)},
        stepped=ModelOutputs((), np.zeros((3, 3), np.float64), np.zeros((3, 6), np.float32)),
    )
    with pytest.raises(UserError) as error:
        write_outputs(tmp_path / "seen", [*ASKS[:2], ASKS[0]], bad)
    assert error.value.problems == [
        f"{tmp_path / 'seen'}: not what a net saw: 8 problems",
        "logits: float32 (3, 4), wanted float32 (3, 3)",
        "features: float32 (2, 5), wanted float32 (3, any)",
        "extra.brunch: unknown here; the heads are branch, multi_branch, separated, k_plus_1, caption_match",
        "extra.branch: 2 values are not finite; the net's training went wrong",
        "stepped.logits: float64 (3, 3), wanted float32 (3, 3)",
        "stepped.features: float32 (3, 6), wanted float32 (2, 5)",
        "asks: Ask(picture_id='n1', text='Is the cup red?') is there 2 times",
        "answers: 'yes' is there 2 times",
    ]
    assert not (tmp_path / "seen").exists()


def damaged(path, how):
    tensors = load_file(path)
    if how == "cut off":
        path.write_bytes(path.read_bytes()[:-7])
    elif how == "no logits":
        del tensors["logits"]
    elif how == "asks are no pairs":
        tensors["asks"] = np.frombuffer(b'[["n1"]]', np.uint8)
    elif how == "half a step":
        del tensors["stepped.features"]
    if how != "cut off":
        save_file(tensors, path)


@pytest.mark.parametrize(
    "how", ["cut off", "no logits", "asks are no pairs", "half a step"], ids=lambda how: how.replace(" ", "-")
)
def test_a_damaged_file_is_refused_by_name(tmp_path, how):
    write_outputs(tmp_path / "seen", ASKS, seen())
    damaged(tmp_path / "seen", how)
    with pytest.raises(UserError, match="seen: not what a net saw"):
        read_outputs(tmp_path / "seen")


def test_a_file_that_is_not_there_is_a_users_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_outputs(tmp_path / "seen")
