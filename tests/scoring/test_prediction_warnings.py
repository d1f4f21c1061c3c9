import numpy as np
import pytest

from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.prediction_warnings import find_prediction_warnings
from tests.scoring.conftest import model


def said(confidences, answers=("dog", "cat", "dog", "cat"), **options):
    """Warnings on two AQs (dog, cat) and two UQs, answered in this order."""
    items = [
        BenchmarkItem(str(i), "n", labels) for i, labels in enumerate(({"dog": 1.0}, {"cat": 1.0}, {}, {}))
    ]
    rows = {str(i): pair for i, pair in enumerate(zip(answers, confidences, strict=True))}
    chosen = ScoringOptions(**options)
    return find_prediction_warnings(join_predictions(Items.from_rows(items), model(rows), chosen), chosen)


def test_good_predictions_have_no_warnings():
    assert said([0.9, 0.8, 0.3, 0.1]) == []


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], "AUROC is 0.0, below chance"),
        ([9.0, 0.8, 0.3, -3.0], "2 confidences lie outside [0, 1]"),
        ([0.5, 0.5, 0.5, 0.5], "all confidences are 0.5"),
        ([1, 1, 0, 0], "all confidences are 0 or 1"),
    ],
)
def test_suspicious_confidences_give_a_warning(confidences, expected):
    (warning,) = said(np.array(confidences, float))
    assert expected in warning


def test_a_looser_match_mode_that_would_accept_more_is_suggested_with_examples():
    (warning,) = said([0.9, 0.8, 0.3, 0.1], ["Dog.", "cat", "dog", "cat"], match="exact")
    assert warning == "--match vqa would accept 1 more answer as correct: 'Dog.' for 'dog'"
    assert said([0.9, 0.8, 0.3, 0.1], ["Dog.", "cat", "dog", "cat"]) == []


def test_answers_that_contain_the_label_among_other_words_are_reported():
    (warning,) = said([0.9, 0.8, 0.3, 0.1], ["It is a dog.", "cat", "dog", "cat"])
    assert (
        "1 answer that counts as wrong contains the label among other words: 'It is a dog.' for 'dog'"
        in warning
    )


def test_detected_abstentions_get_no_confidence_warnings():
    assert said([0.1, 0.2, 0.8, 0.9], detect_abstention=True) == []
