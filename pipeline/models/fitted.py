"""What was fitted on train or val, as named tensors that lie in a net's weights file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from pipeline.core.errors import Problems

T = TypeVar("T")


def packed(prefix: str, state: Any) -> dict[str, np.ndarray]:
    """The arrays of a NamedTuple as `prefix.field`; floats as float32 (float16 has too few digits for any of them)."""
    arrays = {name: np.asarray(value) for name, value in state._asdict().items()}
    return {
        f"{prefix}.{name}": np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else None)
        for name, array in arrays.items()
    }


def unpacked(kind: type[T], prefix: str, tensors: Mapping[str, np.ndarray]) -> T | None:
    """What `packed` made of a NamedTuple of this kind; None where nothing of that prefix is there.

    Raises:
        UserError: some of it is missing.
    """
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]  # of any NamedTuple
    wanted = [f"{prefix}.{name}" for name in fields]
    if not tensors.keys() & set(wanted):
        return None
    problems = Problems(f"weights of {prefix}")
    for name in wanted:
        if name not in tensors:
            problems.add(name, "missing; train the net again")
    problems.raise_if_any()
    return kind(*(tensors[name] for name in wanted))
