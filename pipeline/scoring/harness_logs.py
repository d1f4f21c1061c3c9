"""Convert logs of evaluation harnesses to rows of predictions: lmms-eval, inspect_ai, OpenAI batches,
VLMEvalKit.

The harness of a log is recognized by the keys of the rows, never by the file name (see the table in
docs/reference/scores.md).
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
# Name and value of a field. The name is "" if there is no such field.
FieldValue = tuple[str, Any]

ID_FIELDS, CONFIDENCE_FIELDS = ITEM_ID_COLUMNS, COLUMN_ALIASES["confidence"]
# Texts that harnesses write in place of the answer if a request fails. VLMEvalKit writes these words within a
# longer text (f60eb88: vlmeval/api/base.py; 3d2f88e: vlmeval/inference.py). lmms-eval 0.7.3 writes a word in
# brackets (models/chat/openai.py, async_openai.py, gemini.py) or an empty text (models/simple/claude.py,
# gpt4v.py, reka.py). An empty text cannot be distinguished from an empty answer of the model, so it counts as
# an empty reply.
FAILURE_PATTERN = re.compile(
    r"(Failed to obtain answer)|^\[(LMMS_EVAL_REQUEST_FAILED|LMMS_EVAL_BUDGET_EXCEEDED|GENERATION_FAILED)\b"
)
# Beginning of the text that replaces an answer removed by a safety filter.
BLOCKED_PREFIX = "[SAFETY_BLOCKED"
TRUNCATED, FILTERED, EMPTY = "truncated", "filtered", "empty"
# Beginning of the errors that the inspect_ai tasks of a release raise for replies that cannot become a
# prediction.
UNUSABLE_REPLY_PATTERN = re.compile(r"(truncated|no answer|no confidence):")


class Sample(NamedTuple):
    """The record of one item in a log.

    Attributes:
        id, answer: Field and value of the item id and of the answer.
        confidence_sources: Field name -> mapping in which a task or a scorer may have stored a confidence.
        failure: Why there is no answer; "" if there is an answer.
        num_responses: Number of responses to the item. `answer` is the first response.
        epoch: Which repetition of the item this is, if the harness ran the item several times.
        shared_item_ids: Ids of all items that have the same question about the same image, if the question
            was asked once for all of them.
        is_filtered: Whether a safety filter removed the answer or the end of the answer.
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
    """Parse a row of lmms-eval.

    The log has an item id only if the `process_results` of the task returns it, as a metric or within a
    metric. The log does not say which responses were truncated. A response counts as truncated if it has
    exactly the maximum number of tokens, provided that the task (as in a release) states this number.
    """
    metrics = {
        "": row,
        **{name: value for name, value in row.items() if isinstance(value, dict) and name != "doc"},
    }
    field = "filtered_resps" if "filtered_resps" in row else "resps"
    answer, count = row.get(field), 1
    while isinstance(answer, list):
        count *= len(answer)
        answer = answer[0] if answer else None
    sources = metrics | {"doc": as_mapping(row.get("doc"))}
    limit = row.get("max_new_tokens")
    is_truncated = any(
        tokens.get("output_tokens") == limit for tokens in _only_dicts(row.get("token_counts"))
    )
    failure = _find_failure(answer) or (TRUNCATED if limit and is_truncated else "")
    return Sample(
        find_field(sources, ID_FIELDS),
        (field, answer),
        metrics,
        failure,
        num_responses=count,
        is_filtered=_is_blocked(answer),
    )


def _parse_inspect(row: Row) -> Sample:
    """Parse a row of inspect_ai.

    If a scorer gives a `prediction`, that is the answer, because the model may have been asked another
    question after answering. Otherwise the answer is `completion`, the text of the first choice's message
    without the reasoning.
    """
    output, more = as_mapping(row.get("output")), as_mapping(row.get("metadata"))
    scores = {name: as_mapping(score) for name, score in as_mapping(row.get("scores")).items()}
    sources = {
        "scores": {name: score.get("value") for name, score in scores.items()},
        **{f"scores.{name}.value": as_mapping(score.get("value")) for name, score in scores.items()},
        **{f"scores.{name}.metadata": as_mapping(score.get("metadata")) for name, score in scores.items()},
        "metadata": more,
    }
    choices, item_ids = _only_dicts(output.get("choices")), more.get("item_ids")
    answer = find_field(sources, ["prediction"])
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
        sources,
        failure,
        max(len(choices), 1),
        row["epoch"] if isinstance(row.get("epoch"), int) else 1,
        tuple(map(str, item_ids)) if isinstance(item_ids, list) else (),
        is_filtered=stop == "content_filter",
    )


