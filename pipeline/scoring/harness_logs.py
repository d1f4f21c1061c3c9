"""What the rows of evaluation harnesses' logs say: lmms-eval, inspect_ai, OpenAI's batches, VLMEvalKit.

A log is known by the keys of its rows, never by its file's name (docs/reference/scores.md has the table).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..core.column_aliases import COLUMN_ALIASES, ITEM_ID_COLUMNS, PREDICTION_COLUMNS, find_column
from ..core.errors import UserError, format_count, join_examples
from ..core.server_errors import get_failure_reason
from .input_validation import parse_number, pause_garbage_collection
from .joined_predictions import PredictionFileInfo
from .normalize import has_text
from .reasoning_parser import extract_final_answer

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


PASSED_THROUGH_FIELDS = ("p_answerable", "abstained")  # as they are, for whoever knows them


def convert_log_rows(
    rows: Iterable[Any], path: Path, keep_raw: bool = False
) -> tuple[Iterable[Any], PredictionFileInfo, list[str]]:
    """Rows of predictions (with item_id, prediction and, if there is one, confidence), how they were read, and what is wrong
    with them. Rows of no harness are handed on as they came.

    Args:
        as_written: leave reasoning and marks of chat templates in the answers.

    Raises:
        UserError: a log has a row that is no object.
    """
    left = iter(rows)
    first = next(left, None)
    if first is None:
        return [], PredictionFileInfo(), []
    if isinstance(first, dict):
        for form, harness in HARNESSES.items():
            if harness.is_log_row(first):
                with pause_garbage_collection():
                    return _convert_samples(
                        form, list(_parse_samples(harness.parse_row, chain([first], left), path)), keep_raw
                    )
    there = as_mapping(first)
    values = [key for key, value in there.items() if value is not None]
    name, answer = (
        find_column(keys, values) or find_column(keys, there) or ""
        for keys in (ITEM_ID_COLUMNS, PREDICTION_COLUMNS)
    )
    confidence = "confidence" if there.get("confidence") not in (None, "") else ""
    kind = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".").upper()
    reading = PredictionFileInfo(
        f"plain {kind or 'JSON'}", name, answer, confidence, columns=tuple(map(str, there))
    )
    return chain([first], left), reading, []


def get_log_samples(value: Any, path: Path) -> list[Any] | None:
    """The samples of a log that is one JSON object, as inspect_ai writes it; None if the value is none.

    Raises:
        UserError: it is what lmms-eval writes beside its log.
    """
    keys = value.keys() if isinstance(value, dict) else set()
    if {"results", "configs"} <= keys:
        raise UserError(
            f"{path}: lmms-eval's results, without the responses; wanted the file *_samples_*.jsonl beside it, which "
            "lmms-eval writes with --log_samples"
        )
    return (value.get("samples") or []) if {"eval", "plan"} <= keys else None


def _parse_samples(sample_of: Callable[[Row], Sample], rows: Iterable[Any], path: Path) -> Iterator[Sample]:
    """What the rows say of each item: where one was asked for several that are alike, the same of all of them."""
    for row in rows:
        if not isinstance(row, dict):
            raise UserError(f"{path}: wanted a log's rows to be objects, one is {row!r:.60}")
        sample = sample_of(row)
        for item in sample.shared_item_ids or [sample.id[1]]:
            yield sample._replace(id=(sample.id[0], item))


def _convert_samples(
    form: str, samples: Sequence[Sample], as_written: bool
) -> tuple[list[Any], PredictionFileInfo, list[str]]:
    """The rows of a log: the samples with an answer, of each item those of the first epoch that has one."""
    named = [_with_final_answer(sample, as_written) for sample in samples if sample.id[1] is not None]
    answered = [sample for sample in named if not sample.failure and sample.answer[1] is not None]
    epochs = {str(sample.id[1]): sample.epoch for sample in reversed(answered)}
    kept = [sample for sample in answered if sample.epoch == epochs[str(sample.id[1])]]
    failed = {str(sample.id[1]): sample.failure or "no answer" for sample in named}
    confidences = [find_field(sample.confidence_sources, CONFIDENCE_FIELDS) for sample in kept]
    columns = [sample.id for sample in kept], [sample.answer for sample in kept], confidences
    used = (" or ".join(dict.fromkeys(field for field, _ in column if field)) for column in columns)
    rows = [
        {"item_id": str(sample.id[1]), "prediction": sample.answer[1], "confidence": confidence}
        | {
            name: value
            for name in PASSED_THROUGH_FIELDS
            if (value := find_field(sample.confidence_sources, [name])[1]) is not None
        }
        for sample, (_, confidence) in zip(kept, confidences, strict=True)
    ]
    failed = {name: why for name, why in failed.items() if name not in epochs}
    faults = []
    if nameless := [number for number, sample in enumerate(samples, 1) if sample.id[1] is None]:
        known_by = HARNESSES[form].hint
        names = format_count(len(nameless), "sample names", "samples name")
        faults.append(f"{names} no item, number {join_examples(nameless)}: {known_by}")
    declined = {
        str(sample.id[1]): FILTERED if sample.is_filtered else EMPTY
        for sample in kept
        if isinstance(sample.answer[1], str) and not has_text(sample.answer[1])
    }
    columns_read = PredictionFileInfo(
        form, *used, failures=failed, notes=tuple(_describe_choices(samples)), empty_replies=declined
    )
    return rows, columns_read, faults


def _with_final_answer(sample: Sample, as_written: bool) -> Sample:
    """The sample with its final answer. What a filter left of a reply is no answer but an empty reply."""
    if sample.is_filtered and not sample.failure:
        return sample._replace(answer=(sample.answer[0], ""))
    if isinstance(sample.answer[1], float) and math.isnan(sample.answer[1]):
        return sample._replace(answer=(sample.answer[0], None))
    if as_written or not isinstance(sample.answer[1], str):
        return sample
    final = extract_final_answer(sample.answer[1])
    failure = sample.failure or (TRUNCATED if final.is_truncated else "")
    return sample._replace(answer=(sample.answer[0], final.text), failure=failure)


def _describe_choices(samples: Sequence[Sample]) -> Iterator[str]:
    if (most := max(sample.num_responses for sample in samples)) > 1:
        yield f"the first of up to {format_count(most, 'response')} to an item"
    if (most := max(sample.epoch for sample in samples)) > 1:
        yield f"the first answer of {format_count(most, 'epoch')}"
