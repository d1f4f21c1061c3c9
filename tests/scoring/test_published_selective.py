import random

import numpy as np
import pytest

from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.published_selective import published_selective_scores
from pipeline.scoring.selective_prediction import score_selective_prediction
from tests.scoring import published
from tests.scoring.conftest import vqa_answered

CASES = 5_000


def selective_rows(draw):
    levels = draw.choice([[0.1, 0.5, 0.9], list(np.linspace(0, 1, 7)), list(np.linspace(0, 1, 1000))])
    worths = draw.choice([[0.0, 1.0], [0.0, 0.3, 0.6, 0.9, 1.0], [0.0, 1 / 3, 2 / 3, 1.0]])
    return [(draw.choice(levels), draw.choice(worths)) for _ in range(draw.randint(2, 30))]


def test_published_selective_scores_are_those_of_reliable_vqas_script():
    draw, risks, costs = random.Random(3), (0.01, 0.05, 0.1, 0.2, 0.5), (1, 10, 100)
    for _ in range(CASES):
        test, dev = selective_rows(draw), selective_rows(draw)
        expected = published.reliable_vqa(test, dev, risks, costs)
        ours = published_selective_scores(
            *zip(*test, strict=True), *zip(*dev, strict=True), risks=risks, costs=costs
        )
        assert ours == pytest.approx(expected, abs=1e-12)


def test_parity_mode_gives_the_scripts_numbers():
    # Two of two people agree on the first, none on the others: accuracies 1/3 and 0.
    joined = vqa_answered(
        [["red", "red"], ["cat", "cat"], ["cat", "cat"]], ["red", "dog", "dog"], [0.9, 0.5, 0.5]
    )
    scores = score_selective_prediction(joined, ScoringOptions(mode="published"))
    expected = published.reliable_vqa([(0.9, 1 / 3), (0.5, 0.0), (0.5, 0.0)], [], (0.01, 0.05, 0.1, 0.2), ())
    assert scores == pytest.approx(expected)


def test_one_item_has_no_area():
    with pytest.raises(ValueError, match="1 item, wanted 2 or more"):
        published_selective_scores([0.5], [1])
