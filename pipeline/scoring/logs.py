"""Logs of evaluation harnesses as rows of predictions, and how any file of predictions was read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.column_aliases import ITEM_ID_COLUMNS, PREDICTION_COLUMNS, find_column
from ..core.errors import UserError, format_count, join_examples
from .harness_logs import (
    CONFIDENCE_FIELDS,
    EMPTY,
    FILTERED,
    HARNESSES,
    TRUNCATED,
    Row,
    Sample,
    as_mapping,
    find_field,
)
from .input_validation import pause_garbage_collection
from .joined_predictions import PredictionFileInfo
from .normalize import has_text
from .reasoning_parser import extract_final_answer

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
