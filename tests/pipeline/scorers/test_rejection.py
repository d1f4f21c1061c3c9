"""Pairs, abstentions, answerability, human study, efficiency."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score

from pipeline.scorers import (
    answerability_ap,
    answerability_f1,
    dual_accuracy,
    efficiency,
    human_rejection,
    is_abstention,
    rejection_at_tpr,
)
from pipeline.scorers.efficiency import read_run_log
from pipeline.scorers.validation import Refused

AQ_UQ = np.array([True, False])


@pytest.mark.parametrize(
    ("aq", "right", "uq", "own", "at_half"),
    [
        (0.9, 1, 0.1, 1, 1),
        (0.9, 0, 0.1, 0, 0),
        (0.9, 1, 0.8, 1, 0),
        (0.3, 1, 0.1, 1, 0),
        (0.4, 1, 0.4, 0, 0),
        (0.5, 1, 0.4, 1, 1),
        (0.9, 1, 0.5, 1, 0),
    ],
)
def test_a_pair_counts_when_the_aq_is_answered_right_and_the_uq_rejected(aq, right, uq, own, at_half):
    assert dual_accuracy([aq, uq], [right, 0], AQ_UQ, ["p", "p"]) == own
    assert dual_accuracy([aq, uq], [right, 0], AQ_UQ, ["p", "p"], threshold=0.5) == at_half


def test_uqs_that_share_an_aq_are_a_pair_each_and_one_without_is_none():
    found = dual_accuracy(
        [0.5, 0.1, 0.9, 0.0], [1, 0, 0, 0], [True, False, False, False], ["p", "p", "p", "alone"]
    )
    assert found == 0.5
    assert math.isnan(dual_accuracy([0.5], [1], [True], ["p"]))


ABSTAIN = [
    "",
    "UQ",
    "uq.",
    "Unanswerable",
    "unknown",
    "N/A",
    "I don't know.",
    "I do not know what color it is",
    "not sure",
    "I cannot tell from the image.",
    "It's impossible to say.",
    "I can’t see that clearly, so I am unable to answer",
    "I'm not able to determine that.",
    "The question cannot be answered.",
    "This question is unanswerable",
    "There is not enough information.",
    "The question is based on a false premise.",
    "There is no dog in the picture.",
    "There are no cars visible in this image",
    "The image does not show a horse.",
    "The dog is not visible in the image.",
    "There isn't a cat in the photo",
    "I don't see any bag in the picture",
    "There is no such object present.",
    "No such cat is visible here",
]
ANSWER = [
    "no",
    "No.",
    "yes",
    "none",
    "nothing",
    "nobody",
    "0",
    "red",
    "the can is red",
    "a can opener",
    "unknown person",
    "No, there is no dog in the image.",
    "to the left of the picture",
    "There is a dog in the picture",
    "he is not wearing a hat",
    "a question mark",
    "the sign says no parking",
    "invalid parking sign",
    "clear",
    "unclear sky",
    "You can see a man",
    "I can tell it is red",
    "the left one, not the right one",
    "a photo of no one",
]


@pytest.mark.parametrize("text", ABSTAIN)
def test_texts_that_decline(text):
    assert is_abstention(text)


@pytest.mark.parametrize("text", ANSWER)
def test_texts_that_answer(text):
    assert not is_abstention(text)


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=40))
def test_answerability_is_scikit_learns_f1_and_average_precision_of_unanswerable(rows):
    confidence, answerable = (np.array(column) for column in zip(*rows, strict=True))
    expected = f1_score(~answerable, 1 - confidence > 0.5, zero_division=np.nan)
    assert answerability_f1(confidence, answerable) == pytest.approx(expected, nan_ok=True)
    if not answerable.all():
        assert answerability_ap(confidence, answerable) == pytest.approx(
            average_precision_score(~answerable, -confidence)
        )
    else:
        assert math.isnan(answerability_ap(confidence, answerable))


def test_people_reject_and_a_model_at_their_rate():
    # People accept 3 of 4 AQs and reject 1 of 2 UQs.
    assert human_rejection([1, 1, 1, 0, 0, 1], [True] * 4 + [False] * 2) == {
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
    assert math.isnan(human_rejection([1], [True])["rejection_accuracy"]) and math.isnan(
        rejection_at_tpr([1], [True], 0.5)
    )


def test_efficiency_is_worked_out_by_hand(tmp_path):
    found = efficiency([1.0, 2.0, 3.0], [2, 2, 2], [10, 30, 20])
    assert (
        found["latency_p50"] == 2.0 and found["items_per_second"] == 1.0 and found["peak_memory_bytes"] == 30
    )
    # Overlapping requests: from 0 to 4 seconds, 2 items.
    (tmp_path / "log.jsonl").write_text('{"seconds": 3, "start": 0}\n{"seconds": 3, "start": 1}\n')
    log = read_run_log(tmp_path / "log.jsonl")
    assert log["items_per_second"] == 0.5 and math.isnan(log["peak_memory_bytes"]) and log["requests"] == 2


def test_a_broken_run_log_is_refused_line_by_line(tmp_path):
    (tmp_path / "log.jsonl").write_text(
        "\n".join(map(json.dumps, [{"seconds": 1}, {"second": 1}, {"seconds": -1}]))
    )
    with pytest.raises(Refused) as caught:
        read_run_log(tmp_path / "log.jsonl")
    assert [problem.split(":")[0] for problem in caught.value.problems[1:]] == ["line 2", "line 3"]