def _summarize_error(error: Row) -> str:
    """Return why a sample of inspect_ai failed, on one line that is the same for all samples with the same
    cause.
    """
    message, traceback = (str(error.get(name) or "") for name in ("message", "traceback"))
    if kind := UNUSABLE_REPLY_PATTERN.match(message):
        return kind[1]
    return (
        get_failure_reason(SimpleNamespace(message=message, traceback=traceback)).replace("\\'", "'")
        or "an error"
    )


def _parse_openai(row: Row) -> Sample:
    """Parse a row of an OpenAI batch: a chat completion or a response.

    The text of a refusal counts as an answer. Token probabilities are not used as confidence, because a model
    may refuse with a high probability, too.
    """
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
    is_truncated = reason in ("length", "max_output_tokens", "max_tokens")
    error = as_mapping(row.get("error")) or as_mapping(body.get("error"))
    failure = TRUNCATED if is_truncated else ""
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
    """Return the text of a message, "" for none.

    If there are several parts, text and refusals are kept, but not reasoning.
    """
    if not isinstance(content, list):
        return "" if content is None else content
    texts = {"text": "text", "output_text": "text", "refusal": "refusal"}
    return "".join(
        str(part.get(texts[part["type"]]) or "") for part in _only_dicts(content) if part.get("type") in texts
    )


def _parse_vlmevalkit(row: Row) -> Sample:
    """Parse a row of VLMEvalKit, in which `answer` is the correct answer.

    VLMEvalKit stores numbers as text.
    """
    answer, parsed = row.get("prediction"), dict(row)
    for name in CONFIDENCE_FIELDS:
        with suppress(ValueError, KeyError):
            parsed[name] = parse_number(str(parsed[name]))
    return Sample(
        find_field({"": row}, (*ID_FIELDS, "index")),
        ("prediction", answer),
        {"": parsed},
        _find_failure(answer),
        is_filtered=_is_blocked(answer),
    )


def _find_failure(answer: Any) -> str:
    """Return why a request failed if the text in place of its answer says so, else ""."""
    found = FAILURE_PATTERN.search(answer) if isinstance(answer, str) else None
    return next(filter(None, found.groups())) if found else ""


def _is_blocked(answer: Any) -> bool:
    return isinstance(answer, str) and answer.startswith(BLOCKED_PREFIX)


def find_field(sources: Mapping[str, Row], names: Sequence[str]) -> FieldValue:
    """Return the first name in `names` that has a value in any source, and the value; ("", None) if no name
    has a value.
    """
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
    """An evaluation harness.

    Attributes:
        is_log_row: Whether a row is from a log of this harness.
        parse_row: Parses a row.
        hint: What to do if a row has no item id.
    """

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
        "put each item's item_id into VLMEvalKit's column `index`; row numbers are not item ids, and spreadsheets drop leading zeros",
    ),
}


# Abstention labels are copied to the rows unchanged.
PASSED_THROUGH_FIELDS = ("p_answerable", "abstained")


