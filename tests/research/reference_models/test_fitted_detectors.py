"""Fitted detectors are read as written, and all faults of a file are listed."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load, save

from pipeline.core.errors import UserError
from research.reference_models.class_gaussians import ClassGaussians
from research.reference_models.fitted_detectors import (
    FittedDetectors,
    flatten_arrays,
    read_fitted,
    write_fitted,
)
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import Selector


def made(features=3, answers=4, hidden=2, directions=2, classes=(0, 3)):
    """What might have been fitted for a net; float64, as numpy has it."""
    d, k, h = features, answers, hidden
    draw = np.random.default_rng(1).normal
    gaussians = ClassGaussians(
        np.array(classes), draw(size=d), draw(size=(d, directions)), np.ones((2, directions))
    )
    first = (draw(size=d), np.ones(d), draw(size=(h, d)), draw(size=h), draw(size=(h, k)), draw(size=h))
    selector = Selector(*first, draw(size=(h, 2 * h)), draw(size=h), draw(size=h), draw(size=1), np.ones(1))
    return FittedDetectors(gaussians, VectorScaling(draw(size=k), draw(size=k)), selector)


@pytest.fixture
def path(tmp_path):
    write_fitted(tmp_path / "fitted-0.safetensors", made())
    return tmp_path / "fitted-0.safetensors"


def test_fitted_detectors_are_read_as_float32(path):
    for state, was in zip(read_fitted(path), made(), strict=True):
        assert type(state) is type(was)
        for array, before in zip(state, was, strict=True):
            np.testing.assert_array_equal(array, before.astype(array.dtype))
            assert array.dtype == (np.float32 if before.dtype == np.float64 else before.dtype)


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_fitted(tmp_path / "again", made())
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def faults(path):
    with pytest.raises(UserError) as error:
        read_fitted(path)
    return error.value.problems


def test_a_missing_or_other_file_is_rejected(path):
    assert "no-such" in faults(path.parent / "no-such")[0]
    path.write_bytes(path.read_bytes()[:-8])
    assert (
        "fitted-0.safetensors: not a file of fitted detectors" in faults(path)[0]
        and "fit again" in faults(path)[0]
    )
    path.write_bytes(save({"logits": np.zeros(3)}))
    assert len(faults(path)) == 1 + 17  # every tensor is missing


def changed(path, **arrays):
    path.write_bytes(
        save(load(path.read_bytes()) | {name.replace("_in_", "."): a for name, a in arrays.items()})
    )


def test_all_faults_are_listed(path):
    changed(
        path,
        gaussians_in_classes=np.array([0.5, 1]),
        scaling_in_bias=np.zeros(5),
        selector_in_spread=np.array([1, np.nan, 1]),
    )
    assert faults(path)[1:] == [
        "gaussians.classes: float64 (2,), wanted integers [C]",
        "scaling.bias: (5,), wanted (4,) as in the other arrays",
        "selector.spread: values that are not finite",
    ]


def test_parameters_of_another_feature_size_are_rejected(path):
    tensors = flatten_arrays("selector", made(features=5).selector)
    changed(path, **{name.replace(".", "_in_"): array for name, array in tensors.items()})
    assert [line.split(":")[0] for line in faults(path)[1:]] == [
        "selector.centre",
        "selector.spread",
        "selector.features_weight",
    ]


def test_layers_that_do_not_match_and_invalid_answers_are_rejected(path):
    changed(path, selector_in_joint_weight=np.zeros((2, 3)), gaussians_in_classes=np.array([0, 4]))
    assert faults(path)[1:] == [
        "selector.joint_weight: takes 3, wanted 4",
        "gaussians.classes: wanted indices of 4 answers",
    ]
