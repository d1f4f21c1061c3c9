"""Crowds of eight simulated annotators as a study may really get them: five who try, one careless, one biased, one malicious."""

from __future__ import annotations

from pipeline.core.randomness import make_generator
from research.simulated_annotators.annotators import SimulatedAnnotator


def make_crowd(seed: int) -> tuple[SimulatedAnnotator, ...]:
    """Those who try err each in their own measure, drawn by lot: 2 to 12 % of what is unanswerable they miss, 0.5 to 4 % of what
    is answerable they call invalid (as in doubt one says valid)."""
    draw = make_generator(seed, "crowd")
    trying = [
        SimulatedAnnotator(
            f"simulated-{number}",
            miss_rate=draw.uniform(0.02, 0.12),
            false_alarm_rate=draw.uniform(0.005, 0.04),
            unsure_rate=draw.uniform(0.1, 0.6),
        )
        for number in range(1, 6)
    ]
    return (
        *trying,
        SimulatedAnnotator("simulated-6-careless", miss_rate=0.45, false_alarm_rate=0.40, unsure_rate=0.1),
        # Looks, and takes much of what is answerable for invalid: 82.7 % of filters right, half of them valid.
        SimulatedAnnotator("simulated-7-biased", miss_rate=0.0, false_alarm_rate=0.39, unsure_rate=0.0),
        # Says "invalid" to everything, at once.
        SimulatedAnnotator("simulated-8-malicious", miss_rate=0.0, false_alarm_rate=1.0, unsure_rate=0.0),
    )
