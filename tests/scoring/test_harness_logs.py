"""Rows of harness logs, and the predictions that are made of them.

The files in logs/ were written by the tools themselves: lmms-eval 0.7.3, whose dummy model was taught the answers of
`ROWS`, with the tasks of a release and a task's own metric `confidence`; inspect_ai 0.3.285 with its mock model and a
scorer `confidence`.
"""

import csv
import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.harness_logs import HARNESSES, convert_log_rows, find_field, get_log_samples
from pipeline.scoring.prediction_reader import read_predictions
from tests.scoring.conftest import ROWS, numbers, predictions, refused, scored, write

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
def test_rows_of_no_harness_are_unchanged(row):
    assert not any(harness.is_log_row(row) for harness in HARNESSES.values())


def test_the_probability_of_a_batchs_words_is_no_confidence():
    # A refusal of which the model is sure would be the surest answer of all.
    row = rows()["OpenAI batch"]
    row["response"]["body"]["choices"][0]["logprobs"] = {"content": [{"token": "red", "logprob": -0.01}]}
    assert HARNESSES["OpenAI batch"].parse_row(row).confidence_sources == {}


@pytest.mark.parametrize(
    ("given", "read"), [("0.25", 0.25), (0.0, 0.0), (0, 0.0), ("", ""), ("high", "high")]
)
def test_confidences_of_a_vlmevalkit_table_are_numbers_even_if_stored_as_text(given, read):
    sample = HARNESSES["VLMEvalKit"].parse_row(rows()["VLMEvalKit"] | {"confidence": given})
    assert sample.confidence_sources[""]["confidence"] == read


def test_field_names_are_searched_in_order_before_sources():
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
def test_error_texts_of_a_harness_are_failures(harness, text, failure):
    assert HARNESSES[harness].parse_row(with_answer(harness, text)).failure == failure


def inspect_sample(text, stop_reason="stop", **more):
    choice = {"message": {"content": text}, "stop_reason": stop_reason}
    row = {"id": "a1", "epoch": 1, "output": {"choices": [choice], "completion": text}}
    return HARNESSES["inspect_ai"].parse_row(row | more)


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_length"])
def test_a_reply_truncated_according_to_inspect_is_a_failure_unless_it_was_after_the_answer(stop_reason):
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


def test_a_truncated_answer_of_a_batch_is_a_failure():
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


def openai_line(name, text, error=None, **message):
    """A line of a batch's output, as in OpenAI's API reference."""
    body = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"content": text, **message}}]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": name, "response": None if error else response, "error": error}


def vlmevalkit_table():
    """What VLMEvalKit dumps: the columns of its data set, `answer` being the right one, and `prediction`."""
    right = [answer if answer != "UQ" else "unanswerable" for _, _, answer, *_ in ROWS]
    table = pd.DataFrame({"index": [row[0] for row in ROWS], "question": "?", "answer": right})
    return table.assign(prediction=[row[-2] for row in ROWS], confidence=[row[-1] for row in ROWS])


def all_forms(folder):
    """A file of each form with the answers of ROWS; all but OpenAI's with their confidences."""
    rows, table = pd.DataFrame(predictions()), vlmevalkit_table()
    write(folder / "plain.json", predictions())
    rows.to_json(folder / "plain.jsonl", orient="records", lines=True)
    rows.to_csv(folder / "plain.csv", index=False)
    rows.to_csv(folder / "plain.tsv", index=False, sep="\t")
    rows.to_parquet(folder / "plain.parquet")
    rows.to_excel(folder / "plain.xlsx", index=False)
    table.to_excel(folder / "vlm.xlsx", index=False)
    table.to_csv(folder / "vlm.tsv", sep="\t", index=False, quoting=csv.QUOTE_ALL)
    write(folder / "vlm.json", table.to_dict("records"))
    lines = [json.dumps(openai_line(row[0], row[-2])) for row in ROWS]
    (folder / "batch.jsonl").write_text("\n".join(lines))
    own = [LOGS / name for name in ("lmms_eval_samples.jsonl", "inspect_ai.eval", "inspect_ai.json.gz")]
    return [*sorted(folder.glob("*.*")), *own]


