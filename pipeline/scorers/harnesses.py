"""What the rows of evaluation harnesses' logs say: lmms-eval, inspect_ai, OpenAI's batches, VLMEvalKit.

A log is known by the keys of its rows, never by its file's name (docs/scores.md has the table).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Found = tuple[str, Any]  # the name of a field, "" for none, and what stands in it

IDS = ("item_id", "questionId", "question_id", "id")
CONFIDENCES = ("confidence", "p_answerable")
FAILED = "Failed to obtain answer"  # what VLMEvalKit writes in the place of an answer


class Sample(NamedTuple):
    """What a log has on one item.

    Attributes:
        beside: mappings, by the name of their field, in which a task or a scorer may have put a confidence.
        failure: why there is no answer. answers: how many responses there are; `answer` is the first.
        epoch: which of several runs of the item this is.
    """

    id: Found
    answer: Found
    beside: Mapping[str, Row]
    failure: str = ""
    answers: int = 1
    epoch: int = 1


def _lmms_eval(row: Row) -> Sample:
    """Its log has no id but what a task's `process_results` returns, as a metric or in one."""
    metrics = {
        "": row,
        **{name: value for name, value in row.items() if isinstance(value, dict) and name != "doc"},
    }
    field = "filtered_resps" if "filtered_resps" in row else "resps"
    answer, count = row.get(field), 1
    while isinstance(answer, list):
        count *= len(answer)
        answer = answer[0] if answer else None
    places = metrics | {"doc": mapping(row.get("doc"))}
    return Sample(find(places, IDS), (field, answer), metrics, answers=count)


def _inspect(row: Row) -> Sample:
    """`completion` is the text of the first choice's message, without its reasoning."""
    output, scores = mapping(row.get("output")), mapping(row.get("scores"))
    judged = {name: mapping(score) for name, score in scores.items()}
    choices, error = _dicts(output.get("choices")), mapping(row.get("error"))
    return Sample(
        ("id", row.get("id")),
        ("output.completion", output.get("completion") if choices else None),
        {
            "scores": {name: score.get("value") for name, score in judged.items()},
            **{f"scores.{name}.value": mapping(score.get("value")) for name, score in judged.items()},
            **{f"scores.{name}.metadata": mapping(score.get("metadata")) for name, score in judged.items()},
            "metadata": mapping(row.get("metadata")),
        },
        str(error.get("message") or "an error") if row.get("error") else "",
        max(len(choices), 1),
        row["epoch"] if isinstance(row.get("epoch"), int) else 1,
    )


def _openai(row: Row) -> Sample:
    """The message of a chat completion, or of a response; what it says in refusing is its answer, too. The
    probabilities of its words are not taken as confidence: a refusal may be as sure of itself as an answer."""
    response = mapping(row.get("response"))
    body = mapping(response.get("body"))
    choices = _dicts(body.get("choices"))
    if choices:
        place = "response.body.choices.0.message"
        message = mapping(choices[0].get("message"))
        field = "content" if message.get("content") is not None else "refusal"
        answer: Found = (f"{place}.{field}", message.get(field))
    else:
        parts = [part for item in _dicts(body.get("output")) for part in _dicts(item.get("content"))]
        texts = [str(part.get("text")) for part in parts if part.get("type") == "output_text"]
        answer = ("response.body.output", "".join(texts) if texts else None)
    error = mapping(row.get("error")) or mapping(body.get("error"))
    status = response.get("status_code", 200)
    failure = str(error.get("code") or error.get("message") or "") or (
        f"status {status}" if status != 200 else ""
    )
    return Sample(("custom_id", row.get("custom_id")), answer, {}, failure, max(len(choices), 1))


def _vlmevalkit(row: Row) -> Sample:
    """`answer` is the right answer there. Tables hold numbers as text."""
    said, beside = row.get("prediction"), dict(row)
    for name in CONFIDENCES:
        with suppress(ValueError, TypeError, KeyError):
            beside[name] = float(beside[name])
    failure = FAILED if isinstance(said, str) and said.startswith(FAILED) else ""
    return Sample(find({"": row}, (*IDS, "index")), ("prediction", said), {"": beside}, failure)


def find(places: Mapping[str, Row], names: Sequence[str]) -> Found:
    """The first of these names that has a value in one of the places; none where there is none."""
    for name in names:
        for place, values in places.items():
            if values.get(name) not in (None, ""):
                return f"{place}.{name}".removeprefix("."), values[name]
    return "", None


def mapping(value: Any) -> Row:
    return value if isinstance(value, dict) else {}


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


class Harness(NamedTuple):
    """Whether a row is one of a harness's log, what the row says, and what to do where it names no item."""

    writes: Callable[[Row], bool]
    sample: Callable[[Row], Sample]
    hint: str


HARNESSES: dict[str, Harness] = {
    "lmms-eval": Harness(
        lambda row: "doc_id" in row and bool({"resps", "filtered_resps"} & row.keys()),
        _lmms_eval,
        "run the tasks of the release's harness/lmms_eval, whose results hold item_id",
    ),
    "inspect_ai": Harness(
        lambda row: {"epoch", "output"} <= row.keys(),
        _inspect,
        "give each inspect_ai Sample the item's question_id as its id",
    ),
    "OpenAI batch": Harness(
        lambda row: "custom_id" in row and bool({"response", "error"} & row.keys()),
        _openai,
        "give each request the item's question_id as its custom_id",
    ),
    "VLMEvalKit": Harness(
        lambda row: {"index", "question", "prediction"} <= row.keys(),
        _vlmevalkit,
        "put each item's question_id into VLMEvalKit's column index; a row's number is none, and spreadsheets drop leading zeros",
    ),
}
