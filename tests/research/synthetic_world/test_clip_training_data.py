"""Training data of the sample's CLIP: rendered train images, their noun phrases and questions."""

import numpy as np
import pytest
from PIL import Image

from pipeline.core.records import SceneObject
from research.synthetic_world import clip_training_data
from research.synthetic_world.clip_training_data import TrainingTexts, make_noun_phrase


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
