"""Read any set of questions with two labels.

Known formats need no options. For other formats the user names the columns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from pipeline.benchmark.auditing.formats import (
    ParsedRows,
    detect_format,
    label_columns,
    parse_format,
    parse_items,
)
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.core.column_aliases import find_column, normalize_column_name
from pipeline.core.errors import Problems, UserError
from pipeline.core.table_reader import format_row_numbers
from pipeline.public_sets.cells import normalize_value
from pipeline.public_sets.open_set import OpenedRows, find_public_rows, read_items
from pipeline.public_sets.row_sources import RowSource, open_labelled_rows

# If the user names no positive label, a value in this list counts as label 1.
POSITIVE_VALUES = {"yes", "1", "true", "uq", "unanswerable", "invalid", "positive"}
# Maximum number of characters of a text. Some attackers use all pairs of words, so their run time is
# quadratic in the length of the text.
MAX_TEXT_LENGTH = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet(LabelledRows):
    """Rows of a file or a data set with one of two labels.

    Attributes:
        format: Name of the format.
        source: All rows of the file or data set.
        row_indices: [n] index of each row in the source.
        label_names: Names of the labels 0 and 1.
        excluded_rows: Reason -> number of excluded rows of the source.
        ids: [n] ids of the rows; the numbers of the rows, from 1, if the format has no ids. () for a set without a file.
    """

    format: str
    source: RowSource
    row_indices: np.ndarray
    label_names: tuple[str, str]
    excluded_rows: dict[str, int] = field(default_factory=dict)
    ids: Sequence[str] = ()

    def select(self, indices: Sequence[int] | np.ndarray) -> LabelledSet:
        """Return the rows with these indices, in this order."""
        rows = cast(LabelledSet, LabelledRows.select(self, indices))
        return replace(
            rows,
            row_indices=self.row_indices[np.asarray(indices, int)],
            ids=[self.ids[i] for i in indices] if self.ids else (),
        )


class ColumnOptions(NamedTuple):
    """Command-line options that name columns.

    Attributes:
        text, label, image: Names of the columns of texts, labels and images, or None if not given.
        positive_label: The value of the label column that counts as label 1, or None if not given.
        where: The name of a column and the value that rows must have in this column, or None to use all rows.
    """

    text: str | None = None
    label: str | None = None
    image: str | None = None
    positive_label: str | None = None
    where: tuple[str, str] | None = None


def make_column_options(
    text: str | None = None,
    label: str | None = None,
    image: str | None = None,
    positive_label: str | None = None,
    where: str | None = None,
) -> ColumnOptions:
    """Return the options that name columns, from what the user typed.

    Args:
        text, label, image, positive_label: As in `ColumnOptions`.
        where: COLUMN=VALUE; None to use all rows.

    Raises:
        UserError: `where` has another form.

    >>> make_column_options(where="split=test=1").where
    ('split', 'test=1')
    """
    column, equals, value = (where or "").partition("=")
    if where is not None and not (column and equals):
        raise UserError(f"--where is {where!r}; expected COLUMN=VALUE")
    return ColumnOptions(text, label, image, positive_label, (column, value) if where else None)


def open_labelled_set(
    source: str,
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 (immutable)
    annotations: Path | None = None,
    config: str | None = None,
    split: str | None = None,
) -> LabelledSet:
    """Open and read a set: the file or folder of a public set, a table, or a data set that the library `datasets` loads.

    Args:
        source: Path of a file or folder, or name of a data set on the Hugging Face hub.
        options: The columns that the user named.
        annotations, config, split: As in `open_labelled_rows`.

    Raises:
        UserError: The set cannot be read. The message lists all faults.
    """
    is_plain = not (annotations or config or split or options.text)
    if is_plain and (public := find_public_rows(Path(source))):
        return load_labelled_set(public.rows, source, options, public)
    return load_labelled_set(open_labelled_rows(source, annotations, config, split), source, options)


def load_labelled_set(
    source: RowSource,
    name: str,
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 (immutable)
    public: OpenedRows | None = None,
) -> LabelledSet:
    """Read a set by its format, or by the columns that the user named.

    Args:
        source: The rows.
        name: The name of the set, for messages.
        options: The columns that the user named.
        public: The rows as those of a public set, if they are recognized already.

    Raises:
        UserError: Columns are missing, rows have no text or no label, an id occurs more than once, or there
            is only one label or only one image. The message lists all faulty rows.
    """
    problems = Problems(name)
    if not len(source):
        raise UserError(f"{name}: no rows")
    text, label, image = (
        _resolve_column(source, column) for column in (options.text, options.label, options.image)
    )
    where = options.where and (_resolve_column(source, options.where[0]) or "", options.where[1])
    options = options._replace(text=text, label=label, image=image, where=where)
    named = [options.text, options.label, options.image, options.where and options.where[0]]
    for column in named:
        if column is not None and column not in source.columns:
            problems.add(column, f"no such column; the columns are {', '.join(map(str, source.columns))}")
    problems.raise_if_any()
    if (options.text is None) != (options.label is None):
        raise UserError(f"{name}: give --text-column and --label-column together, or neither")
    if options.positive_label is not None and options.label is None:
        raise UserError(
            f"{name}: --positive-label is a value of --label-column; give --label-column and --text-column, too"
        )
    if options.text:
        format_name, parsed = "named columns", parse_named_columns(source, options, name)
    elif public:
        format_name, parsed = public.known.name, parse_items(public.known, read_items(public))
    else:
        format_name = detect_format(source.columns, name)
        parsed = parse_format(format_name, source, name)
    if options.image is not None:
        parsed = parsed._replace(images=source.column(options.image))
    row_indices = np.arange(len(source))
    if options.where:
        column, value = options.where
        row_indices = np.flatnonzero([normalize_value(cell) == value for cell in source.column(column)])
        if not len(row_indices):
            raise UserError(f"{name}: no row has {value!r} in {column}")
    return validate_rows(format_name, source, parsed, row_indices, problems)


def _resolve_column(source: RowSource, column: str | None) -> str | None:
    """Return the internal name of a column. The user gives the name as it is written in the header."""
    return column if column is None or column in source.columns else normalize_column_name(column)


def validate_rows(
    format_name: str, source: RowSource, parsed: ParsedRows, row_indices: np.ndarray, problems: Problems
) -> LabelledSet:
    """Check the rows, and exclude those that the parser marked. It marks a row by storing the reason, a string, in place of the label.

    Args:
        format_name: The name of the format.
        source: All rows of the file or data set.
        parsed: The parsed columns of all rows.
        row_indices: The indices of the rows to use.
        problems: The collector of faults.

    Raises:
        UserError: Some rows are faulty. The message lists all faults.
    """
    reasons = Counter(reason for i in row_indices if isinstance(reason := parsed.labels[i], str))
    row_indices = np.array([i for i in row_indices if not isinstance(parsed.labels[i], str)], int)

    def report(which: list[int], what: str) -> None:
        if which:
            problems.add(format_row_numbers([i + 1 for i in which]), what)

    report([i for i in row_indices if not has_words(parsed.texts[i])], "the text is missing or has no words")
    long = [i for i in row_indices if len(str(parsed.texts[i] or "")) > MAX_TEXT_LENGTH]
    report(long, f"the text is longer than {MAX_TEXT_LENGTH:,} characters; is it the right column?")
    report([i for i in row_indices if parsed.labels[i] is None], "the label is missing or unknown")
    if parsed.images is not None:
        report(
            [i for i in row_indices if normalize_value(parsed.images[i]) == ""],
            "the image is missing; see --image-column",
        )
    if parsed.ids is not None:
        counts = Counter(normalize_value(parsed.ids[i]) for i in row_indices)
        report(
            [i for i in row_indices if counts[normalize_value(parsed.ids[i])] > 1],
            "the id occurs more than once",
        )
    labels = np.array([parsed.labels[i] is True for i in row_indices], int)
    if len(set(labels.tolist())) < 2:
        missing = parsed.label_names[0 if 1 in labels else 1]
        problems.add(
            "labels",
            f"no row has the label {missing!r}, but two labels are needed{describe_label_values(format_name, source)}",
        )
    images = None
    if parsed.images is not None:
        images = [normalize_value(parsed.images[i]) for i in row_indices]
        if len(set(images)) == 1:
            problems.add("images", "all rows have the same image; name another column with --image-column")
    problems.raise_if_any()
    return LabelledSet(
        texts=[parsed.texts[i] for i in row_indices],
        labels=labels,
        images=images,
        source_ids=None if parsed.source_ids is None else [str(parsed.source_ids[i]) for i in row_indices],
        format=format_name,
        source=source,
        row_indices=row_indices,
        label_names=parsed.label_names,
        excluded_rows=dict(reasons.most_common()),
        ids=[str(i + 1) if parsed.ids is None else normalize_value(parsed.ids[i]) for i in row_indices],
    )


def describe_label_values(form: str, source: RowSource) -> str:
    """Describe the values of the label column of a format.

    The values are written as JSON, so that true and "true" look different.
    """
    column = find_column(label_columns(form), source.columns)
    if column is None:
        return ""
    counts = Counter(json.dumps(value, default=repr) for value in source.column(column))
    common = ", ".join(f"{value[:40]} ({count:,})" for value, count in counts.most_common(4))
    return (
        f"; {column} has the values {common}; to use other values as labels, give --text-column NAME --label-column NAME"
        " --positive-label VALUE"
    )


def has_words(text: object) -> bool:
    return isinstance(text, str) and any(map(str.isalnum, text))


def parse_named_columns(source: RowSource, options: ColumnOptions, name: str) -> ParsedRows:
    """Read the columns that the user named.

    The two labels are the two values of the label column, or the positive label and all other values.
    """
    assert options.text is not None and options.label is not None
    values = [normalize_value(value) for value in source.column(options.label)]
    counts = Counter(value for value in values if value)
    common = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(8))
    if options.positive_label is not None and options.positive_label not in counts:
        raise UserError(
            f"{name}: no row has {options.positive_label!r} in {options.label};"
            f" {f'the most common values are {common}' if common else 'that column is empty'}"
        )
    if options.positive_label is None and len(counts) > 2:
        raise UserError(
            f"{name}: {options.label} has {len(counts):,} values ({common}); choose the one that counts as label 1:"
            " --positive-label VALUE"
        )
    one = options.positive_label or next(
        (v for v in sorted(counts) if v.lower() in POSITIVE_VALUES), max(counts, default="1")
    )
    others = [value for value in counts if value != one]
    zero = others[0] if len(others) == 1 else f"not {one}"
    labels = [value == one if value else None for value in values]
    return ParsedRows(source.column(options.text), labels, None, None, (zero, one))
