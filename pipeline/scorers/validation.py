"""The first line of every scorer: are these arrays what they should be?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class InputError(Exception):
    """Input that cannot be scored. Says what came and what was wanted.

    Attributes:
        problems: one line each, all that was found, in the order found.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


def arrays(**named: object) -> list[np.ndarray]:
    """One-dimensional arrays of one length; floats must be finite. Returned in the order named.

    Raises:
        ValueError: says for each array what arrived and what was wanted.
    """
    values = {name: np.asarray(value) for name, value in named.items()}
    faults = [
        f"{name} has {value.ndim} dimensions, wanted 1" for name, value in values.items() if value.ndim != 1
    ]
    if not faults and len({len(value) for value in values.values()}) > 1:
        faults.append(
            "lengths differ: " + ", ".join(f"{name} {len(value)}" for name, value in values.items())
        )
    for name, value in values.items():
        if value.dtype.kind not in "biuf":
            if value.size:
                faults.append(f"{name} holds {value.dtype}, wanted numbers or booleans")
            else:
                values[name] = value.astype(float)
        elif value.dtype.kind == "f" and not np.isfinite(value).all():
            faults.append(f"{name} has {np.count_nonzero(~np.isfinite(value))} NaN or infinite values")
    if faults:
        raise ValueError("; ".join(faults))
    return list(values.values())


def fractions(name: str, value: np.ndarray) -> np.ndarray:
    """`value` as floats.

    Raises:
        ValueError: something lies outside [0, 1].
    """
    outside = np.count_nonzero((value < 0) | (value > 1))
    if outside:
        raise ValueError(f"{name} has {outside} values outside [0, 1]")
    return value.astype(float)


def strings(
    predictions: Iterable[str], answers: Iterable[Iterable[str]]
) -> tuple[list[str], list[list[str]]]:
    """Predictions and the answers of people, one list of answers for each prediction.

    Raises:
        ValueError: lengths differ, something is no string, or a list of answers is empty.
    """
    predictions, answers = list(predictions), list(answers)
    if any(isinstance(row, str) for row in answers):
        raise ValueError("answers holds a string, wanted a list of answers for each prediction")
    answers = [list(row) for row in answers]
    faults = []
    if len(predictions) != len(answers):
        faults.append(f"lengths differ: predictions {len(predictions)}, answers {len(answers)}")
    if wrong := sum(not isinstance(text, str) for text in predictions):
        faults.append(f"predictions has {wrong} values that are no strings")
    if wrong := sum(not isinstance(text, str) for row in answers for text in row):
        faults.append(f"answers has {wrong} values that are no strings")
    if wrong := sum(not row for row in answers):
        faults.append(f"answers has {wrong} empty lists")
    if faults:
        raise ValueError("; ".join(faults))
    return predictions, answers
