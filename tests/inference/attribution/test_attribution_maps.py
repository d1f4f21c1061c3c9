"""Attribution maps, by attention rollout, cross-attention and Grad-CAM."""

import json

import numpy as np
import pytest

from pipeline.inference.attribution.attention_rollout import compute_rollout, place_on_patches
from pipeline.inference.attribution.attribution_maps import (
    find_peaks,
    normalize_map,
    rasterize_boxes,
    to_gqa_attention,
    write_gqa_attention,
)
from pipeline.inference.attribution.cross_attention import average_cross_attention, average_over_words
from pipeline.inference.attribution.grad_cam import compute_grad_cam, compute_hires_cam
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.input_validation import read_attention

# Attribution maps


# The upper right quarter of the image and the lower left one; a transposed grid takes one for the other.
SCENE = {
    "width": 100,
    "height": 50,
    "objects": {
        "1": {"x": 50, "y": 0, "w": 50, "h": 25},
        "2": {"x": 0, "y": 25, "w": 50, "h": 25},
    },
}


def grounding(attention, thing):
    """What GQA's scorer makes of attention for a question that points to one thing."""
    question = {"imageId": "n", "answer": "yes", "annotations": {"question": {"0": thing}}}
    found = compute_gqa_diagnostics(
        {"q": question}, {"q": "yes"}, scenes={"n": SCENE}, attention={"q": attention}
    )
    return found["grounding"]["value"]


@pytest.mark.parametrize("shape", [(4, 4), (2, 4), (4, 2), (24, 24), (12, 16)])
def test_gqas_scorer_reads_a_cell_at_its_position(shape, tmp_path):
    grid = np.zeros(shape)
    grid[0, -1] = 1  # the upper right corner
    write_gqa_attention(tmp_path / "grids.json", {"q": grid})
    attention = read_attention(tmp_path / "grids.json")["q"]
    assert (grounding(attention, "1"), grounding(attention, "2")) == (1, 0)


@pytest.mark.parametrize("shape", [(4, 4), (3, 8), (1, 5), (5, 1)])
def test_gqas_scorer_reads_the_weight_of_each_box(shape):
    grid = normalize_map(np.random.default_rng(0).uniform(size=shape))
    middles = [((c + 0.5) / shape[1], (r + 0.5) / shape[0]) for r in range(shape[0]) for c in range(shape[1])]
    # Cells that an edge of the box halves count by half: with an odd number of rows or columns the middle ones.
    share = sum(
        weight * (1 if x > 0.5 else 0.5 * (x == 0.5)) * (1 if y < 0.5 else 0.5 * (y == 0.5))
        for weight, (x, y) in zip(grid.ravel(), middles, strict=True)
    )
    assert grounding(to_gqa_attention(grid), "1") == pytest.approx(share, abs=1e-5)


def test_five_regions_are_not_read_as_a_map_of_five_by_five():
    assert len(to_gqa_attention(np.full((1, 5), 0.2))) == 6


def test_weights_are_normalized_and_zeros_become_uniform():
    assert normalize_map(np.array([[2.0, 6.0]])).tolist() == [[0.25, 0.75]]
    assert normalize_map(np.zeros((2, 2))).tolist() == [[0.25, 0.25], [0.25, 0.25]]
    for wrong in ([[-1.0, 2.0]], [[np.nan]], [1.0], [[]]):
        with pytest.raises(ValueError, match="non-negative"):
            normalize_map(np.array(wrong))


def test_a_box_fills_its_cells_in_proportion_to_the_overlap():
    # 0.25 to 1 of the width: half of the first of two columns and all of the second, a third and two thirds.
    grid = rasterize_boxes(np.array([1.0]), np.array([[0.25, 0.5, 1, 1]]), (2, 2))
    assert grid == pytest.approx(np.array([[0, 0], [1 / 3, 2 / 3]]))


def test_the_weight_of_a_box_does_not_depend_on_its_size():
    grid = rasterize_boxes(np.array([0.75, 0.25]), np.array([[0, 0, 0.5, 1], [0.5, 0, 0.75, 0.25]]), (4, 4))
    assert grid[:, :2].sum() == pytest.approx(0.75) and grid[0, 2] == pytest.approx(0.25)