def convert_log_rows(
    rows: Iterable[Any], path: Path, keep_raw: bool = False
) -> tuple[Iterable[Any], PredictionFileInfo, list[str]]:
    """Convert rows of a log to rows of predictions. Rows of no known harness are returned unchanged.

    Args:
        rows: Rows of any file.
        path: The file, for messages.
        keep_raw: Keep reasoning and chat template tokens in the answers.

    Returns:
        Rows with item_id, prediction and (if there is one) confidence; how the log was read; and the faults
        of the rows.

    Raises:
        UserError: A row of a log is not an object.
    """
    rest = iter(rows)
    first = next(rest, None)
    if first is None:
        return [], PredictionFileInfo(), []
    if isinstance(first, dict):
        for name, harness in HARNESSES.items():
            if harness.is_log_row(first):
                with pause_garbage_collection():
                    samples = list(_parse_samples(harness.parse_row, chain([first], rest), path))
                    return _convert_samples(name, samples, keep_raw)
    first_row = as_mapping(first)
    keys_with_value = [key for key, value in first_row.items() if value is not None]
    id_field, answer_field = (
        find_column(aliases, keys_with_value) or find_column(aliases, first_row) or ""
        for aliases in (ITEM_ID_COLUMNS, PREDICTION_COLUMNS)
    )
    confidence_field = "confidence" if first_row.get("confidence") not in (None, "") else ""
    suffix = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".").upper()
    file_info = PredictionFileInfo(
        f"plain {suffix or 'JSON'}",
        id_field,
        answer_field,
        confidence_field,
        columns=tuple(map(str, first_row)),
    )
    return chain([first], rest), file_info, []


def get_log_samples(value: Any, path: Path) -> list[Any] | None:
    """Return the samples of an inspect_ai log, which is one JSON object; None if the value is not such a log.

    Raises:
        UserError: The value is the results file that lmms-eval writes in addition to its log.
    """
    keys = value.keys() if isinstance(value, dict) else set()
    if {"results", "configs"} <= keys:
        raise UserError(
            f"{path}: lmms-eval's results, without the responses; expected the file *_samples_*.jsonl beside it, which "
            "lmms-eval writes with --log_samples"
        )
    return (value.get("samples") or []) if {"eval", "plan"} <= keys else None


def _parse_samples(sample_of: Callable[[Row], Sample], rows: Iterable[Any], path: Path) -> Iterator[Sample]:
    """Yield the sample of each item.

    A question that was asked once for several items yields a sample for each item.
    """
    for row in rows:
        if not isinstance(row, dict):
            raise UserError(f"{path}: a row of the log is {row!r:.60}, expected an object")
        sample = sample_of(row)
        for item in sample.shared_item_ids or [sample.id[1]]:
            yield sample._replace(id=(sample.id[0], item))


def _convert_samples(
    harness: str, samples: Sequence[Sample], keep_raw: bool
) -> tuple[list[Any], PredictionFileInfo, list[str]]:
    """Convert samples with an answer to rows.

    If an item was run several times, its first epoch with an answer is used.
    """
    named = [_with_final_answer(sample, keep_raw) for sample in samples if sample.id[1] is not None]
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
        names = format_count(len(nameless), "sample names", "samples name")
        faults.append(f"{names} no item, number {join_examples(nameless)}: {HARNESSES[harness].hint}")
    empty_replies = {
        str(sample.id[1]): FILTERED if sample.is_filtered else EMPTY
        for sample in kept
        if isinstance(sample.answer[1], str) and not has_text(sample.answer[1])
    }
    notes = tuple(_describe_choices(samples))
    file_info = PredictionFileInfo(harness, *used, failures=failed, notes=notes, empty_replies=empty_replies)
    return rows, file_info, faults


def _with_final_answer(sample: Sample, keep_raw: bool) -> Sample:
    """Replace the reply of a sample by its final answer.

    A reply that a filter removed becomes an empty reply.
    """
    if sample.is_filtered and not sample.failure:
        return sample._replace(answer=(sample.answer[0], ""))
    if isinstance(sample.answer[1], float) and math.isnan(sample.answer[1]):
        return sample._replace(answer=(sample.answer[0], None))
    if keep_raw or not isinstance(sample.answer[1], str):
        return sample
    final = extract_final_answer(sample.answer[1])
    failure = sample.failure or (TRUNCATED if final.is_truncated else "")
    return sample._replace(answer=(sample.answer[0], final.text), failure=failure)


def _describe_choices(samples: Sequence[Sample]) -> Iterator[str]:
    if (most := max(sample.num_responses for sample in samples)) > 1:
        yield f"the first of up to {format_count(most, 'response')} to an item"
    if (most := max(sample.epoch for sample in samples)) > 1:
        yield f"the first answer of {format_count(most, 'epoch')}"
