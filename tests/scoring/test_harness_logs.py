import gzip
import json
from pathlib import Path

import pytest

from pipeline.scoring.harness_logs import HARNESSES, find_field

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
    assert [name for name in HARNESSES if HARNESSES[name].is_log_row(row)] == [harness]
    sample = HARNESSES[harness].parse_row(row)
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
    assert not any(harness.is_log_row(row) for harness in HARNESSES.values())


def test_the_probability_of_a_batchs_words_is_no_confidence():
    # A refusal of which the model is sure would be the surest answer of all.
    row = rows()["OpenAI batch"]
    row["response"]["body"]["choices"][0]["logprobs"] = {"content": [{"token": "red", "logprob": -0.01}]}
    assert HARNESSES["OpenAI batch"].parse_row(row).confidence_sources == {}


@pytest.mark.parametrize(
    ("given", "read"), [("0.25", 0.25), (0.0, 0.0), (0, 0.0), ("", ""), ("high", "high")]
)
def test_a_vlmevalkit_tables_confidences_are_numbers_even_where_it_holds_text(given, read):
    sample = HARNESSES["VLMEvalKit"].parse_row(rows()["VLMEvalKit"] | {"confidence": given})
    assert sample.confidence_sources[""]["confidence"] == read


def test_names_are_looked_for_in_their_order_before_places():
    places = {"": {"id": "1"}, "metric": {"item_id": "a", "id": ""}}
    assert find_field(places, ("item_id", "id")) == ("metric.item_id", "a")
    assert find_field(places, ("id",)) == ("id", "1")
    assert find_field(places, ("confidence",)) == ("", None)


def with_answer(harness, text):
    row = rows()[harness]
    return row | {"prediction" if harness == "VLMEvalKit" else "filtered_resps": text}


@pytest.mark.parametrize(
    ("harness", "text", "failure"),
    [
        # vlmeval/api/base.py: its own words, and what it makes of them
        ("VLMEvalKit", "Failed to obtain answer via API.", "Failed to obtain answer"),
        (
            "VLMEvalKit",
            "Failed to obtain answer via API. : Failed with all possible conversation turns.",
            "Failed to obtain answer",
        ),
        # vlmeval/inference.py with SKIP_ERR, after thinking
        (
            "VLMEvalKit",
            "<think></think>Failed to obtain answer: <class 'RuntimeError'> out of memory",
            "Failed to obtain answer",
        ),
        ("VLMEvalKit", "", ""),
        # lmms_eval/models/chat/openai.py
        (
            "lmms-eval",
            "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error code: 500",
            "LMMS_EVAL_REQUEST_FAILED",
        ),
        ("lmms-eval", "[LMMS_EVAL_BUDGET_EXCEEDED]", "LMMS_EVAL_BUDGET_EXCEEDED"),
        # lmms_eval/models/chat/gemini.py
        ("lmms-eval", "[SAFETY_BLOCKED:prohibited]", ""),
        # lmms_eval/models/simple/claude.py
        ("lmms-eval", "", ""),
        ("lmms-eval", "The sign says [LMMS_EVAL_BUDGET_EXCEEDED]", ""),
        ("VLMEvalKit", "I failed to obtain answers", ""),
        ("lmms-eval", None, ""),  # which is no answer either
    ],
)
def test_words_that_a_harness_writes_where_a_request_failed_are_no_answer(harness, text, failure):
    assert HARNESSES[harness].parse_row(with_answer(harness, text)).failure == failure


def inspect_sample(text, stop_reason="stop", **more):
    choice = {"message": {"content": text}, "stop_reason": stop_reason}
    row = {"id": "a1", "epoch": 1, "output": {"choices": [choice], "completion": text}}
    return HARNESSES["inspect_ai"].parse_row(row | more)


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_length"])
def test_what_inspect_says_was_cut_off_is_a_failure_unless_it_was_said_after_the_answer(stop_reason):
    assert inspect_sample("The image shows", stop_reason).failure == "truncated"
    assert inspect_sample("Hm", stop_reason, scores={"s": {"value": {"prediction": "red"}}}).failure == ""


@pytest.mark.parametrize(("tokens", "failure"), [(63, ""), (64, "truncated"), (None, "")])
def test_an_lmms_eval_response_that_took_all_the_tokens_allowed_is_a_failure(tokens, failure):
    counts = None if tokens is None else {"input_tokens": 9, "output_tokens": tokens}
    row = rows()["lmms-eval"] | {"token_counts": [counts]}
    assert HARNESSES["lmms-eval"].parse_row(row | {"max_new_tokens": 64}).failure == failure
    assert HARNESSES["lmms-eval"].parse_row(row).failure == ""


def test_inspects_errors_and_limits_are_failures_and_its_refusals_are_none():
    assert inspect_sample("red", error={"message": "status 500"}).failure == "status 500"
    assert inspect_sample("red", limit={"type": "time", "limit": 5}).failure == "its limit of time"
    # As inspect_ai 0.3.285 logs a request that its server refused: all of it, and the error at the end.
    message = "ModelGenerateError('\\nRequest:\\n{\\n  \"seed\": 0\\n}\\n\\nBadRequestError(\\'Error code: 400 - no\\')')"
    failed = inspect_sample("", error={"message": message})
    assert failed.failure == "BadRequestError('Error code: 400 - no')"
    unusable = {"message": "truncated: allow more tokens: 'The image'"}
    assert inspect_sample("The image", error=unusable).failure == "truncated"
    refusal = inspect_sample("", "content_filter")
    assert (refusal.answer[1], refusal.failure) == ("", "")


def test_a_scorers_prediction_is_the_answer_whatever_was_said_after_it():
    sample = inspect_sample("True", scores={"s": {"value": 1, "metadata": {"prediction": "red"}}})
    assert sample.answer == ("scores.s.metadata.prediction", "red")


def test_a_scorers_prediction_that_is_no_text_is_not_passed_over():
    # A count of none: whoever reads it says that it should be a text, rather than to score the words beside it.
    sample = inspect_sample("There are none.", scores={"s": {"value": {"prediction": 0}}})
    assert sample.answer == ("scores.s.value.prediction", 0)


def test_a_batchs_answer_that_was_cut_off_is_a_failure():
    row = rows()["OpenAI batch"]
    row["response"]["body"]["choices"][0]["finish_reason"] = "length"
    assert HARNESSES["OpenAI batch"].parse_row(row).failure == "truncated"
    said = [{"type": "message", "content": [{"type": "output_text", "text": "The"}]}]
    body = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": said}
    row = {"custom_id": "a1", "response": {"status_code": 200, "body": body}}
    assert HARNESSES["OpenAI batch"].parse_row(row).failure == "truncated"


@pytest.mark.parametrize(
    ("harness", "row"),
    [
        ("lmms-eval", {"doc_id": 0, "resps": []}),
        ("lmms-eval", {"doc_id": 0, "filtered_resps": []}),
        ("inspect_ai", {"epoch": 1, "output": {}}),
        ("OpenAI batch", {"custom_id": "a1", "response": {}}),
        ("OpenAI batch", {"custom_id": "a1", "error": {}}),
        ("VLMEvalKit", {"index": "a1", "question": "?", "prediction": "red"}),
    ],
)
def test_a_harness_is_known_by_these_keys_and_by_none_of_them_fewer(harness, row):
    assert [name for name in HARNESSES if HARNESSES[name].is_log_row(row)] == [harness]
    for key in row:
        assert not any(
            known.is_log_row({name: row[name] for name in row if name != key}) for known in HARNESSES.values()
        )