def test_the_area_outside_of_the_image_does_not_count():
    assert rasterize_boxes(np.ones(1), np.array([[-0.0005, 0, 0.5, 1]]), (1, 2)).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="boxes from 0 to 320; wanted fractions of the image"):
        rasterize_boxes(np.ones(1), np.array([[0, 0, 320, 240]]))


def test_width_and_height_instead_of_edges_are_rejected():
    with pytest.raises(ValueError, match=r"\[0.5, 0.5, 0.25, 0.25\] has .*; wanted left, top, right"):
        rasterize_boxes(np.ones(2), np.array([[0.5, 0.5, 0.75, 0.75], [0.5, 0.5, 0.25, 0.25]]))


def test_a_box_without_area_counts_at_its_position():
    assert rasterize_boxes(
        np.ones(2), np.array([[0.2, 0.2, 0.2, 0.2], [1, 1, 1, 1]]), (2, 2)
    ) == pytest.approx(np.array([[0.5, 0], [0, 0.5]]))


def test_peaks_are_the_centers_of_the_highest_cells_x_first():
    assert find_peaks(np.array([[0.1, 0.2, 0.7]])).tolist() == [[5 / 6, 0.5]]
    assert len(find_peaks(np.full((3, 4), 1 / 12))) == 12


def test_a_file_has_a_map_for_each_question(tmp_path):
    write_gqa_attention(tmp_path / "g.json", {"01": np.full((2, 2), 0.25), "02": np.array([[0.0, 1.0]])})
    assert json.loads((tmp_path / "g.json").read_text()) == {
        "01": [[0.25, 0.25], [0.25, 0.25]],
        "02": [[0.5, 0, 1, 1, 1]],
    }


# Attention rollout


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


# Cross attention


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


# Grad CAM


def test_grad_cam_weights_a_channel_by_its_mean_gradient():
    # Channel 0: mean slope (4 + 0) / 2 = 2; channel 1: (-1 - 1) / 2 = -1. Map: 2 * [3, 1] - [2, 1] = [4, 1].
    maps, slope = np.array([[[3.0, 1]], [[2.0, 1]]]), np.array([[[4.0, 0]], [[-1.0, -1]]])
    assert compute_grad_cam(maps, slope) == pytest.approx(np.array([[0.8, 0.2]]))


def test_negative_evidence_does_not_count():
    # Weights 1 and -1: cell 0 has 5, cell 1 has -5, which ReLU takes away.
    maps = np.array([[[5.0, 0]], [[0.0, 5]]])
    assert compute_grad_cam(maps, np.array([[[1.0, 1]], [[-1.0, -1]]])).tolist() == [[1, 0]]


def test_a_map_without_positive_evidence_is_uniform():
    assert compute_grad_cam(np.ones((1, 1, 2)), -np.ones((1, 1, 2))).tolist() == [[0.5, 0.5]]


def test_hires_cam_weights_a_cell_by_its_own_gradient():
    # Cells: 4 * 3 - 1 * 2 = 10 and 0 * 1 - 1 * 1 = -1, which ReLU takes away.
    maps, slope = np.array([[[3.0, 1]], [[2.0, 1]]]), np.array([[[4.0, 0]], [[-1.0, -1]]])
    assert compute_hires_cam(maps, slope).tolist() == [[1, 0]]


def test_both_methods_agree_if_gradients_are_constant():
    draw = np.random.default_rng(0)
    maps, slope = draw.normal(size=(5, 3, 4)), np.broadcast_to(draw.normal(size=(5, 1, 1)), (5, 3, 4))
    assert compute_hires_cam(maps, slope) == pytest.approx(compute_grad_cam(maps, slope))


def test_a_gradient_of_another_shape_is_rejected():
    with pytest.raises(ValueError, match=r"maps \(1, 2, 3\) and gradient \(1, 3, 2\)"):
        compute_grad_cam(np.ones((1, 2, 3)), np.ones((1, 3, 2)))
    with pytest.raises(ValueError, match=r"maps \(1, 2, 3\) and gradient \(1, 3, 2\)"):
        compute_hires_cam(np.ones((1, 2, 3)), np.ones((1, 3, 2)))