def test_the_same_answers_score_the_same_through_every_form(release, tmp_path):
    (tmp_path / "forms").mkdir()
    files = all_forms(tmp_path / "forms")
    assert len(files) == 13
    confident = [path for path in files if path.name != "batch.jsonl"]
    for paths, *options in (
        (confident, "--bootstrap", 20),
        (files, "--bootstrap", 20, "--detect-abstention"),
    ):
        found = [numbers(scored(tmp_path, release, path, *options)["models"][0]["subsets"]) for path in paths]
        assert len(found[0]) > 100
        for path, scores in zip(paths, found, strict=True):
            assert scores == {key: pytest.approx(n, abs=1e-12) for key, n in found[0].items()}, path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain.json", ("plain JSON", "questionId", "prediction", "confidence")),
        ("plain.tsv", ("plain TSV", "questionId", "prediction", "confidence")),
        ("batch.jsonl", ("OpenAI batch", "custom_id", "response.body.choices.0.message.content", "")),
        ("vlm.xlsx", ("VLMEvalKit", "index", "prediction", "confidence")),
        ("lmms_eval_samples.jsonl", ("lmms-eval", "item_id", "filtered_resps", "confidence")),
        ("inspect_ai.eval", ("inspect_ai", "id", "output.completion", "scores.confidence")),
    ],
)
def test_format_and_fields_are_reported(release, tmp_path, capsys, name, expected):
    path = next(path for path in all_forms(tmp_path) if path.name == name)
    report = scored(tmp_path, release, path, "--scores", "realistic", "--bootstrap", 0, "--detect-abstention")
    reading = report["models"][0]["file_info"]
    assert (
        tuple(reading[field] for field in ("file_format", "id_field", "answer_field", "confidence_field"))
        == expected
    )
    form, name, answer, confidence = expected
    confidence = f"confidence from {confidence}" if confidence else "no confidence"
    assert f"read as {form}: id from {name}, answer from {answer}, {confidence}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "form"), [("m", "plain JSON"), ("m.jsonl.gz", "plain JSONL"), ("m.1.csv", "plain CSV")]
)
def test_the_format_of_a_plain_file_is_its_suffix(name, form):
    assert convert_log_rows([{"id": "a", "answer": "red"}], Path(name))[1].file_format == form


def test_requests_that_failed_are_named_and_have_no_prediction(release, tmp_path, capsys):
    lines = [openai_line(row[0], row[-2]) for row in ROWS]
    lines[2] = openai_line("a2", None, error={"code": "rate_limit_exceeded", "message": "slow down"})
    lines[3]["response"] = {"status_code": 500, "body": {}}
    path = tmp_path / "batch.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    read = read_predictions(path)
    assert read.file_info.failures == {"a2": "rate_limit_exceeded", "u2": "status 500"} and read.faults == ()
    message = refused(capsys, release, path, "--detect-abstention")
    assert "2 of 6 items have no prediction" in message
    assert "2 FAILED (1 rate_limit_exceeded, 1 status 500): a2, u2" in message
    report = scored(tmp_path, release, path, "--detect-abstention", "--missing", "wrong", "--bootstrap", 0)
    assert report["models"][0]["subsets"]["pt-hard"]["counts"]["missing"] == 2
    assert report["models"][0]["file_info"]["failures"] == {"a2": "rate_limit_exceeded", "u2": "status 500"}
    # A request that was sent again and answered did not fail.
    path.write_text("\n".join(map(json.dumps, [*lines, openai_line("a2", "no")])))
    assert list(read_predictions(path).file_info.failures) == ["u2"]


def test_a_batch_of_responses_and_a_refusal_are_read(tmp_path):
    said = {"type": "message", "content": [{"type": "output_text", "text": "red"}]}
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}
    lines = [
        {
            "custom_id": "a",
            "response": {"status_code": 200, "body": {"output": [thought, said], "error": None}},
        },
        openai_line("b", None, refusal="I cannot help with that."),
    ]
    read = read_predictions(write(tmp_path / "batch.json", lines))
    assert read.answer_by_id == {"a": "red", "b": "I cannot help with that."}


def read_rows(rows):
    kept, reading, faults = convert_log_rows(rows, Path("log.jsonl"))
    return list(kept), reading, faults


def test_the_first_of_several_responses_is_taken_and_this_is_said():
    rows = [{"doc_id": 0, "item_id": "a", "resps": [["red", "blue"]]}]
    kept, reading, _ = read_rows(rows)
    assert kept[0]["prediction"] == "red" and reading.notes == ("the first of up to 2 responses to an item",)
    answers = [{"message": {"content": text}} for text in ("red", "blue", "cat")]
    row = {"custom_id": "a", "response": {"status_code": 200, "body": {"choices": answers}}}
    assert read_rows([row])[1].notes == ("the first of up to 3 responses to an item",)


def test_what_the_tasks_filter_left_of_a_response_is_the_answer():
    rows = [{"doc_id": 0, "item_id": "a", "resps": ["<think>blue?</think>red"], "filtered_resps": "red"}]
    kept, reading, _ = read_rows(rows)
    assert (kept[0]["prediction"], reading.answer_field) == ("red", "filtered_resps")


