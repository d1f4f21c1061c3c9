import numpy as np
import pytest

from pipeline.scoring import is_abstention
from pipeline.scoring.abstention import (
    ABSTAINED,
    ANSWERED,
    UNCLEAR,
    ClassifierErrorRates,
    classify_abstention,
    corrected_auaf,
    score_abstention,
)
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.realistic_vqa import auaf
from tests.scoring.conftest import ROWS, answered, predictions, refused, scored, write

COLOR, THERE, WHO = "What color is the umbrella?", "Is there a dog?", "Who is behind the counter?"
ABSTAIN = [
    (COLOR, ""),
    (COLOR, "-"),
    (COLOR, "—"),
    (COLOR, "´"),
    (COLOR, "UQ"),
    (COLOR, "uq."),
    (COLOR, "unanswerable</s>"),
    (COLOR, "**Unanswerable**"),
    (COLOR, "I don't know."),
    (COLOR, "I cannot tell from the image."),
    (COLOR, "There is no umbrella in this image."),
    (COLOR, "The umbrella is not visible."),
    (COLOR, "Answer: unanswerable"),
    (COLOR, "<think>It could be red.</think>There is no umbrella, so the question cannot be answered."),
]
ANSWER = [
    (COLOR, "red"),
    ("What sign is on the wall?", "+"),
    (COLOR, "I'm not entirely sure, but it looks red."),
    (COLOR, "<think>No umbrella? Wait, there it is.</think>Red"),
    (THERE, "no"),
    (THERE, "No, there is no dog in the image."),
    (WHO, "nobody"),
    (WHO, "No one is standing behind the counter."),
    ("What can't the person see?", "The person cannot see the ball."),
    ("Can people walk to the pool?", "There is no fence around the pool, so people can walk in."),
    ("How many dogs are there?", "0"),
]


@pytest.mark.parametrize(("question", "reply"), ABSTAIN)
def test_replies_that_abstain(question, reply):
    assert is_abstention(reply, question)


@pytest.mark.parametrize(("question", "reply"), ANSWER)
def test_replies_that_answer(question, reply):
    assert not is_abstention(reply, question)


def test_a_reply_is_a_string():
    with pytest.raises(ValueError, match="reply is 3, expected a string"):
        is_abstention(3)


def test_replies_between_the_thresholds_are_unclear(monkeypatch):
    class Drawn:
        vocabulary = frozenset()

        def predict_abstention(self, questions, replies):
            return np.array([float(reply) for reply in replies])

    monkeypatch.setattr("pipeline.scoring.abstention.load_abstention_classifier", Drawn)
    said = classify_abstention([""] * 6, ["0.87", "0.855", "0.845", "0.83", "", "UQ."])
    assert said.tolist() == [ABSTAINED, UNCLEAR, UNCLEAR, ANSWERED, ABSTAINED, ABSTAINED]


def test_a_reply_that_is_a_tag_alone_is_read_like_any_other(monkeypatch):
    class Answering:
        vocabulary = frozenset(["red"])

        def predict_abstention(self, questions, replies):
            return np.zeros(len(replies))

    monkeypatch.setattr("pipeline.scoring.abstention.load_abstention_classifier", Answering)
    assert classify_abstention([""] * 3, ["<red>", "<answer>UQ</answer>", "unanswerable</s>"]).tolist() == [
        ANSWERED,
        ABSTAINED,
        ABSTAINED,
    ]


def test_the_classifiers_error_is_corrected_as_rogan_and_gladen_do():
    error = ClassifierErrorRates(0.8, 0.1)
    # of 30 % that abstain 0.8 x 0.3 + 0.1 x 0.7 = 0.31 are read so
    assert error.correct_proportion(0.31) == pytest.approx(0.3)
    assert (error.correct_proportion(0.05), error.correct_proportion(0.95)) == (0.0, 1.0)
    drawn = np.random.default_rng(0)
    abstains = drawn.random(200_000) < 0.3
    seen = drawn.random(200_000) < np.where(abstains, 0.8, 0.1)
    assert error.correct_proportion(seen.mean()) == pytest.approx(0.3, abs=0.01)


def test_auaf_is_corrected_to_that_of_a_classifier_without_error():
    drawn, count, error = np.random.default_rng(1), 100_000, ClassifierErrorRates(0.9, 0.05)
    answerable = np.arange(2 * count) < count
    correct = (answerable & (drawn.random(2 * count) < 0.7)).astype(float)
    abstains = drawn.random(2 * count) < np.where(answerable, np.where(correct, 0.0, 0.5), 0.6)
    seen = drawn.random(2 * count) < np.where(abstains, error.recall, error.false_positive_rate)
    truth = auaf(np.where(abstains, ABSTAINED, ANSWERED), correct, answerable)
    read_off = auaf(np.where(seen, ABSTAINED, ANSWERED), correct, answerable)
    found = corrected_auaf(np.where(seen, ABSTAINED, ANSWERED), correct, answerable, error)
    assert abs(read_off - truth) > 0.02
    assert found == pytest.approx(truth, abs=0.005)
    assert np.isnan(corrected_auaf(np.ones(2), np.ones(2), np.array([True, True]), error))


def test_the_range_is_that_of_all_ways_to_read_what_is_unclear():
    drawn = np.random.default_rng(2)
    for _ in range(30):
        joined = answered()
        said = drawn.choice([ABSTAINED, UNCLEAR, ANSWERED], 6)
        found = score_abstention(joined._replace(confidence=said), ScoringOptions(detect_abstention=True))
        open_ones = np.flatnonzero(said == UNCLEAR)
        ways = []
        for way in range(2 ** len(open_ones)):
            said[open_ones] = [way >> place & 1 for place in range(len(open_ones))]
            ways.append(auaf(said, joined.correct, joined.answerable))
        assert (found["auaf_lowest"], found["auaf_highest"]) == (min(ways), max(ways))


def test_detect_abstention_counts_abstentions_on_aqs_and_answers_to_uqs(release, tmp_path, capsys):
    said = ["red", "I cannot tell.", "unanswerable", "no", "dog", "There is no cat in the image."]
    rows = [{"question_id": row[0], "answer": text} for row, text in zip(ROWS, said, strict=True)]
    path = write(tmp_path / "m.json", rows)
    assert "or use --detect-abstention" in refused(capsys, release, path)
    found = scored(tmp_path, release, path, "--detect-abstention", "--bootstrap", 0, "--split", "all")
    group = found["models"][0]["subsets"]["clip-easy"]["abstention"]
    assert {name: group[name] for name in ("abstentions", "unclear", "aq_abstentions", "answered_uqs")} == {
        "abstentions": 3,
        "unclear": 0,
        "aq_abstentions": 1,
        "answered_uqs": 1,
    }
    assert (group["aq_abstention_rate"], group["answered_uq_rate"]) == pytest.approx((1 / 3, 1 / 3))
    assert group["auaf_lowest"] == group["auaf_highest"]
    capsys.readouterr()


def test_abstentions_are_detected_only_if_requested():
    joined = answered()
    assert "unavailable" in score_abstention(joined, ScoringOptions())
    found = score_abstention(
        joined._replace(missing=joined.answerable), ScoringOptions(scores=("abstention",))
    )
    assert (found["aq_abstentions"], found["answered_uqs"], found["answered_uq_rate"]) == (0, 3, 1.0)
    assert found["aq_abstention_rate"] != found["aq_abstention_rate"]  # no AQ is left: undefined
    assert len(predictions()) == 6
