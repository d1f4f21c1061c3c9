import math

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.human_baseline import (
    compute_human_rejection,
    read_human_judgments,
    rejection_at_tpr,
    score_human_baseline,
)
from pipeline.scoring.joined_predictions import ScoringOptions
from tests.scoring.conftest import answered, predictions, scored, write


def test_human_rejection_and_that_of_a_model_at_their_rate():
    # People accept 3 of 4 AQs and reject 1 of 2 UQs.
    assert compute_human_rejection([1, 1, 1, 0, 0, 1], [True] * 4 + [False] * 2) == {
        "true_positive_rate": 0.75,
        "rejection_accuracy": 0.5,
        "aqs": 4,
        "uqs": 2,
    }
    # The model accepts 3 of 4 AQs (0.9, 0.8, 0.6) once it has accepted the UQ at 0.7: it rejects 1 of 2.
    confidence, answerable = [0.9, 0.8, 0.6, 0.1, 0.7, 0.2], [True] * 4 + [False] * 2
    assert rejection_at_tpr(confidence, answerable, 0.75) == 0.5
    assert rejection_at_tpr(confidence, answerable, 0.5) == 1.0
    assert rejection_at_tpr(confidence, answerable, 0.0) == 1.0
    # All tied: to accept half of the AQs half of the UQs go along.
    assert rejection_at_tpr([0.5] * 4, [True, True, False, False], 0.5) == 0.5
    assert math.isnan(compute_human_rejection([1], [True])["rejection_accuracy"]) and math.isnan(
        rejection_at_tpr([1], [True], 0.5)
    )


def test_humans_are_compared_on_the_judged_items(release, tmp_path):
    study = [
        {"question_id": "a1", "accepted": True},
        {"question_id": "a2", "accepted": True},
        {"question_id": "u2", "accepted": False},
    ]
    words = (
        "--resource",
        f"human-judgments={write(tmp_path / 'h.json', study)}",
        "--bootstrap",
        0,
        "--split",
        "all",
    )
    found = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), *words)
    people = found["models"][0]["subsets"]["clip-easy"]["human"]
    # People take all AQs and reject u2. On these items the model does too; on all, to take a3 it takes u2: 2 of 3.
    assert people["rejection_accuracy"] == 1.0 and people["model_rejection_accuracy"] == 1.0
    assert people["model_rejection_accuracy_on_all_items"] == pytest.approx(2 / 3)


def test_each_judgment_of_an_item_counts():
    # a1 is taken by one of two people, u1 rejected by one of three: 1/2 and 1/3, on 2 items of 5 judgements.
    study = {"u1": [True, False, True], "a1": [True, False], "elsewhere": [True]}
    found = score_human_baseline(answered(), ScoringOptions(human_judgments=study))
    assert (found["aqs"], found["uqs"], found["items"]) == (2, 3, 2)
    assert found["true_positive_rate"] == 0.5 and found["rejection_accuracy"] == pytest.approx(1 / 3)


def test_without_judgments_there_is_nothing_to_compare():
    assert (
        "--resource human-judgments=FILE" in score_human_baseline(answered(), ScoringOptions())["unavailable"]
    )
    study = {"elsewhere": [True]}
    assert (
        "no item of this subset"
        in score_human_baseline(answered(), ScoringOptions(human_judgments=study))["unavailable"]
    )


def test_judgments_are_collected_by_item_and_every_faulty_one_is_listed(tmp_path):
    rows = [{"question_id": 7, "accepted": True}, {"question_id": "7", "accepted": False}]
    assert read_human_judgments(write(tmp_path / "h.json", rows)) == {"7": [True, False]}
    with pytest.raises(UserError) as caught:
        read_human_judgments(
            write(tmp_path / "h.json", [*rows, 3, {"accepted": True}, {"question_id": "8", "accepted": 1}])
        )
    wanted = "expected an object with item_id (or question_id) and accepted (true or false)"
    assert caught.value.problems == [f"human study, judgment {number}: {wanted}" for number in (3, 4, 5)]
