"""What the sample's CLIP is trained on and how, on a material small enough to make by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.records import SceneObject
from pipeline.sample_world import train_clip
from pipeline.sample_world.clip_material import ASKED, CONTEXT, PHRASE_TOKENS, PHRASES, SIZE, Material, phrase

END = 49407  # CLIP's last token, by which it finds the end of a text


@pytest.fixture
def material(monkeypatch: pytest.MonkeyPatch) -> Material:
    """Eight places with three pictures each; all texts of picture i, and its pixels, are the number i + 1."""
    monkeypatch.setattr(train_clip, "SCENES", 4)
    monkeypatch.setattr(train_clip, "CROPS", 8)
    monkeypatch.setattr(train_clip, "CROP", 32)
    pictures = np.arange(1, 25)
    owner = np.repeat(np.arange(24), 6)

    def ids(numbers: np.ndarray, *shape: int) -> np.ndarray:
        tokens = np.zeros((len(numbers), *shape), np.uint16)
        tokens[..., 0], tokens[..., 1] = numbers.reshape(-1, *[1] * (len(shape) - 1)), END
        return tokens

    return Material(
        pictures=np.broadcast_to(pictures.astype(np.uint8)[:, None, None, None], (24, *SIZE, 3)).copy(),
        place=np.repeat(np.arange(8), 3), owner=owner,
        centre=np.random.default_rng(0).uniform((0, 0), (SIZE[1], SIZE[0]), (144, 2)).astype(np.float32),
        phrases=ids(owner + 1, PHRASES, PHRASE_TOKENS), asked=ids(pictures, ASKED, CONTEXT))


def test_a_crop_comes_with_a_phrase_of_a_thing_of_its_own_picture(material: Material) -> None:
    pictures, (phrases,) = train_clip.crop_batch(material, 3)
    assert pictures.shape == (8, 32, 32, 3)
    np.testing.assert_array_equal(pictures[:, 0, 0, 0], phrases[:, 0])


def test_a_crop_holds_the_centre_of_its_thing(material: Material) -> None:
    # one thing, whose centre is the only bright pixel: every crop must show it, also at the border
    for x, y in ((2, 3), (64, 50), (126, 93)):
        pictures = np.zeros((1, *SIZE, 3), np.uint8)
        pictures[0, y, x] = 255
        one = material._replace(pictures=pictures, owner=np.zeros(1, int), centre=np.array([[x, y]], np.float32))
        crops, _ = train_clip.crop_batch(one, 0)
        assert (crops.max(axis=(1, 2, 3)) == 255).all()


def test_all_texts_of_a_scene_batch_are_of_their_own_picture_and_two_places_share_it(material: Material) -> None:
    for step in range(20):
        pictures, (phrases, asked) = train_clip.scene_batch(material, step)
        assert pictures.shape == (4, *SIZE, 3)
        of = pictures[:, 50, 60, 0]
        assert (phrases[..., 0] == of).all() and (asked[..., 0] == of).all()
        assert phrases.shape[0] == train_clip.PHRASES_EACH and asked.shape[0] == train_clip.QUESTIONS_EACH
        assert len(set((of.astype(int) - 1) // 3)) == 2 and len(set(of)) == 4


def test_batches_depend_on_the_step_alone(material: Material) -> None:
    one, again, other = (train_clip.scene_batch(material, step)[0] for step in (5, 5, 6))
    assert (one == again).all() and not (one == other).all()


def test_the_learning_rate_rises_then_falls_to_a_fiftieth() -> None:
    # step 0: a 50th of the warm-up. The cosine is 1/2 at half the steps: 0.02 + 0.98 / 2 = 0.51 of the peak
    assert train_clip.rate(0, 1000) == pytest.approx(2e-3 / 50)
    assert train_clip.rate(500, 1000) == pytest.approx(0.51 * 2e-3)
    assert train_clip.rate(1000, 1000) == pytest.approx(0.02 * 2e-3)


def test_a_training_that_was_stopped_ends_as_one_that_was_not(material: Material, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(train_clip, "CROP_STEPS", 2)
    monkeypatch.setattr(train_clip, "SCENE_STEPS", 2)
    whole = train_clip.Trainer(material)
    losses = list(whole.steps())
    first = train_clip.Trainer(material)
    steps = first.steps()
    begun = [next(steps) for _ in range(3)]
    first.keep(tmp_path / "checkpoint.pt")
    second = train_clip.Trainer(material)
    second.resume(tmp_path / "checkpoint.pt")
    assert begun + list(second.steps()) == pytest.approx(losses, abs=1e-6)
    for name, tensor in whole.network.state_dict().items():
        np.testing.assert_allclose(tensor, second.network.state_dict()[name], atol=1e-6, err_msg=name)


def test_the_written_model_is_the_trained_one_and_words_never_seen_are_zero(material: Material, tmp_path: Path) -> None:
    from pipeline.encoders import clip

    trainer = train_clip.Trainer(material)
    train_clip.write_model(trainer.network, tmp_path)
    encoder = clip.load(f"local-dir:{tmp_path}", device="cpu")
    assert (encoder.record.dimension, encoder.record.context_length) == (256, CONTEXT)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 16e6
    table = trainer.network.token_embedding.weight.detach().numpy()
    assert (np.flatnonzero(np.abs(table).max(axis=1)) == [0, *range(1, 25), END]).all()


def test_a_phrase_says_only_what_is_true_of_its_thing() -> None:
    hat = SceneObject(object_id="1", name="hat", x=0, y=0, w=1, h=1, attributes=("red", "striped"))
    said = {phrase(hat, np.random.default_rng(seed), 0.5) for seed in range(60)}
    assert said == {"a hat", "a red hat", "a striped hat", "a red striped hat", "a striped red hat"}
    orange = SceneObject(object_id="1", name="jeans", x=0, y=0, w=1, h=1, attributes=())
    assert phrase(orange, np.random.default_rng(0), 1.0) == "jeans"
