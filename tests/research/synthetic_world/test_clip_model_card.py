"""The results on the CLIP's model card, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.clip_model_card import compute_metrics, score_own_image

SCORES = np.array([[0.9, 0.1, 0.5], [0.2, 0.2, 0.8], [0.3, 0.7, 0.6]])
OWN = np.array([0, 1, 2])
# Each question has an answer only at its own image.
NOWHERE_ELSE = np.eye(3, dtype=bool)


def test_wins_count_one_and_ties_a_half() -> None:
    np.testing.assert_array_equal(score_own_image(SCORES, OWN), [[0.5, 1, 1], [0.5, 0.5, 0], [1, 0, 0.5]])


def test_the_probability_is_over_other_images_alone() -> None:
    # question 0 beats both: 2. question 1 ties with 0 and loses to 2: 0.5. question 2 beats 0, loses to 1: 1.
    assert compute_metrics(SCORES, OWN, NOWHERE_ELSE)["probability"] == pytest.approx(3.5 / 6)


def test_where_the_question_holds_elsewhere_even_the_truth_can_only_guess() -> None:
    # one of the six other pairs holds: (5 x 1 + 1 x 0.5) / 6
    holds = NOWHERE_ELSE | np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], bool)
    found = compute_metrics(SCORES, OWN, holds)
    assert found["ceiling"] == pytest.approx(5.5 / 6)
    # without that pair, which was won: 2.5 of 5
    assert found["probability_unanswerable"] == pytest.approx(2.5 / 5)


def test_recall_counts_a_tie_against_the_model() -> None:
    # Ranks of the own image: 1; 3 (0.8 and the equal 0.2 come before); 2
    found = compute_metrics(SCORES, OWN, NOWHERE_ELSE)
    assert found["recall_1"] == pytest.approx(1 / 3) and found["recall_5"] == 1
