"""Estimate for each item the probability that its label is wrong, without knowing any true label.

The model has two steps.

1. A logistic regression predicts the given label from the evidence (`predict_labels`): the confidences of models, and
   what a text-only classifier says. It is cross-fitted, so no prediction has seen the label of its item
   or of an item with the same text. One regression of all models discounts models that repeat each other: a copy of a model adds
   nothing. This is the cross-fitting of confident learning (Northcutt, Jiang and Chuang, 2021, Confident learning,
   Journal of Artificial Intelligence Research 70, 1373-1411).
2. The true label is latent (`fit_label_noise`). Its log odds are a linear function of those of step 1, and the given label differs from it with a rate for each
   label. The parameters are fitted by expectation maximization. This is the latent class model of Dawid and
   Skene (1979, Applied Statistics 28, 20-28) with the given label as one noisy rater and the regression as the other, or the robust logistic regression
   of Bootkrajang and Kaban (2012, Label-noise robust logistic regression, ECML PKDD).
   The evidence lapses at a constant rate: on these items it is misleading however strong it is, because the models share a mistake. Without
   this rate, every label that all models contradict would seem to be wrong (lapse rate of psychometric functions: Wichmann and Hill, 2001,
   Perception & Psychophysics 63, 1293-1313).

The rates are only identified by items on which the evidence is strong. If the models are weak, wrong labels and mistakes of the
models look alike. A prior therefore keeps the rates near those of published sets unless the evidence says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from pipeline.benchmark.auditing.attack_evaluation import Folds

# Beta prior of each rate of wrong labels, as pseudo-counts of wrong and right labels. Its mean is 3.3 %, the mean rate of label errors in ten
# test sets (Northcutt, Athalye and Mueller, 2021, Pervasive label errors in test sets, NeurIPS Datasets and Benchmarks).
NOISE_PRIOR = (1.0, 29.0)
# More labels than this are not wrong, or else the labels would say nothing.
MAX_NOISE = 0.4
# The regression of step 1: inverse strength of its ridge penalty.
INVERSE_PENALTY = 1.0
NUM_FOLDS = 5
# Pseudo-counts of the prior of the rates of a subset, whose mean is the rate of all subsets.
SUBSET_STRENGTH = 300.0
# Proportion of items whose evidence is misleading, however strong it is. It cannot be distinguished from the rates of wrong labels, so it is a constant.
# Of 0.25, 0.5, 0.75, 1 and 1.5 %, this one had the smallest largest gap on the validation split of the sample, with five models of seed 0 and 2, 5 and
# 10 % planted errors (`research/studies`, `rgqa study doubt`).
LAPSE_RATE = 0.0075
MAX_STEPS, MIN_STEP = 100, 1e-4
# Predicted probabilities are kept this far from 0 and 1.
MARGIN = 1e-4


class NoiseModelFit(NamedTuple):
    """The fitted model of a set whose labels can be wrong.

    Attributes:
        wrong: [n] probability that the label of each item is wrong.
        positive: [n] probability that the true label is 1, by the evidence without the given label.
        flips: Subset -> probability that a true label 0 is given as 1, and that a true label 1 is given as 0.
        lines: Subset -> intercept and slope of the log odds of the true label.
    """

    wrong: np.ndarray
    positive: np.ndarray
    flips: dict[str, np.ndarray]
    lines: dict[str, np.ndarray]


def to_normal_scores(values: np.ndarray) -> np.ndarray:
    """Replace values [n] by the normal quantiles of their ranks, so that confidences of any scale can be compared.

    NaN stays 0, the median.

    >>> to_normal_scores(np.array([3.0, 100.0, 7.0])).round(2).tolist()
    [-0.97, 0.97, 0.0]
    """
    known = ~np.isnan(values)
    scores = np.zeros(len(values))
    if known.any():
        scores[known] = ndtri((rankdata(values[known]) - 0.5) / known.sum())
    return scores


def predict_labels(features: np.ndarray, labels: np.ndarray, groups: np.ndarray, seed: int) -> np.ndarray:
    """Predict each label from its evidence by cross-fitted logistic regression.

    Args:
        features: [n, d] evidence.
        labels: [n] given labels, 0 or 1.
        groups: [n] names. Items of one group are in the same fold.
        seed: Seed of the folds.

    Returns:
        [n] log odds of label 1. They are those of the proportion of label 1 if there are too few groups.
    """
    base = float(np.clip(labels.mean(), MARGIN, 1 - MARGIN))
    folds = Folds(labels, groups, NUM_FOLDS, seed)
    regression = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)
    scores = np.nan_to_num(folds.cross_val_scores(features, regression), nan=0.0)
    return logit(np.clip(scores + base, MARGIN, 1 - MARGIN))


def fit_label_noise(
    log_odds: np.ndarray, labels: np.ndarray, subsets: np.ndarray, start: NoiseModelFit | None = None
) -> NoiseModelFit:
    """Fit the rates of wrong labels, and compute for each item the probability that its label is wrong.

    The rates are first fitted for all subsets together, with a line for each subset. Then each subset gets rates of its own, with the
    common rates as their prior.

    Args:
        log_odds: [n] log odds of label 1, from `predict_labels`.
        labels: [n] given labels, 0 or 1.
        subsets: [n] names of subsets.
        start: An earlier fit of similar data, to start from.
    """
    masks = {str(name): subsets == name for name in sorted(set(subsets.tolist()))}
    pooled = _run_em(log_odds, labels, masks, NOISE_PRIOR, start, is_pooled=True)
    if len(masks) == 1:
        return pooled
    common = next(iter(pooled.flips.values()))
    prior = (SUBSET_STRENGTH * common, SUBSET_STRENGTH * (1 - common))
    return _run_em(log_odds, labels, masks, prior, pooled, is_pooled=False)


def _run_em(
    log_odds: np.ndarray,
    labels: np.ndarray,
    masks: Mapping[str, np.ndarray],
    prior: tuple[Any, Any],
    start: NoiseModelFit | None,
    *,
    is_pooled: bool,
) -> NoiseModelFit:
    """Fit the model by expectation maximization, with the same flips for all subsets or with flips for each."""
    flips = {name: start.flips[name] if start else np.array([0.03, 0.03]) for name in masks}
    lines = {name: start.lines[name] if start else np.array([0.0, 1.0]) for name in masks}
    truth, positive = np.empty(len(labels)), np.empty(len(labels))
    for _ in range(MAX_STEPS):
        for name, mask in masks.items():
            given, p = labels[mask] == 1, _apply_line(lines[name], log_odds[mask])
            one = p * np.where(given, 1 - flips[name][1], flips[name][1])
            zero = (1 - p) * np.where(given, flips[name][0], 1 - flips[name][0])
            positive[mask], truth[mask] = p, one / (one + zero)
        counts = {
            name: np.array(
                [
                    [((1 - t) * y).sum(), (1 - t).sum()],
                    [(t * (1 - y)).sum(), t.sum()],
                ]
            )
            for name, mask in masks.items()
            for t, y in [(truth[mask], labels[mask])]
        }
        total = np.sum([*counts.values()], axis=0)
        new = {}
        for name in masks:
            wrong, every = (total if is_pooled else counts[name]).T
            new[name] = np.minimum((wrong + prior[0]) / (every + prior[0] + prior[1]), MAX_NOISE)
        lines = {name: _fit_line(log_odds[mask], truth[mask], lines[name]) for name, mask in masks.items()}
        moved = max(float(np.abs(new[name] - flips[name]).max()) for name in masks)
        flips = new
        if moved < MIN_STEP:
            break
    return NoiseModelFit(np.where(labels == 1, 1 - truth, truth), positive, flips, lines)


def _apply_line(line: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """Return the probability that the true label is 1, [n], by a line of the log odds and the lapse rate."""
    return LAPSE_RATE + (1 - 2 * LAPSE_RATE) * expit(line[0] + line[1] * log_odds)


def _fit_line(log_odds: np.ndarray, truth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return intercept and slope (at least 0) that fit soft labels best."""

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        curve = expit(line[0] + line[1] * log_odds)
        p = LAPSE_RATE + (1 - 2 * LAPSE_RATE) * curve
        slope = (p - truth) / (p * (1 - p)) * (1 - 2 * LAPSE_RATE) * curve * (1 - curve)
        total = float(-(truth * np.log(p) + (1 - truth) * np.log1p(-p)).sum())
        return total, np.array([slope.sum(), (slope * log_odds).sum()])

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-20, 20), (0, 20)])
    return found.x
