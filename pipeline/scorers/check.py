"""The first line of every scorer: are these arrays what they should be?"""

from __future__ import annotations

import numpy as np


def arrays(**named: object) -> list[np.ndarray]:
    """One-dimensional arrays of one length; floats must be finite. Returned in the order named.

    Raises:
        ValueError: says for each array what arrived and what was wanted.
    """
    values = {name: np.asarray(value) for name, value in named.items()}
    faults = [f"{name} has {value.ndim} dimensions, wanted 1" for name, value in values.items() if value.ndim != 1]
    if not faults and len({len(value) for value in values.values()}) > 1:
        faults.append("lengths differ: " + ", ".join(f"{name} {len(value)}" for name, value in values.items()))
    for name, value in values.items():
        if value.dtype.kind not in "biuf":
            faults.append(f"{name} holds {value.dtype}, wanted numbers or booleans")
        elif value.dtype.kind == "f" and not np.isfinite(value).all():
            faults.append(f"{name} has {np.count_nonzero(~np.isfinite(value))} NaN or infinite values")
    if faults:
        raise ValueError("; ".join(faults))
    return list(values.values())
