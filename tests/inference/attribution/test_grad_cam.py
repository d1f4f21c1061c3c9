import numpy as np
import pytest

from pipeline.inference.attribution.grad_cam import compute_grad_cam, compute_hires_cam


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
