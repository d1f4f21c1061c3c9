"""Training of the CLIP model: data, trainer, and the whole run."""

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from pipeline.candidates.encoders import clip
from pipeline.core.json_files import read_json
from pipeline.core.records import SceneObject
from research.synthetic_world import clip_trainer, clip_training_data, train_clip
from research.synthetic_world.clip_training_data import TrainingTexts, make_noun_phrase
from tests.research.synthetic_world.training import trained, weights

# Training data of the sample's CLIP: rendered train images, their noun phrases and questions.


def thing(name, *attributes):
    return SceneObject(object_id="1", name=name, x=0, y=0, w=9, h=9, attributes=attributes)


def phrases(share, name, *attributes):
    rng = np.random.default_rng(0)
    return {make_noun_phrase(thing(name, *attributes), share, rng) for _ in range(200)}


def test_a_noun_phrase_tells_all_attributes_or_some_in_any_order():
    assert phrases(1.0, "cup", "red", "small") == {"a red small cup", "a small red cup"}
    assert phrases(0.0, "cup", "red", "small") == {"a cup"}
    assert phrases(0.5, "cup", "red", "small") == {
        "a red small cup",
        "a small red cup",
        "a red cup",
        "a small cup",
        "a cup",
    }


def test_articles_fit_and_plurals_have_none():
    assert phrases(1.0, "umbrella", "open") == {"an open umbrella"}
    assert phrases(0.0, "apple") == {"an apple"} and phrases(1.0, "jeans", "blue") == {"blue jeans"}


def test_images_are_drawn_at_the_size_that_the_model_sees(small):
    images, rows = clip_training_data.load_chunks(1)
    assert [chunk.shape for chunk in images] == [(4, 3, *clip_training_data.IMAGE_SIZE)] and len(rows) == 4
    assert Image.fromarray(images[0][0].transpose(1, 2, 0)).getextrema() != ((0, 0), (0, 0), (0, 0))


def test_an_existing_chunk_is_kept(small):
    path = clip_training_data.WORK_DIR / "train-000.npy"
    before = path.stat().st_mtime_ns
    clip_training_data.render_chunk(0)
    assert path.stat().st_mtime_ns == before


@pytest.fixture
def texts(small):
    _, rows = clip_training_data.load_chunks(1)
    return rows, TrainingTexts(rows, lambda every: np.array(every))  # texts instead of tokens


def test_every_text_is_kept_once_and_found_by_its_number(texts):
    rows, known = texts
    assert len(set(known.tokens)) == len(known.tokens)
    assert known.tokens[known.questions].tolist() == [text for row in rows for text in row.questions]
    full = known.tokens[known.phrases[:, 0]]
    every = [thing for row in rows for thing in row.scene.objects]
    assert all(
        thing.name in phrase and set(thing.attributes) <= set(phrase.split())
        for thing, phrase in zip(every, full, strict=True)
    )


def test_sampled_questions_and_objects_belong_to_the_image(texts):
    rows, known = texts
    rng = np.random.default_rng(0)
    for _ in range(20):
        images = np.array([0, 3, 1])
        for image, question in zip(images, known.sample_questions(images, rng), strict=True):
            assert known.tokens[question] in rows[image].questions
        things = known.sample_objects(images, rng)
        assert (
            (known.first_object_row[images] <= things) & (things < known.first_object_row[images + 1])
        ).all()


# Training of the sample's CLIP: its files, its start, and its attention loss.


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


# Training the sample's CLIP: a few steps on a few images.


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
