import pytest

from pipeline.releasing.rgqa_format import Prediction
from pipeline.releasing.sanity import sanity_predictions, score_predictions


def test_the_constant_prediction_gets_half_the_share_of_yes(items):
    # One of four AQs is answered by "yes": FACC = 1/4. All confidences tie, so the curve is the straight line from
    # (0, 0) to (1, 1/4): AUAF = 1/8, and 95 % of FACC is reached at FPR 0.95.
    found = score_predictions(items, sanity_predictions(items, folds=2, seed=0)["constant"])
    assert (found.auaf, found.facc, found.auroc, found.aqs, found.uqs) == (0.125, 0.25, 0.5, 4, 4)
    assert found.ff95 == pytest.approx(0.95)


def test_the_clip_score_is_the_confidence_of_its_prediction(items):
    rows = sanity_predictions(items, folds=2, seed=0)["clip_score"]
    assert score_predictions(items, rows).auroc == 1.0  # every AQ has 0.5, every UQ 0.25
    assert [row.confidence for row in rows] == [0.5, 0.25] * 4


def test_predictions_are_joined_by_id_not_by_order(items):
    rows = [
        Prediction(questionId=i.item_id, prediction=i.answer or "x", confidence=float(not i.unanswerable))
        for i in items
    ]
    assert score_predictions(items, rows[::-1]) == score_predictions(items, rows)
    assert score_predictions(items, rows).auaf == 1.0


def test_answers_of_the_same_picture_do_not_reach_the_blind_prediction(items):
    # "Is it ..." is asked of two pictures; each gets the other's answer.
    rows = {row.questionId: row.prediction for row in sanity_predictions(items, folds=2, seed=0)["blind"]}
    assert (rows["00"], rows["03"]) == ("no", "yes")
