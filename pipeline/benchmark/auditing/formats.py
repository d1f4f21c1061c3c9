"""Formats of labelled sets: the public sets of `pipeline.public_sets.registry`, and files with the usual names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.core.column_aliases import COLUMN_ALIASES, find_column
from pipeline.core.errors import UserError
from pipeline.public_sets.cells import normalize_value, parse_label
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.registry import (
    KNOWN_SETS,
    NOT_YES_NO,
    YES_NO_VALUES,
    KnownSet,
    detect_set,
    file_names,
)
from pipeline.public_sets.row_sources import RowSource

# Values of a column that states whether a question is answerable.
IS_UNANSWERABLE = {"0": True, "1": False, "false": True, "true": False}
ANSWERABLE_COLUMNS, ANSWER_COLUMNS = COLUMN_ALIASES["answerable"], COLUMN_ALIASES["answer"]
# Name of the format of files with the usual names of columns.
VQA_STYLE = "VQA style"


class ParsedRows(NamedTuple):
    """The columns of a set after parsing, [n] each.

    Attributes:
        texts: Questions.
        labels: True, False, a string that states why the row is excluded, or None if the label is missing or
            unknown.
        images, ids: Names of images and ids of rows, or None if the format has no images or no ids.
        label_names: Names of the labels False and True.
        source_ids: Id of the source question of each row, or None if the format has no such ids. A row is its
            source question or was made from it.
    """

    texts: Sequence[Any]
    labels: Sequence[bool | str | None]
    images: Sequence[Any] | None
    ids: Sequence[Any] | None
    label_names: tuple[str, str]
    source_ids: Sequence[Any] | None = None


def parse_items(known: KnownSet, items: Sequence[SetItem]) -> ParsedRows:
    """Return the items of a public set as columns.

    The text of a row contains everything that a model sees: the hint, the question and the options.
    """
    texts = [
        "\n".join(
            [
                *([item.hint] if item.hint else []),
                item.question,
                *(f"{letter}. {text}" for letter, text in item.options.items()),
            ]
        )
        for item in items
    ]
    figures = [item.details[known.figure_detail] if known.figure_detail else item.image for item in items]
    return ParsedRows(
        texts,
        [known.label(item) for item in items],
        figures if any(figures) else None,
        [item.id for item in items],
        known.label_names,
        [item.details[known.source_detail] for item in items] if known.source_detail else None,
    )


def parse_vqa_style(source: RowSource) -> ParsedRows:
    """Read questions, images and answers under their common column names.

    There are two cases. If a column states whether a question is answerable, or if some answer is
    "unanswerable", the label is whether the question is unanswerable. Otherwise the label is whether the
    answer is "yes", and rows with other answers than "yes" and "no" are excluded.
    """
    text, image, ids = (
        find_column(names, source.columns) for names in (TEXT_COLUMNS, IMAGE_COLUMNS, ID_COLUMNS)
    )
    column = find_column(ANSWERABLE_COLUMNS, source.columns)
    label_names, labels = ("answerable", "unanswerable"), []
    if column:
        labels = [parse_label(value, IS_UNANSWERABLE) for value in source.column(column)]
    elif answer := find_column(ANSWER_COLUMNS, source.columns):
        answers = [normalize_value(value).lower().rstrip(".") for value in source.column(answer)]
        labels = [value == "unanswerable" if value else None for value in answers]
        if True not in labels:
            label_names = ("no", "yes")
            labels = [YES_NO_VALUES.get(value, NOT_YES_NO) if value else None for value in answers]
    return ParsedRows(
        source.column(text or ""),
        labels,
        source.column(image) if image else None,
        source.column(ids) if ids else None,
        label_names,
    )


TEXT_COLUMNS, IMAGE_COLUMNS, ID_COLUMNS = (
    COLUMN_ALIASES["question"],
    COLUMN_ALIASES["image"],
    COLUMN_ALIASES["question id"],
)


def detect_format(columns: Sequence[str], source: str) -> str:
    """Return the name of the format that has these columns.

    Raises:
        UserError: No format has these columns. The message states what is missing.
    """
    if known := detect_set(columns, source):
        return known.name
    text, answer = (
        find_column(TEXT_COLUMNS, columns),
        find_column((*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS), columns),
    )
    if text and answer:
        return VQA_STYLE
    missing = [f"a text ({', '.join(TEXT_COLUMNS)})"] if not text else []
    missing += (
        [f"a label or answer ({', '.join((*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS))})"] if not answer else []
    )
    more = "; for VQA v2 or TDIUC also give --annotations FILE" if text and not answer else ""
    raise UserError(
        f"{source}: unknown format; its columns {', '.join(map(str, columns)) or '(none)'} lack"
        f" {' and '.join(missing)}. Name the columns: --text-column NAME --label-column NAME [--image-column NAME]{more}"
    )


KNOWN_SETS_BY_NAME = {known.name: known for known in KNOWN_SETS}


def parse_format(name: str, source: RowSource, file: str) -> ParsedRows:
    """Read rows in the format of this name."""
    known = KNOWN_SETS_BY_NAME.get(name)
    return (
        parse_items(known, known.read(source, file_names(source, file))) if known else parse_vqa_style(source)
    )


def label_columns(name: str) -> Sequence[str]:
    """Return the columns that may contain the labels of a format; () for columns that the user named."""
    if name == VQA_STYLE:
        return (*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS)
    return KNOWN_SETS_BY_NAME[name].label_columns if name in KNOWN_SETS_BY_NAME else ()
