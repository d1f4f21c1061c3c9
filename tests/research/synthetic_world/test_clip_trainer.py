"""Training of the sample's CLIP: its files, its start, and its attention loss."""

import numpy as np
import open_clip
import pytest
import torch

from pipeline.candidates.encoders import clip
from pipeline.core.json_files import read_json
from research.synthetic_world import clip_trainer, clip_training_data
from tests.research.synthetic_world.training import trained


@pytest.fixture(scope="module")
def first(small):
    """Return the trainer of a run. Its model was written."""
    return trained()


def test_the_model_is_loaded_by_open_clip_and_gives_what_training_saw(small, first):
    text = clip_training_data.load_chunks(1)[1][0].questions[0]  # all its tokens were seen
    ((_, vectors),) = clip.Encoder(f"local-dir:{small / 'model'}", device="cpu").encode_texts([text], 1)
    tokens = torch.searchsorted(
        first.used, open_clip.SimpleTokenizer(context_length=clip_trainer.CONTEXT_LENGTH)([text])
    )
    with torch.no_grad():
        wanted = first.model.eval().encode_text(tokens, normalize=True).numpy()
    np.testing.assert_allclose(vectors, wanted, atol=2e-3)  # weights are kept as float16


def test_a_second_run_begins_with_the_weights_of_the_first(small, first):
    second = clip_trainer.ClipTrainer(*clip_training_data.load_chunks(1), start=small / "model")
    texts = first.texts.questions[:3]
    np.testing.assert_allclose(
        second._encode(texts).detach(), first._encode(texts).detach(), atol=2e-2
    )  # float16, bfloat16


def test_the_place_of_an_object_in_the_feature_map():
    # cells of 1/4 by 1/2 of an image; the middle of the cell in row 1, column 2 is at x = 5/8, y = 3/4
    features = torch.arange(8.0).reshape(1, 1, 2, 4)
    assert clip_trainer._sample_features(features, np.array([[[5 / 8, 3 / 4], [1 / 8, 1 / 4]]])).tolist() == [
        [6.0],
        [0.0],
    ]


def test_the_pooling_of_a_scene_ignores_padding():
    torch.manual_seed(0)
    teller, phrases = clip_trainer.ScenePooling().eval(), torch.randn(1, 3, clip_trainer.EMBEDDING_DIMENSION)
    there = torch.tensor([[True, True, False]])
    other = phrases.clone()
    other[0, 2] = 99
    with torch.no_grad():
        assert torch.equal(teller(phrases, there), teller(other, there))
        assert not torch.allclose(teller(phrases, there), teller(phrases, torch.tensor([[True, True, True]])))


def test_a_moved_image_repeats_its_edge(first):
    still = first._prepare_pixels(np.array([0]), np.array([0, 0]), clip_training_data.IMAGE_SIZE)
    right = first._prepare_pixels(np.array([0]), np.array([5, 0]), clip_training_data.IMAGE_SIZE)
    assert torch.equal(right[:, :, :, 5:], still[:, :, :, :-5])
    assert torch.equal(right[:, :, :, :5], still[:, :, :, :1].expand(-1, -1, -1, 5))


def test_the_configuration_that_is_written_is_the_model_that_was_trained(small, first):
    written = read_json(small / "model/open_clip_config.json")
    assert written["model_cfg"]["embed_dim"] == clip_trainer.EMBEDDING_DIMENSION
    assert written["preprocess_cfg"]["mean"] == pytest.approx(clip_trainer.MEAN)
