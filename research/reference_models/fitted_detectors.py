"""What was fitted after a net's training: named tensors, float32, in a safetensors file beside the net's own."""

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
    """For one net: Gaussians on train, scaling and Selector on val."""

    gaussians: ClassGaussians
    scaling: VectorScaling
    selector: Selector


FITTED_TYPES = {"gaussians": ClassGaussians, "scaling": VectorScaling, "selector": Selector}
# Of each field of these a letter for each axis, the same for the same length: d features, K answers, C of them with
# examples, r directions of their covariance; the Selector's hidden layers take h and j = 2h.
ARRAY_AXES = {"gaussians": "C d dr Cr", "scaling": "K K", "selector": "d d hd h hK h hj h h 1 1"}


def flatten_arrays(prefix: str, state: Any) -> dict[str, np.ndarray]:
    """The arrays of a NamedTuple as `prefix.field`; floats as float32 (float16 has too few digits for any of them)."""
    arrays = {name: np.asarray(value) for name, value in state._asdict().items()}
    return {
        f"{prefix}.{name}": np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else None)
        for name, array in arrays.items()
    }


def write_fitted(path: Path, fitted: FittedDetectors) -> None:
    """Write what was fitted. The same content gives the same bytes."""
    from safetensors.numpy import save

    gaussians, scaling, selector = (
        flatten_arrays(prefix, state) for prefix, state in fitted._asdict().items()
    )
    with atomic_write(path) as file:
        file.write(save(gaussians | scaling | selector))


def read_fitted(path: Path) -> FittedDetectors:
    """Read what `write_fitted` wrote.

    Raises:
        UserError: no such file, or not one of these; says all that is wrong.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_for_reading(path) as file:
            tensors = load(file.read())
    except SafetensorError as error:
        raise UserError(f"{path}: not what was fitted for a net ({error}); fit again") from error
    problems = Problems(f"{path}: not what was fitted for a net; fit again")
    lengths = {"1": 1}
    for prefix, kind in FITTED_TYPES.items():
        for name, axes in zip(kind._fields, ARRAY_AXES[prefix].split(), strict=True):
            if problem := _check_array(tensors.get(f"{prefix}.{name}"), axes, lengths):
                problems.add(f"{prefix}.{name}", problem)
    problems.raise_if_any()
    if lengths["j"] != 2 * lengths["h"]:
        problems.add("selector.joint_weight", f"takes {lengths['j']}, wanted {2 * lengths['h']}")
    if not (np.isin(tensors["gaussians.classes"], np.arange(lengths["K"]))).all():
        problems.add("gaussians.classes", f"not all places of {lengths['K']} answers")
    problems.raise_if_any()
    states = (
        kind(*(tensors[f"{prefix}.{name}"] for name in kind._fields)) for prefix, kind in FITTED_TYPES.items()
    )
    return FittedDetectors(*states)  # pyright: ignore[reportArgumentType]


def _check_array(array: np.ndarray | None, axes: str, lengths: dict[str, int]) -> str:
    """What is wrong with an array whose axes have these letters; notes the lengths of letters not met before."""
    if array is None:
        return "missing"
    if array.dtype.kind != ("i" if axes == "C" else "f") or array.ndim != len(axes) or not array.size:
        return f"{array.dtype} {array.shape}, wanted {'integers' if axes == 'C' else 'floats'} [{', '.join(axes)}]"
    if not np.isfinite(array).all():
        return "values that are not finite"
    wanted = tuple(lengths.setdefault(axis, size) for axis, size in zip(axes, array.shape, strict=True))
    return "" if array.shape == wanted else f"{array.shape}, wanted {wanted} as others have it"
