import numpy as np
import pytest

from pipeline.inference.attribution.cross_attention import average_cross_attention, average_over_words


def test_attention_is_averaged_over_layers_and_heads():
    layers = [
        np.array([[[1.0, 0], [0.5, 0.5]], [[0.0, 1], [0.5, 0.5]]]),  # heads' mean: both words .5, .5
        np.array([[[1.0, 0], [0, 1]]]),
    ]
    assert average_cross_attention(layers).tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_the_token_of_the_whole_image_does_not_count():
    # 0.6 for the whole image; of the rest 0.1 and 0.3 a quarter and three
    assert average_cross_attention([np.array([[[0.6, 0.1, 0.3]]])], first_region=1) == pytest.approx(
        np.array([[0.25, 0.75]])
    )


def test_the_question_is_the_mean_of_its_words_without_special_tokens():
    table = np.array([[0.0, 1], [1, 0], [0.5, 0.5], [0, 1]])
    assert average_over_words(table, [False, True, True, False]).tolist() == [0.75, 0.25]


def test_other_shapes_are_rejected():
    with pytest.raises(ValueError, match=r"wanted \[heads, words, regions\]"):
        average_cross_attention([np.ones((2, 3))])
    with pytest.raises(ValueError, match="0 of 1 tokens are words"):
        average_over_words(np.ones((1, 2)), [False])