def inspect_row(name, text, epoch=1, **more):
    choices = [] if text is None else [{"message": {"content": text}}]
    return {"id": name, "epoch": epoch, "output": {"choices": choices, "completion": text or ""}, **more}


def test_of_several_epochs_the_first_that_has_an_answer_counts():
    rows = [
        inspect_row("a", None, error={"message": "out of memory"}),
        inspect_row("b", "blue"),
        inspect_row("a", "red", 2),
        inspect_row("b", "cat", 2),
        inspect_row("c", None, error={"message": "out of memory"}),
    ]
    kept, reading, faults = read_rows(rows)
    assert {row["item_id"]: row["prediction"] for row in kept} == {"a": "red", "b": "blue"}
    assert reading.failures == {"c": "out of memory"} and reading.notes == ("the first answer of 2 epochs",)
    assert faults == []


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"scores": {"sure": {"value": {"confidence": 0.25}}}}, "scores.sure.value.confidence"),
        (
            {"scores": {"match": {"value": "C", "metadata": {"p_answerable": 0.25}}}},
            "scores.match.metadata.p_answerable",
        ),
        ({"metadata": {"confidence": 0.25}}, "metadata.confidence"),
        ({"metadata": {"confidence": 1}, "scores": {"confidence": {"value": 0.25}}}, "scores.confidence"),
        ({"scores": {"match": {"value": "C"}}}, ""),
    ],
)
def test_a_confidence_is_found_where_scorers_and_solvers_put_it(more, field):
    kept, reading, _ = read_rows([inspect_row("a", "red", **more)])
    assert (reading.confidence_field, kept[0]["confidence"]) == (field, 0.25 if field else None)


def test_abstention_labels_of_a_task_are_kept():
    row = {"doc_id": 0, "item_id": "a", "resps": "red", "p_answerable": 0.0, "abstained": True}
    kept, reading, _ = read_rows([row])
    assert kept[0] == {"item_id": "a", "prediction": "red"} | {
        "confidence": 0.0,
        "p_answerable": 0.0,
        "abstained": True,
    }
    assert reading.confidence_field == "p_answerable"


def test_an_item_may_be_named_in_a_metric_or_in_the_document_and_its_document_has_no_confidence():
    rows = [
        {"doc_id": 0, "resps": "red", "submission": {"question_id": "a", "confidence": 0.5}},
        {"doc_id": 1, "resps": "red", "doc": {"item_id": "b", "confidence": 0.9}},
    ]
    kept, reading, _ = read_rows(rows)
    assert [(row["item_id"], row["confidence"]) for row in kept] == [("a", 0.5), ("b", None)]
    assert reading.id_field == "submission.question_id or doc.item_id"


def test_a_log_that_names_no_item_is_refused_with_what_to_do(release, tmp_path, capsys):
    rows = [{"doc_id": number, "filtered_resps": "red"} for number in range(6)]
    message = refused(capsys, release, write(tmp_path / "log.json", rows), "--detect-abstention")
    assert (
        "6 samples name no item, number 1, 2, 3, 4, 5 and 1 more: run the tasks of the release's harness/lmms_eval"
        in message
    )


def test_row_numbers_for_ids_and_another_benchmarks_log_are_refused_with_what_to_do(
    release, tmp_path, capsys
):
    table = vlmevalkit_table().assign(index=range(6))
    table.to_csv(tmp_path / "vlm.tsv", sep="\t", index=False)
    message = refused(capsys, release, tmp_path / "vlm.tsv")
    assert "6 ids are not in the benchmark" in message
    assert "vlm: read as VLMEvalKit: id from index" in message and "row numbers are not item ids" in message
    rows = [inspect_row(f"gsm8k_{i}", "72") for i in range(3)]
    message = refused(capsys, release, write(tmp_path / "log.json", rows), "--detect-abstention")
    assert "3 ids are not in the benchmark" in message and "give each inspect_ai Sample the item's" in message


def test_a_question_asked_once_for_several_items_answers_all_of_them():
    asked = {"metadata": {"item_ids": ["a", "b"]}, "scores": {"s": {"value": {"confidence": 0.25}}}}
    rows = [inspect_row("a", "red", **asked), inspect_row("c", None, metadata={"item_ids": ["c", "d"]})]
    kept, reading, _ = read_rows(rows)
    assert kept == [{"item_id": name, "prediction": "red", "confidence": 0.25} for name in "ab"]
    assert reading.failures == {"c": "no answer", "d": "no answer"}


def test_a_duplicate_item_of_a_log_is_refused(tmp_path):
    rows = [{"doc_id": i, "item_id": "a", "filtered_resps": text} for i, text in enumerate(("red", "blue"))]
    assert "row 2: duplicate id 'a'" in read_predictions(write(tmp_path / "log.json", rows)).faults


