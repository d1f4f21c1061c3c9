"""Crowds of eight simulated annotators as a study may really get them: five who try, one careless, one biased, one malicious."""

from __future__ import annotations

from pipeline.core.randomness import generator
from research.simulated_annotators.annotators import SimulatedAnnotator


def crowd(seed: int) -> tuple[SimulatedAnnotator, ...]:
    """Those who try err each in their own measure, drawn by lot: 2 to 12 % of what is unanswerable they miss, 0.5 to 4 % of what
    is answerable they call invalid (as in doubt one says valid)."""
    draw = generator(seed, "crowd")
    trying = [
        SimulatedAnnotator(
            f"simulated-{number}",
            misses=draw.uniform(0.02, 0.12),
            false_alarms=draw.uniform(0.005, 0.04),
            hesitates=draw.uniform(0.1, 0.6),
        )
        for number in range(1, 6)
    ]
    return (
        *trying,
        SimulatedAnnotator("simulated-6-careless", misses=0.45, false_alarms=0.40, hesitates=0.1),
        # Looks, and takes much of what is answerable for invalid: 82.7 % of filters right, half of them valid.
        SimulatedAnnotator("simulated-7-biased", misses=0.0, false_alarms=0.39, hesitates=0.0),
        # Says "invalid" to everything, at once.
        SimulatedAnnotator("simulated-8-malicious", misses=0.0, false_alarms=1.0, hesitates=0.0),
    )
