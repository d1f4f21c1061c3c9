"""Training the sample's CLIP: a few steps on a few images."""

import pytest

from research.synthetic_world import clip_trainer, train_clip
from tests.research.synthetic_world.training import trained, weights


def test_training_that_was_interrupted_goes_on_to_the_same_weights(small, monkeypatch):
    trained()
    undisturbed = weights(small)
    (small / "work/checkpoint.pt").unlink()
    step = clip_trainer.ClipTrainer.image_step

    def stops(self, rng, rate, size):
        if size == clip_trainer.SMALL_IMAGE_SIZE:
            return step(self, rng, rate, size)
        raise KeyboardInterrupt

    monkeypatch.setattr(clip_trainer.ClipTrainer, "image_step", stops)
    with pytest.raises(KeyboardInterrupt):
        trained()
    assert weights(small) != undisturbed  # two steps are missing
    monkeypatch.setattr(clip_trainer.ClipTrainer, "image_step", step)
    trained()
    assert weights(small) == undisturbed


def test_the_rate_warms_up_and_falls_to_a_hundredth():
    steps = 1100
    rates = [train_clip.learning_rate_at(step, steps) for step in range(steps + 1)]
    assert rates[0] == pytest.approx(2e-3 / 100, rel=1e-3)  # the first of 100 steps of warming up
    assert max(rates) == max(rates[90:110]) and max(rates) < 2e-3
    assert rates[-1] == pytest.approx(2e-5)
    assert rates[550] == pytest.approx(2e-3 * (0.01 + 0.99 * 0.5))  # half way down the cosine
