import pytest

from pipeline.scorers import is_abstention
from pipeline.scorers.abstention import abstention_group
from pipeline.scorers.items import Options
from tests.pipeline.scorers.conftest import ROWS, answered, predictions, refused, scored, write

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


def test_an_answer_is_a_string():
    with pytest.raises(ValueError, match="answer is 3, wanted a string"):
        is_abstention(3)


def test_free_text_reads_abstentions_and_tells_wrong_and_missed_ones_apart(release, tmp_path, capsys):
    said = ["red", "I cannot tell.", "unanswerable", "no", "dog", "There is no cat in the picture."]
    rows = [{"question_id": row[0], "answer": text} for row, text in zip(ROWS, said, strict=True)]
    path = write(tmp_path / "m.json", rows)
    assert "no confidences; give them, or --free-text" in refused(capsys, release, path)
    found = scored(tmp_path, release, path, "--free-text", "--bootstrap", 0, "--part", "all")
    assert found["models"][0]["subsets"]["clip-easy"]["abstention"] == {
        "abstentions": 3,
        "wrong": 1,
        "missed": 1,
        "wrong_share": pytest.approx(1 / 3),
        "missed_share": pytest.approx(1 / 3),
    }


def test_missing_predictions_do_not_abstain():
    joined = answered()
    found = abstention_group(joined._replace(missing=joined.answerable), Options())
    assert (found["wrong"], found["missed"], found["missed_share"]) == (0, 3, 1.0)
    assert found["wrong_share"] != found["wrong_share"]  # no AQ is left: undefined
    assert len(predictions()) == 6
