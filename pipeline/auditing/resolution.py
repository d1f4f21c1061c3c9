"""The smallest difference between two models that a subset can show."""

from __future__ import annotations

import numpy as np

# Two-sided 5 % test with 80 % power: 1.96 + 0.84 standard errors.
POWER = 2.80


def smallest_auaf_difference(
    answerable: np.ndarray, pictures: np.ndarray, repetitions: int, rng: np.random.Generator
) -> float:
    """The AUAF difference of two models that this subset shows with 80 % power in a two-sided 5 % test.

    Both models are stand-ins of equal, middling skill (60 % of answers right, confidences one standard deviation
    apart between AQ and UQ, errors independent of each other), so the figure is on the cautious side: real models
    err on the same items, which makes paired differences sharper. Pictures are resampled, as the items of one
    picture are not independent.

    Args:
        answerable: [n] booleans. pictures: [n] ids. repetitions: bootstrap samples.
    """
    from pipeline.scorers import auaf

    members = [np.flatnonzero(pictures == name) for name in np.unique(pictures)]
    models = [
        (rng.normal(answerable.astype(float), 1.0), rng.random(len(answerable)) < 0.6) for _ in range(2)
    ]
    differences = []
    for _ in range(repetitions):
        rows = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        scores = [auaf(confidence[rows], right[rows], answerable[rows]) for confidence, right in models]
        differences.append(scores[0] - scores[1])
    return round(float(POWER * np.nanstd(differences)), 4)
