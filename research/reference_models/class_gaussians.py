"""A Gaussian for each answer on a net's features, all of one covariance: how far is what a net makes of a question from
what it made of the answered ones? (Lee et al., NeurIPS 2018, eqs. 1-2; "Maha" of RGQA, section 5.1.)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Directions that vary less than this share of the widest one are the rounding of float32, whose squares have 14 digits.
MIN_RELATIVE_VARIANCE = 1e-12


class ClassGaussians(NamedTuple):
    """Attributes:
    classes: [C] ints, the answers (places in `Seen.answers`) that have examples.
    centre: [d], the mean of all features, float32 as are the next two.
    whitening: [d, r]: (features - centre) @ whitening has covariance 1 around the mean of its class.
    means: [C, r], the means of the classes in these coordinates.
    """

    classes: np.ndarray
    centre: np.ndarray
    whitening: np.ndarray
    means: np.ndarray


def fit_gaussians(features: np.ndarray, class_indices: np.ndarray, num_classes: int) -> ClassGaussians:
    """Fit on answered questions of train: `features` [n, d], `right` [n] the place of the right answer among `count`.

    An answer without examples is left out: it has no mean. The published code (RGQA, `gqa_maha`) sees 5,000 images,
    leaves the mean of every answer not among them at 0, and lets it compete, so that features near 0 pass for answerable.

    Raises:
        ValueError: there is no example, or a place outside of the answers.
    """
    features, class_indices = np.asarray(features, np.float64), np.asarray(class_indices)
    if (
        not len(features)
        or len(features) != len(class_indices)
        or class_indices.min() < 0
        or class_indices.max() >= num_classes
    ):
        raise ValueError(f"{len(features)} features, {len(class_indices)} places of {num_classes} answers")
    classes, of_class, examples = np.unique(class_indices, return_inverse=True, return_counts=True)
    centre = features.mean(0).astype(np.float32)
    features = features - centre
    means = np.zeros((len(classes), features.shape[1]))
    np.add.at(means, of_class, features)
    means /= examples[:, None]
    within = features - means[of_class]
    variances, directions = np.linalg.eigh(within.T @ within / len(features))
    kept = variances > MIN_RELATIVE_VARIANCE * variances[-1]
    whitening = (directions[:, kept] / np.sqrt(variances[kept])).astype(np.float32)
    return ClassGaussians(classes, centre, whitening, (means @ whitening).astype(np.float32))


def score_mahalanobis(gaussians: ClassGaussians, features: np.ndarray) -> np.ndarray:
    """-1/2 of the squared Mahalanobis distance to each class, [n, C]; 0 at the mean itself, higher is closer."""
    means = gaussians.means.astype(np.float64)
    points = (np.asarray(features, np.float64) - gaussians.centre) @ gaussians.whitening
    squares = (points**2).sum(1)[:, None] - 2 * points @ means.T + (means**2).sum(1)
    return -np.maximum(squares, 0) / 2