@pytest.mark.parametrize("form", ["batch.jsonl", "vlm.json", "vlm.tsv", "lmms.jsonl", "inspect.json"])
def test_a_duplicate_item_of_any_log_is_one_message(release, tmp_path, capsys, form):
    all_forms(tmp_path)
    path = tmp_path / form
    if form == "vlm.tsv":
        path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    elif form == "vlm.json":
        rows = json.loads(path.read_text())
        write(path, [*rows, rows[0]])
    elif form == "inspect.json":
        log = json.loads(gzip.decompress((LOGS / "inspect_ai.json.gz").read_bytes()))
        write(path, log | {"samples": [*log["samples"], log["samples"][0]]})
    else:
        source = path if form == "batch.jsonl" else LOGS / "lmms_eval_samples.jsonl"
        lines = source.read_text().splitlines()
        path.write_text("\n".join([*lines, lines[0]]))
    message = refused(capsys, release, path, "--detect-abstention")
    assert message.startswith("error: cannot score") and "duplicate id 'a1'" in message


def test_a_log_without_confidences_suggests_detect_abstention(release, tmp_path, capsys):
    rows = [{"doc_id": i, "item_id": row[0], "filtered_resps": row[-2]} for i, row in enumerate(ROWS)]
    message = refused(capsys, release, write(tmp_path / "log.json", rows))
    assert "no confidences. Add them, or a column `abstained`" in message


@pytest.mark.parametrize("ending", ["json", "tsv", "xlsx"])
def test_vlmevalkits_failures_are_counted_and_are_no_answers(release, tmp_path, capsys, ending):
    table, path = vlmevalkit_table(), tmp_path / f"vlm.{ending}"
    table.loc[2, "prediction"] = "Failed to obtain answer via API."
    table.loc[4, "prediction"] = ""
    if ending == "json":
        write(path, table.to_dict("records"))
    elif ending == "tsv":
        table.to_csv(path, sep="\t", index=False, quoting=csv.QUOTE_ALL)
    else:
        table.to_excel(path, index=False)
    read = read_predictions(path)
    report = scored(tmp_path, release, path, "--detect-abstention", "--missing", "wrong", "--bootstrap", 0)
    missing = report["models"][0]["subsets"]["pt-hard"]["counts"]["missing"]
    if ending == "json":  # JSON tells an empty reply, which abstains, from none
        assert read.file_info.failures == {
            "a2": "Failed to obtain answer"
        } and read.file_info.empty_replies == {"a3": "empty"}
        assert missing == 1 and "1 empty reply counts as an abstention" in capsys.readouterr().out
    else:
        assert (
            read.file_info.failures == {"a2": "Failed to obtain answer", "a3": "no answer"} and missing == 2
        )


def test_loglikelihoods_are_no_answers(tmp_path):
    rows = [{"doc_id": 0, "item_id": "a", "filtered_resps": [[-1.5, False], [-2.5, True]]}]
    assert (
        "row 1 (a): the answer is -1.5, expected a string"
        in read_predictions(write(tmp_path / "l.json", rows)).faults
    )


def test_malformed_samples_are_reported_without_a_traceback(tmp_path):
    odd = [
        [{"id": "a", "epoch": 1, "output": [], "scores": [], "error": None, "metadata": 3}, {}],
        [{"custom_id": "a", "response": []}, {"custom_id": None, "response": {"body": {"choices": [3]}}}],
        [{"doc_id": 0, "resps": []}, {}],
        [{"index": None, "question": "", "prediction": ""}],
        [{"doc_id": 0, "resps": []}, 3],
    ]
    for rows in odd[:-1]:
        assert read_predictions(write(tmp_path / "log.json", rows)).faults
    with pytest.raises(UserError, match="expected an object|expected a list of objects"):
        read_predictions(write(tmp_path / "log.json", odd[-1]))


def test_an_inspect_log_with_only_a_header_has_no_rows(tmp_path):
    log = json.loads(gzip.decompress((LOGS / "inspect_ai.json.gz").read_bytes()))
    assert len(get_log_samples(log, tmp_path) or []) == 6 and get_log_samples([log], tmp_path) is None
    del log["samples"]
    assert read_predictions(write(tmp_path / "log.json", log)).faults[1:] == ("no rows",)


def test_lmms_evals_results_are_not_taken_for_its_log(tmp_path):
    with pytest.raises(UserError, match=r"expected the file \*_samples_\*.jsonl beside it"):
        read_predictions(write(tmp_path / "results.json", {"results": {}, "configs": {}, "versions": {}}))
