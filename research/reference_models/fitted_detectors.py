"""Store the parameters of fitted detectors as float32 tensors in a safetensors file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.atomic_files import atomic_write, open_for_reading
from pipeline.core.errors import Problems, UserError
from research.reference_models.class_gaussians import ClassGaussians
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import Selector


class FittedDetectors(NamedTuple):
    """Parameters of the detectors that were fitted to one net.

    Attributes:
        gaussians: Class-conditional Gaussians, fitted on train.
        scaling: Vector scaling, fitted on val.
        selector: Selector, trained on val.
    """

    gaussians: ClassGaussians
    scaling: VectorScaling
    selector: Selector


FITTED_TYPES = {"gaussians": ClassGaussians, "scaling": VectorScaling, "selector": Selector}
# Axes of the array in each field, one word per field and one letter per axis. Equal letters mean equal
# lengths: d features, K answers, C answers with examples, r directions of their covariance, and inputs of
# sizes h and j = 2h of the Selector's hidden layers.
ARRAY_AXES = {"gaussians": "C d dr Cr", "scaling": "K K", "selector": "d d hd h hK h hj h h 1 1"}


def flatten_arrays(prefix: str, state: Any) -> dict[str, np.ndarray]:
    """Return `prefix.field` -> array for the fields of a NamedTuple.

    Floats are converted to float32, because the precision of float16 is too low.
    """
    arrays = {name: np.asarray(value) for name, value in state._asdict().items()}
    return {
        f"{prefix}.{name}": np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else None)
        for name, array in arrays.items()
    }


def write_fitted(path: Path, fitted: FittedDetectors) -> None:
    """Write fitted detectors. Equal content gives equal bytes."""
    from safetensors.numpy import save

    gaussians, scaling, selector = (
        flatten_arrays(prefix, state) for prefix, state in fitted._asdict().items()
    )
    with atomic_write(path) as file:
        file.write(save(gaussians | scaling | selector))


def read_fitted(path: Path) -> FittedDetectors:
    """Read fitted detectors.

    Raises:
        UserError: The file cannot be read, or was not written by `write_fitted`. All faults are listed.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_for_reading(path) as file:
            tensors = load(file.read())
    except SafetensorError as error:
        raise UserError(f"{path}: not a file of fitted detectors ({error}); fit again") from error
    problems = Problems(f"{path}: not a file of fitted detectors; fit again")
    lengths = {"1": 1}
    for prefix, kind in FITTED_TYPES.items():
        for name, axes in zip(kind._fields, ARRAY_AXES[prefix].split(), strict=True):
            if problem := _check_array(tensors.get(f"{prefix}.{name}"), axes, lengths):
                problems.add(f"{prefix}.{name}", problem)
    problems.raise_if_any()
    if lengths["j"] != 2 * lengths["h"]:
        problems.add("selector.joint_weight", f"takes {lengths['j']}, wanted {2 * lengths['h']}")
    if not (np.isin(tensors["gaussians.classes"], np.arange(lengths["K"]))).all():
        problems.add("gaussians.classes", f"wanted indices of {lengths['K']} answers")
    problems.raise_if_any()
    states = (
        kind(*(tensors[f"{prefix}.{name}"] for name in kind._fields)) for prefix, kind in FITTED_TYPES.items()
    )
    return FittedDetectors(*states)  # pyright: ignore[reportArgumentType]


def _check_array(array: np.ndarray | None, axes: str, lengths: dict[str, int]) -> str:
    """Return the fault of an array that should have the given axes; "" if there is none.

    Lengths of new letters are added to `lengths`.
    """
    if array is None:
        return "missing"
    if array.dtype.kind != ("i" if axes == "C" else "f") or array.ndim != len(axes) or not array.size:
        return f"{array.dtype} {array.shape}, wanted {'integers' if axes == 'C' else 'floats'} [{', '.join(axes)}]"
    if not np.isfinite(array).all():
        return "values that are not finite"
    wanted = tuple(lengths.setdefault(axis, size) for axis, size in zip(axes, array.shape, strict=True))
    return "" if array.shape == wanted else f"{array.shape}, wanted {wanted} as in the other arrays"
