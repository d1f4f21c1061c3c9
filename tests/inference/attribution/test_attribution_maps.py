import json

import numpy as np
import pytest

from pipeline.inference.attribution.attribution_maps import (
    find_peaks,
    normalize_map,
    rasterize_boxes,
    to_gqa_attention,
    write_gqa_attention,
)
from pipeline.scoring.gqa_diagnostics import compute_gqa_diagnostics
from pipeline.scoring.input_validation import read_attention

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
