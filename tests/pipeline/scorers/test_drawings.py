import numpy as np
import pytest

from pipeline.scorers.drawings import Drawings
from pipeline.scorers.realistic import SCORES, realistic_scores
from pipeline.scorers.sweep import BLOCK, ranking


@pytest.mark.parametrize("count", [2, 3, 30, 5 * BLOCK // 2])
@pytest.mark.parametrize("levels", [2, 25, None])
@pytest.mark.parametrize("fractions", [False, True])
def test_a_drawing_is_scored_as_the_drawn_items_are(count, levels, fractions):
    for seed in range(2 if count > BLOCK else 40):
        rng = np.random.default_rng(seed)
        confidence = rng.random(count) if levels is None else rng.integers(0, levels, count) / levels
        answerable, correct = rng.random(count) < 0.6, rng.random(count) < 0.5
        if fractions:
            correct = correct * 0.3
        pictures = max(count // 4, 1)
        cluster = rng.integers(0, pictures, count)
        drawings = Drawings(ranking(confidence, correct, answerable), cluster)
        for _ in range(3):
            drawn = np.bincount(rng.integers(0, pictures, pictures), minlength=pictures)
            again = np.repeat(np.arange(count), drawn[cluster])
            expected = realistic_scores(confidence[again], correct[again], answerable[again])
            found = drawings(drawn)
            assert set(found) == set(SCORES)
            assert found == pytest.approx(expected, nan_ok=True, rel=1e-12)


def test_sums_beyond_32_bits_are_whole():
    # Both items 2^31 times: in 32 bits either sum would be negative.
    drawings = Drawings(ranking(np.array([0.9, 0.5]), np.ones(2), np.array([True, False])), np.array([0, 0]))
    found = drawings(np.array([2**31]))
    assert (found["auroc"], found["facc"], found["detection_error"]) == (1.0, 1.0, 0.0)
