"""What the rows of evaluation harnesses' logs say: lmms-eval, inspect_ai, OpenAI's batches, VLMEvalKit.

A log is known by the keys of its rows, never by its file's name (docs/reference/scores.md has the table).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..core.column_aliases import COLUMN_ALIASES, ITEM_ID_COLUMNS
from ..core.server_errors import get_failure_reason
from .input_validation import parse_number

Row = Mapping[str, Any]
FieldValue = tuple[str, Any]  # the name of a field, "" for none, and what stands in it

ID_FIELDS, CONFIDENCE_FIELDS = ITEM_ID_COLUMNS, COLUMN_ALIASES["confidence"]
# What stands in the place of an answer where a request failed. VLMEvalKit at f60eb88 (vlmeval/api/base.py) and 3d2f88e
# (vlmeval/inference.py): these words, with more around them. lmms-eval 0.7.3: a word in brackets (models/chat/openai.py,
# async_openai.py, gemini.py) or nothing (models/simple/claude.py, gpt4v.py, reka.py), which cannot be distinguished
# from a model that had nothing to say: it is an empty reply.
FAILURE_PATTERN = re.compile(
    r"(Failed to obtain answer)|^\[(LMMS_EVAL_REQUEST_FAILED|LMMS_EVAL_BUDGET_EXCEEDED|GENERATION_FAILED)\b"
)
BLOCKED_PREFIX = "[SAFETY_BLOCKED"  # in the place of an answer that a filter withheld
TRUNCATED, FILTERED, EMPTY = "truncated", "filtered", "empty"
# How the errors of our own tasks for inspect_ai begin, where what was said is no row of predictions.
UNUSABLE_REPLY_PATTERN = re.compile(r"(truncated|no answer|no confidence):")


class Sample(NamedTuple):
    """What a log has on one item.

    Attributes:
        beside: mappings, by the name of their field, in which a task or a scorer may have put a confidence.
        failure: why there is no answer. answers: how many responses there are; `answer` is the first.
        is_filtered: a filter withheld the answer, or the rest of it. epoch: which of several runs of the item this is. alike: the ids of all items with this question about this
            image, where it was asked once for all of them.
    """

    id: FieldValue
    answer: FieldValue
    confidence_sources: Mapping[str, Row]
    failure: str = ""
    num_responses: int = 1
    epoch: int = 1
    shared_item_ids: tuple[str, ...] = ()
    is_filtered: bool = False


def _parse_lmms_eval(row: Row) -> Sample:
    """Its log has no id but what a task's `process_results` returns, as a metric or in one, and does not say which responses
    were cut off: those that took exactly the tokens allowed, where a release's tasks say how many that are."""
    metrics = {
        "": row,
        **{name: value for name, value in row.items() if isinstance(value, dict) and name != "doc"},
    }
    field = "filtered_resps" if "filtered_resps" in row else "resps"
    answer, count = row.get(field), 1
    while isinstance(answer, list):
        count *= len(answer)
        answer = answer[0] if answer else None
    places = metrics | {"doc": as_mapping(row.get("doc"))}
    limit = row.get("max_new_tokens")
    cut_off = any(tokens.get("output_tokens") == limit for tokens in _only_dicts(row.get("token_counts")))
    failure = _find_failure(answer) or (TRUNCATED if limit and cut_off else "")
    return Sample(
        find_field(places, ID_FIELDS),
        (field, answer),
        metrics,
        failure,
        num_responses=count,
        is_filtered=_is_blocked(answer),
    )


def _parse_inspect(row: Row) -> Sample:
    """A scorer's `prediction` is the answer where it gives one, since the model may have been asked more after it; else
    `completion`, the text of the first choice's message without its reasoning."""
    output, more = as_mapping(row.get("output")), as_mapping(row.get("metadata"))
    scores = {name: as_mapping(score) for name, score in as_mapping(row.get("scores")).items()}
    beside = {
        "scores": {name: score.get("value") for name, score in scores.items()},
        **{f"scores.{name}.value": as_mapping(score.get("value")) for name, score in scores.items()},
        **{f"scores.{name}.metadata": as_mapping(score.get("metadata")) for name, score in scores.items()},
        "metadata": more,
    }
    choices, alike = _only_dicts(output.get("choices")), more.get("item_ids")
    answer = find_field(beside, ["prediction"])
    failure, stop = "", choices[0].get("stop_reason") if choices else None
    if not answer[0]:
        answer = ("output.completion", (output.get("completion") or "") if choices else None)
        if stop in ("max_tokens", "model_length"):
            failure = TRUNCATED
    if limit := as_mapping(row.get("limit")):
        failure = f"its limit of {limit.get('type')}"
    if error := row.get("error"):
        failure = _summarize_error(as_mapping(error))
    return Sample(
        ("id", row.get("id")),
        answer,
        beside,
        failure,
        max(len(choices), 1),
        row["epoch"] if isinstance(row.get("epoch"), int) else 1,
        tuple(map(str, alike)) if isinstance(alike, list) else (),
        is_filtered=stop == "content_filter",
    )


