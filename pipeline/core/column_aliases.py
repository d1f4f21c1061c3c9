"""Recognize columns of user tables (predictions, questions and other benchmarks) by their usual names.

Case, blanks and hyphens do not matter: "Question ID", "question-id" and "QUESTION_ID" are `question_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

# Content of a column -> names that the column may have, the most specific name first. Until version 0.15,
# this project itself wrote "picture" for "image".
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
            "picture",
            "image_id",
            "imageId",
            "img_id",
            "picture_id",
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
    """Return the usual spelling of a column name.

    Args:
        header_name: The name in the header of a table.
        extra_names: Names that are recognized in addition to `COLUMN_ALIASES`, in lower case with
            underscores.

    Returns:
        The usual spelling. If the name is not recognized, the name itself without surrounding blanks.

    Example:
        >>> normalize_column_name(" Question ID"), normalize_column_name("QUESTIONID")
        ('question_id', 'questionId')
        >>> normalize_column_name("Full answer", ["full_answer"]), normalize_column_name("My Column")
        ('full_answer', 'My Column')
    """
    name = str(header_name).strip()
    plain = name.casefold()
    joined = "_".join(plain.replace("-", " ").split())
    if joined in extra_names:
        return joined
    return _CANONICAL_NAMES.get(plain) or _CANONICAL_NAMES.get(joined, name)


def find_column(names: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return the first of `names` that is among `columns`; None if there is none."""
    known = set(columns)
    return next((name for name in names if name in known), None)


def get_first_value(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the value of the first of `names` whose value in `row` is not None; None if there is no such
    name.
    """
    return next((row[name] for name in names if row.get(name) is not None), None)
