"""Class-conditional Gaussians with a shared covariance on a net's features (Lee et al., NeurIPS 2018, eqs.
1-2).

RGQA calls the detector "Maha" (section 5.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Minimum variance of a direction relative to the largest variance. Smaller variances are rounding errors of
# float32.
MIN_RELATIVE_VARIANCE = 1e-12


class ClassGaussians(NamedTuple):
    """Gaussians of C answers on d features. r is the rank of the covariance.

    Attributes:
        classes: Integers [C]: for each Gaussian, the index of its answer in `ModelOutputs.answers`. Answers
            without examples have no Gaussian.
        centre: Mean of all features, float32 [d].
        whitening: float32 [d, r]; (features - centre) @ whitening has the identity as covariance around the
            mean of each class.
        means: Means of the classes in the whitened coordinates, float32 [C, r].
    """

    classes: np.ndarray
    centre: np.ndarray
    whitening: np.ndarray
    means: np.ndarray


def fit_gaussians(features: np.ndarray, class_indices: np.ndarray, num_classes: int) -> ClassGaussians:
    """Fit Gaussians on answerable questions of train.

    Answers without examples have no Gaussian. In contrast, the published code (RGQA, `gqa_maha`) uses 5,000
    images, sets the means of answers without examples to 0, and still compares features with these means, so
    that features near 0 count as answerable.

    Args:
        features: Features [n, d].
        class_indices: Index of the correct answer, [n], in 0 to num_classes - 1.
        num_classes: Number of answers.

    Raises:
        ValueError: There is no example, or an index is out of range.
    """
    features, class_indices = np.asarray(features, np.float64), np.asarray(class_indices)
    if (
        not len(features)
        or len(features) != len(class_indices)
        or class_indices.min() < 0
        or class_indices.max() >= num_classes
    ):
        raise ValueError(
            f"{len(features)} features and {len(class_indices)} class indices; wanted as many of each, 0 to {num_classes - 1}"
        )
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
    """Return -1/2 of the squared Mahalanobis distance of features [n, d] to the mean of each class, [n, C].

    Higher is closer; 0 means that the features equal the mean.
    """
    means = gaussians.means.astype(np.float64)
    points = (np.asarray(features, np.float64) - gaussians.centre) @ gaussians.whitening
    squares = (points**2).sum(1)[:, None] - 2 * points @ means.T + (means**2).sum(1)
    return -np.maximum(squares, 0) / 2
