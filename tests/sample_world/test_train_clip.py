"""Training the sample's CLIP: a few steps on a few pictures."""

from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from pipeline.core.files import sha256_file
from pipeline.encoders import clip
from sample_world import clip_texts, clip_trainer, train_clip


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four pictures, and steps of four; the model goes to `model`."""
    for module, name in (
        (clip_texts, "CHUNK"),
        (clip_trainer, "CHUNK"),
        (clip_trainer, "SCENES"),
        (clip_trainer, "TOLD"),
    ):
        monkeypatch.setattr(module, name, 4)
    for module in (clip_texts, train_clip):
        monkeypatch.setattr(module, "WORK", tmp_path / "work")
    monkeypatch.setattr(train_clip, "TARGET", tmp_path / "model")
    clip_texts.draw_chunk(0)
    return tmp_path


def weights(folder: Path) -> str:
    return sha256_file(folder / "model/open_clip_model.safetensors")


def trained(start: Path | None = None) -> clip_trainer.Trainer:
    made = clip_trainer.Trainer(*clip_texts.load(1), start=start)
    train_clip.train(made, text_steps=2, small_steps=1, picture_steps=2, every=1)
    return made


def test_training_that_was_interrupted_goes_on_to_the_same_weights(small, monkeypatch):
    trained()
    undisturbed = weights(small)
    (small / "work/checkpoint.pt").unlink()
    step = clip_trainer.Trainer.picture_step

    def stops(self, rng, rate, size):
        if size == clip_trainer.SMALL:
            return step(self, rng, rate, size)
        raise KeyboardInterrupt

    monkeypatch.setattr(clip_trainer.Trainer, "picture_step", stops)
    with pytest.raises(KeyboardInterrupt):
        trained()
    assert weights(small) != undisturbed  # two steps are missing
    monkeypatch.setattr(clip_trainer.Trainer, "picture_step", step)
    trained()
    assert weights(small) == undisturbed


def test_the_model_is_loaded_by_open_clip_and_gives_what_training_saw(small):
    made = trained()
    text = clip_texts.load(1)[1][0].questions[0]  # all its tokens were seen
    ((_, vectors),) = clip.load(f"local-dir:{small / 'model'}", device="cpu").texts([text], 1)
    tokens = torch.searchsorted(
        made.used, open_clip.SimpleTokenizer(context_length=clip_trainer.CONTEXT)([text])
    )
    with torch.no_grad():
        wanted = made.model.eval().encode_text(tokens, normalize=True).numpy()
    np.testing.assert_allclose(vectors, wanted, atol=2e-3)  # weights are kept as float16


def test_pictures_are_drawn_at_the_size_that_the_model_sees(small):
    pictures, rows = clip_texts.load(1)
    assert [chunk.shape for chunk in pictures] == [(4, 3, *clip_texts.SIZE)] and len(rows) == 4
    assert Image.fromarray(pictures[0][0].transpose(1, 2, 0)).getextrema() != ((0, 0), (0, 0), (0, 0))


def test_a_second_run_begins_with_the_weights_of_the_first(small):
    first = trained()
    second = clip_trainer.Trainer(*clip_texts.load(1), start=small / "model")
    texts = first.texts.questions[:3]
    np.testing.assert_allclose(
        second._encode(texts).detach(), first._encode(texts).detach(), atol=2e-2
    )  # float16, bfloat16


def test_the_place_of_a_thing_in_the_feature_map():
    # cells of 1/4 by 1/2 of a picture; the middle of the cell in row 1, column 2 is at x = 5/8, y = 3/4
    features = torch.arange(8.0).reshape(1, 1, 2, 4)
    assert clip_trainer._at(features, np.array([[[5 / 8, 3 / 4], [1 / 8, 1 / 4]]])).tolist() == [[6.0], [0.0]]
