import numpy as np
import pytest

from pipeline.inference.attribution.attention_rollout import compute_rollout, place_on_patches

# Two heads whose mean is A1, and one head A2; tokens 0, 1, 2.
A1 = np.array([[[0.0, 1, 0], [1, 0, 0], [0, 0, 1]], [[1.0, 0, 0], [0, 0, 1], [0, 0, 1]]])
A2 = np.array([[[0.0, 0, 1], [0, 1, 0], [0, 0, 1]]])


def test_rollout_is_the_product_of_layers_with_residual_connections():
    # mean over heads of A1: [[.5, .5, 0], [.5, 0, .5], [0, 0, 1]]; + I, rows halved: [[.75, .25, 0], [.25, .5, .25], [0, 0, 1]]
    # A2 + I, rows halved: [[.5, 0, .5], [0, 1, 0], [0, 0, 1]]
    # second times first, row 0: .5 * [.75, .25, 0] + .5 * [0, 0, 1] = [.375, .125, .5]
    total = compute_rollout([A1, A2])
    assert total.tolist() == [[0.375, 0.125, 0.5], [0.25, 0.5, 0.25], [0, 0, 1]]
    # The other way round, row 0: .75 * [.5, 0, .5] + .25 * [0, 1, 0] = [.375, .25, .375]
    assert compute_rollout([A2, A1])[0].tolist() == [0.375, 0.25, 0.375]


def test_rows_of_a_rollout_sum_to_one():
    draws = np.random.default_rng(0).dirichlet(np.ones(7), size=(5, 3, 7))
    assert compute_rollout(list(draws)).sum(1) == pytest.approx(np.ones(7))


def test_a_token_that_attends_to_itself_keeps_its_content():
    assert compute_rollout([np.eye(4)[None]] * 3).tolist() == np.eye(4).tolist()


@pytest.mark.parametrize("layers", [[], [np.ones((2, 3, 4))], [A1, np.ones((1, 2, 2))], [np.eye(3)]])
def test_attention_of_other_shapes_is_rejected(layers):
    with pytest.raises(ValueError, match="wanted"):
        compute_rollout(layers)


def test_patches_are_placed_by_position_not_by_order():
    grid = place_on_patches(np.array([0.1, 0.2, 0.1]), np.array([[1, 0], [0, 1], [0, 0]]), (2, 2))
    assert grid == pytest.approx(np.array([[0.25, 0.5], [0.25, 0]]))


@pytest.mark.parametrize("places", [[[0, 0], [0, 0]], [[0, 0], [0, 2]], [[0, 0], [-1, 0]], [[0, 0]]])
def test_positions_outside_of_the_map_are_rejected(places):
    with pytest.raises(ValueError, match="do not fit a map"):
        place_on_patches(np.ones(2), np.array(places), (1, 2))
