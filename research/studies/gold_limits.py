"""Measure how often annotators are excluded for their gold questions, and after how many answers: `rgqa study gold-limits`."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from annotation.study.assignment import MIN_GOLD_ANSWERS, MIN_SENSITIVITY_SPECIFICITY, wilson_interval
from annotation.study.sequential_test import (
    MAX_RATE_ERROR,
    compute_log_evidence,
    find_change,
)
from pipeline.core.randomness import make_generator

# Sensitivity and specificity of the simulated annotators.
REPORTED_ACCURACIES = (
    (0.7, 0.8), (0.95, 0.8), (0.7, 0.95), (0.8, 0.9), (0.95, 0.7), (0.95, 0.6), (0.5, 0.95), (0.5, 0.5), (0.0, 1.0), (1.0, 0.0),
)  # fmt: skip
# Default of `collect.drift_window`.
WINDOW = 40


class Exclusions(NamedTuple):
    """What happens to annotators of the same accuracy.

    Attributes:
        proportion: Proportion of them who are ever excluded.
        median_answers: Median number of gold questions, of both kinds together, until then. Infinite if fewer than half
            of them are excluded.
    """

    proportion: float
    median_answers: float


def find_exclusions(
    accuracies: tuple[float, float],
    num_people: int,
    num_answers: int,
    seed: int = 0,
    repeats_interval: bool = False,
) -> Exclusions:
    """Simulate annotators who answer valid and invalid gold questions in turn, with a look after every answer.

    Args:
        accuracies: Sensitivity and specificity of the annotators, in [0, 1].
        num_people: Number of annotators.
        num_answers: Number of gold questions that each answers, half of them of each kind.
        seed: Seed of the answers.
        repeats_interval: Exclude by a 95 % Wilson interval that is computed again after each answer, as versions
            before this test did.
    """
    rng = make_generator(seed, "gold limits", str(accuracies))
    ends = np.full(num_people, inf)
    answered = np.arange(1, num_answers // 2 + 1)
    for accuracy, limit in zip(accuracies, MIN_SENSITIVITY_SPECIFICITY, strict=True):
        is_correct = rng.random((num_people, len(answered))) < accuracy
        correct = is_correct.cumsum(axis=1)
        if repeats_interval:
            # The upper end rises with the number of correct answers.
            most = np.array(
                [
                    sum(wilson_interval(count, total)[1] < limit for count in range(total + 1))
                    for total in answered.tolist()
                ]
            )
            is_low = correct < most
        else:
            is_low = compute_log_evidence(
                correct, np.broadcast_to(answered, correct.shape), limit
            ) >= -np.log(MAX_RATE_ERROR)
            changes = (find_change(row, limit, WINDOW) for row in is_correct)
            ends = np.minimum(
                ends, [2 * (change.start + change.num_answered) if change else inf for change in changes]
            )
        is_low[:, : MIN_GOLD_ANSWERS - 1] = False
        ends = np.minimum(ends, np.where(is_low.any(axis=1), 2 * (is_low.argmax(axis=1) + 1), inf))
    return Exclusions(float(np.isfinite(ends).mean()), float(np.quantile(ends, 0.5, method="higher")))


def run_gold_limits_study(num_people: int, num_answers: int) -> str:
    """Return a Markdown table of the proportion that is excluded, and the median number of gold questions until then.

    Args:
        num_people: Number of simulated annotators of each accuracy.
        num_answers: Number of gold questions that each answers.
    """
    lines = [
        "| sensitivity | specificity | excluded by repeated 95 % intervals | after gold questions | excluded by this test | after gold questions |",
        "|---|---|---|---|---|---|",
    ]
    for sensitivity, specificity in REPORTED_ACCURACIES:
        row = [f"{sensitivity:.2f}", f"{specificity:.2f}"]
        for repeats_interval in (True, False):
            found = find_exclusions(
                (sensitivity, specificity), num_people, num_answers, repeats_interval=repeats_interval
            )
            row += [
                f"{found.proportion:.1%}",
                "" if found.median_answers == inf else f"{found.median_answers:.0f}",
            ]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)