def _summarize_error(error: Row) -> str:
    """Why a sample of inspect_ai failed, on one line that is the same for all that failed alike."""
    message, traceback = (str(error.get(name) or "") for name in ("message", "traceback"))
    if kind := UNUSABLE_REPLY_PATTERN.match(message):
        return kind[1]
    return (
        get_failure_reason(SimpleNamespace(message=message, traceback=traceback)).replace("\\'", "'")
        or "an error"
    )


def _parse_openai(row: Row) -> Sample:
    """The message of a chat completion, or of a response; what it says in refusing is its answer, too. The
    probabilities of its words are not taken as confidence: a refusal may be as sure of itself as an answer."""
    response = as_mapping(row.get("response"))
    body = as_mapping(response.get("body"))
    choices = _only_dicts(body.get("choices"))
    if choices:
        place = "response.body.choices.0.message"
        message = as_mapping(choices[0].get("message"))
        field = "refusal" if message.get("content") in (None, "") and message.get("refusal") else "content"
        answer: FieldValue = (f"{place}.{field}", _join_message_text(message.get(field)) if message else None)
        reason = choices[0].get("finish_reason")
    else:
        parts = [
            part for item in _only_dicts(body.get("output")) for part in _only_dicts(item.get("content"))
        ]
        answer = (
            "response.body.output",
            _join_message_text(parts) if isinstance(body.get("output"), list) else None,
        )
        reason = as_mapping(body.get("incomplete_details")).get("reason")
    cut_off = reason in ("length", "max_output_tokens", "max_tokens")
    error = as_mapping(row.get("error")) or as_mapping(body.get("error"))
    failure = TRUNCATED if cut_off else ""
    if (status := response.get("status_code", 200)) != 200:
        failure = f"status {status}"
    if error:
        failure = str(error.get("code") or error.get("message") or "an error")
    return Sample(
        ("custom_id", row.get("custom_id")),
        answer,
        {},
        failure,
        max(len(choices), 1),
        is_filtered=reason == "content_filter",
    )


def _join_message_text(content: Any) -> Any:
    """The text of a message, "" for none; of several parts those that are text or a refusal, not reasoning."""
    if not isinstance(content, list):
        return "" if content is None else content
    texts = {"text": "text", "output_text": "text", "refusal": "refusal"}
    return "".join(
        str(part.get(texts[part["type"]]) or "") for part in _only_dicts(content) if part.get("type") in texts
    )


def _parse_vlmevalkit(row: Row) -> Sample:
    """`answer` is the right answer there. Tables hold numbers as text."""
    said, beside = row.get("prediction"), dict(row)
    for name in CONFIDENCE_FIELDS:
        with suppress(ValueError, KeyError):
            beside[name] = parse_number(str(beside[name]))
    return Sample(
        find_field({"": row}, (*ID_FIELDS, "index")),
        ("prediction", said),
        {"": beside},
        _find_failure(said),
        is_filtered=_is_blocked(said),
    )


def _find_failure(answer: Any) -> str:
    """Why there is no answer where one is wanted."""
    found = FAILURE_PATTERN.search(answer) if isinstance(answer, str) else None
    return next(filter(None, found.groups())) if found else ""


def _is_blocked(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith(BLOCKED_PREFIX)


def find_field(sources: Mapping[str, Row], names: Sequence[str]) -> FieldValue:
    """The first of these names that has a value in one of the places; none where there is none."""
    for name in names:
        for place, values in sources.items():
            if values.get(name) not in (None, ""):
                return f"{place}.{name}".removeprefix("."), values[name]
    return "", None


def as_mapping(value: Any) -> Row:
    return value if isinstance(value, dict) else {}


def _only_dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


class Harness(NamedTuple):
    """Whether a row is one of a harness's log, what the row says, and what to do where it names no item."""

    is_log_row: Callable[[Row], bool]
    parse_row: Callable[[Row], Sample]
    hint: str


HARNESSES: dict[str, Harness] = {
    "lmms-eval": Harness(
        lambda row: "doc_id" in row and bool({"resps", "filtered_resps"} & row.keys()),
        _parse_lmms_eval,
        "run the tasks of the release's harness/lmms_eval, whose results hold item_id",
    ),
    "inspect_ai": Harness(
        lambda row: {"epoch", "output"} <= row.keys(),
        _parse_inspect,
        "give each inspect_ai Sample the item's item_id as its id",
    ),
    "OpenAI batch": Harness(
        lambda row: "custom_id" in row and bool({"response", "error"} & row.keys()),
        _parse_openai,
        "give each request the item's item_id as its custom_id",
    ),
    "VLMEvalKit": Harness(
        lambda row: {"index", "question", "prediction"} <= row.keys(),
        _parse_vlmevalkit,
        "put each item's item_id into VLMEvalKit's column index; a row's number is none, and spreadsheets drop leading zeros",
    ),
}
