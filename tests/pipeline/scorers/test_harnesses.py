import gzip
import json
from pathlib import Path

import pytest

from pipeline.scorers.harnesses import HARNESSES, find

LOGS = Path(__file__).parent / "logs"


def rows():
    """A row of each harness's log, those of lmms-eval and inspect_ai as they wrote them themselves."""
    first, *_ = (LOGS / "lmms_eval_samples.jsonl").read_text().splitlines()
    samples = json.loads(gzip.decompress((LOGS / "inspect_ai.json.gz").read_bytes()))["samples"]
    message = {"choices": [{"message": {"content": "red"}}]}
    return {
        "lmms-eval": json.loads(first),
        "inspect_ai": samples[0],
        "OpenAI batch": {"custom_id": "a1", "response": {"status_code": 200, "body": message}, "error": None},
        "VLMEvalKit": {"index": "a1", "question": "?", "answer": "green", "prediction": "red"},
    }


@pytest.mark.parametrize("harness", HARNESSES)
def test_each_row_is_one_harnesss_and_says_the_item_and_the_answer(harness):
    row = rows()[harness]
    assert [name for name in HARNESSES if HARNESSES[name].writes(row)] == [harness]
    sample = HARNESSES[harness].sample(row)
    assert (sample.id[1], sample.answer[1], sample.failure) == ("a1", "red", "")


@pytest.mark.parametrize(
    "row",
    [
        {"questionId": "a", "prediction": "red", "confidence": 0.5},
        {"id": "a", "answer": "red", "question": "?"},
        {"index": 0, "question_id": "a", "prediction": "red"},
        {"id": "a", "output": "red"},
    ],
)
def test_rows_of_no_harness_are_left_alone(row):
    assert not any(harness.writes(row) for harness in HARNESSES.values())


def test_the_probability_of_a_batchs_words_is_no_confidence():
    # A refusal of which the model is sure would be the surest answer of all.
    row = rows()["OpenAI batch"]
    row["response"]["body"]["choices"][0]["logprobs"] = {"content": [{"token": "red", "logprob": -0.01}]}
    assert HARNESSES["OpenAI batch"].sample(row).beside == {}


@pytest.mark.parametrize(
    ("given", "read"), [("0.25", 0.25), (0.0, 0.0), (0, 0.0), ("", ""), ("high", "high")]
)
def test_a_vlmevalkit_tables_confidences_are_numbers_even_where_it_holds_text(given, read):
    sample = HARNESSES["VLMEvalKit"].sample(rows()["VLMEvalKit"] | {"confidence": given})
    assert sample.beside[""]["confidence"] == read


def test_names_are_looked_for_in_their_order_before_places():
    places = {"": {"id": "1"}, "metric": {"item_id": "a", "id": ""}}
    assert find(places, ("item_id", "id")) == ("metric.item_id", "a")
    assert find(places, ("id",)) == ("id", "1")
    assert find(places, ("confidence",)) == ("", None)
