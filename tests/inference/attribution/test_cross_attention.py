import numpy as np
import pytest

from pipeline.inference.attribution.cross_attention import average_cross_attention, average_over_words


def test_words_look_at_regions_by_the_mean_of_layers_and_heads():
    layers = [
        np.array([[[1.0, 0], [0.5, 0.5]], [[0.0, 1], [0.5, 0.5]]]),  # heads' mean: both words .5, .5
        np.array([[[1.0, 0], [0, 1]]]),
    ]
    assert average_cross_attention(layers).tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_what_stands_before_the_patches_is_left_out():
    # 0.6 for the whole image; of the rest 0.1 and 0.3 a quarter and three
    assert average_cross_attention([np.array([[[0.6, 0.1, 0.3]]])], first_region=1) == pytest.approx(
        np.array([[0.25, 0.75]])
    )


def test_the_question_looks_where_its_words_do_and_marks_are_no_words():
    table = np.array([[0.0, 1], [1, 0], [0.5, 0.5], [0, 1]])
    assert average_over_words(table, [False, True, True, False]).tolist() == [0.75, 0.25]


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"wanted \[heads, words, regions\]"):
        average_cross_attention([np.ones((2, 3))])
    with pytest.raises(ValueError, match="0 of 1 tokens are words"):
        average_over_words(np.ones((1, 2)), [False])
