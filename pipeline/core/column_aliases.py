"""The names of columns in tables that users bring: predictions, their own questions and other benchmarks.

A column is known however it is written: "Question ID", "question-id" and "QUESTION_ID" are `question_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

# By what a column holds, the names that it may have, the most specific first.
COLUMN_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "item id": ("item_id", "questionId", "question_id", "id"),
        "question id": ("question_id", "questionId", "qid", "id"),
        "prediction": ("prediction", "answer"),
        "confidence": ("confidence", "p_answerable"),
        "abstention": ("p_answerable", "abstained"),
        "version": ("benchmark_version", "version"),
        "question": ("question", "sent", "text"),
        "image": (
            "image",
            "image_id",
            "imageId",
            "img_id",
            "image_id",
            "image_source",
            "image",
            "filename",
        ),
        "answer": ("answer", "gt_answer", "multiple_choice_answer", "label"),
        "answerable": ("answerable", "is_answerable"),
    }
)
ITEM_ID_COLUMNS, PREDICTION_COLUMNS = COLUMN_ALIASES["item id"], COLUMN_ALIASES["prediction"]
_CANONICAL_NAMES = {name.casefold(): name for names in COLUMN_ALIASES.values() for name in names}


def normalize_column_name(header_name: object, extra_names: Iterable[str] = ()) -> str:
    """Return the known name of a column, however a header writes it.

    Args:
        more: further names that are known, in lower case with underscores.

    Returns:
        The known name; for an unknown column its own name, without the blanks around it.

    >>> known_name(" Question ID"), known_name("QUESTIONID"), known_name("Full answer", ["full_answer"]), known_name("My Column")
    ('question_id', 'questionId', 'full_answer', 'My Column')
    """
    name = str(header_name).strip()
    plain = name.casefold()
    joined = "_".join(plain.replace("-", " ").split())
    if joined in extra_names:
        return joined
    return _CANONICAL_NAMES.get(plain) or _CANONICAL_NAMES.get(joined, name)


def find_column(names: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return the first of these names that a table or a row has."""
    known = set(columns)
    return next((name for name in names if name in known), None)


def get_first_value(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return a row's value under the first of these names that has one."""
    return next((row[name] for name in names if row.get(name) is not None), None)
