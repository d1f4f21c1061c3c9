"""What was fitted comes back from a weights file; half of it is an error."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load, save

from pipeline.core.errors import UserError
from pipeline.models.class_gaussians import ClassGaussians
from pipeline.models.fitted import packed, unpacked
from pipeline.models.selection import VectorScaling

SCALING = VectorScaling(np.array([1.5, 2]), np.array([0.25, -1]))
GAUSSIANS = ClassGaussians(np.array([0, 2]), np.zeros(3), np.ones((3, 2)), np.ones((2, 2)))


def test_states_lie_side_by_side_in_a_weights_file():
    tensors = load(save(packed("scaling", SCALING) | packed("gaussians", GAUSSIANS)))
    assert sorted(tensors) == [
        "gaussians.centre",
        "gaussians.classes",
        "gaussians.means",
        "gaussians.whitening",
        "scaling.bias",
        "scaling.scale",
    ]
    for kind, prefix, state in (
        (VectorScaling, "scaling", SCALING),
        (ClassGaussians, "gaussians", GAUSSIANS),
    ):
        read = unpacked(kind, prefix, tensors)
        assert isinstance(read, kind)
        assert all(np.array_equal(a, b) for a, b in zip(read, state, strict=True))
    assert tensors["scaling.bias"].dtype == np.float32
    assert tensors["gaussians.classes"].dtype == np.int64


def test_a_net_for_which_nothing_was_fitted_has_none():
    assert unpacked(VectorScaling, "scaling", packed("gaussians", GAUSSIANS)) is None


def test_half_a_state_is_refused():
    tensors = packed("gaussians", GAUSSIANS)
    del tensors["gaussians.means"], tensors["gaussians.centre"]
    with pytest.raises(UserError) as error:
        unpacked(ClassGaussians, "gaussians", tensors)
    assert error.value.problems == [
        "weights of gaussians: 2 problems",
        "gaussians.centre: missing; train the net again",
        "gaussians.means: missing; train the net again",
    ]
