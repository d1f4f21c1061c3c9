"""Read any set as texts, two labels and images: known formats need no options, of others the user names the columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from pipeline.benchmark.auditing.formats import FORMATS, ParsedRows, detect_format, normalize_value
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.row_sources import RowSource
from pipeline.core.column_aliases import find_column, normalize_column_name
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.table_reader import format_row_numbers

# Of two values the one that counts as 1, if neither is chosen.
POSITIVE_VALUES = {"yes", "1", "true", "uq", "unanswerable", "invalid", "positive"}
MAX_TEXT_LENGTH = 5000  # characters of a text: some attackers look at all pairs of its words


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet(LabelledRows):
    """Rows of a file or a data set that have one of two labels.

    Attributes:
        format: How the set was read.
        source: Where all rows are.
        places: [n], the place of each row in the source.
        meaning: What the labels 0 and 1 stand for.
        left_out: How many rows of the source do not count, by reason.
    """

    format: str
    source: RowSource
    row_indices: np.ndarray
    label_names: tuple[str, str]
    excluded_rows: dict[str, int] = field(default_factory=dict)

    def select(self, indices: Sequence[int] | np.ndarray) -> LabelledSet:
        """The rows at these places, in this order."""
        rows = cast(LabelledSet, LabelledRows.select(self, indices))
        return replace(rows, row_indices=self.row_indices[np.asarray(indices, int)])


class ColumnOptions(NamedTuple):
    """Options of the command line.

    Attributes:
        text, label, group: Names of columns.
        positive: The label's value that counts as 1.
        where: A column, and the value that a row must have there to count.
    """

    text: str | None = None
    label: str | None = None
    image: str | None = None
    positive_label: str | None = None
    where: tuple[str, str] | None = None


def load_labelled_set(source: RowSource, name: str, options: ColumnOptions = ColumnOptions()) -> LabelledSet:  # noqa: B008 it cannot change
    """Read a set by its format, or by the columns asked for.

    Args:
        source: Its rows.
        name: The set's name, for messages.
        asked: Columns that the user named.

    Raises:
        UserError: lists columns that are missing; or rows without text or label, repeated ids, one label, one image.
    """
    problems = Problems(name)
    if not len(source):
        raise UserError(f"{name}: it has no rows")
    text, label, group = (
        _resolve_column(source, column) for column in (options.text, options.label, options.image)
    )
    where = options.where and (_resolve_column(source, options.where[0]) or "", options.where[1])
    options = options._replace(text=text, label=label, image=group, where=where)
    named = [options.text, options.label, options.image, options.where and options.where[0]]
    for column in named:
        if column is not None and column not in source.columns:
            problems.add(column, f"no such column; there are {', '.join(map(str, source.columns))}")
    problems.raise_if_any()
    if (options.text is None) != (options.label is None):
        raise UserError(f"{name}: give --text-column and --label-column together, or neither")
    if options.positive_label is not None and options.label is None:
        raise UserError(
            f"{name}: --positive-label is a value of --label-column; name that column and --text-column, too"
        )
    form = "columns as asked" if options.text else detect_format(source.columns, name)
    reading = parse_named_columns(source, options, name) if options.text else FORMATS[form].parse(source)
    if options.image is not None:
        reading = reading._replace(images=source.column(options.image))
    places = np.arange(len(source))
    if options.where:
        column, value = options.where
        places = np.flatnonzero([normalize_value(cell) == value for cell in source.column(column)])
        if not len(places):
            raise UserError(f"{name}: no row has {value!r} in {column}")
    return validate_rows(form, source, reading, places, problems)


def _resolve_column(source: RowSource, column: str | None) -> str | None:
    """A column that was asked for as its header is written, by the name that it is read by."""
    return column if column is None or column in source.columns else normalize_column_name(column)


def validate_rows(
    format_name: str, source: RowSource, parsed: ParsedRows, row_indices: np.ndarray, problems: Problems
) -> LabelledSet:
    """The rows that have one of the labels, once nothing is wrong with them."""
    reasons = Counter(reason for i in row_indices if isinstance(reason := parsed.labels[i], str))
    row_indices = np.array([i for i in row_indices if not isinstance(parsed.labels[i], str)], int)

    def tell(which: list[int], what: str) -> None:
        if which:
            problems.add(format_row_numbers([i + 1 for i in which]), what)

    tell([i for i in row_indices if not has_words(parsed.texts[i])], "its text is none, or has no words")
    long = [i for i in row_indices if len(str(parsed.texts[i] or "")) > MAX_TEXT_LENGTH]
    tell(long, f"its text is longer than {MAX_TEXT_LENGTH:,} characters; is it the right column?")
    tell([i for i in row_indices if parsed.labels[i] is None], "it has no label that is known")
    if parsed.images is not None:
        tell(
            [i for i in row_indices if normalize_value(parsed.images[i]) == ""],
            "it has no image; see --image-column",
        )
    if parsed.ids is not None:
        counts = Counter(normalize_value(parsed.ids[i]) for i in row_indices)
        tell(
            [i for i in row_indices if counts[normalize_value(parsed.ids[i])] > 1], "its id is not its alone"
        )
    labels = np.array([parsed.labels[i] is True for i in row_indices], int)
    if len(set(labels.tolist())) < 2:
        missing = parsed.label_names[0 if 1 in labels else 1]
        problems.add(
            "labels",
            f"wanted two kinds, but none of {format_count(len(row_indices) or len(source), 'row')} is {missing!r}{describe_label_values(format_name, source)}",
        )
    images = None
    if parsed.images is not None:
        images = [normalize_value(parsed.images[i]) for i in row_indices]
        if len(set(images)) == 1:
            problems.add("images", "all rows have the same one; name another column: --image-column NAME")
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
    )


def describe_label_values(form: str, source: RowSource) -> str:
    """What the column of a format's labels holds, as JSON, so that true and "true" look different."""
    column = find_column(FORMATS[form].label_columns, source.columns) if form in FORMATS else None
    if column is None:
        return ""
    counts = Counter(json.dumps(value, default=repr) for value in source.column(column))
    common = ", ".join(f"{value[:40]} ({count:,})" for value, count in counts.most_common(4))
    return f"; {column} holds {common}; for other values give --text-column NAME --label-column NAME --positive-label VALUE"


def has_words(text: object) -> bool:
    return isinstance(text, str) and any(map(str.isalnum, text))


def parse_named_columns(source: RowSource, options: ColumnOptions, name: str) -> ParsedRows:
    """The columns that were named. Labels are two values, or one and all others."""
    assert options.text is not None and options.label is not None
    values = [normalize_value(value) for value in source.column(options.label)]
    counts = Counter(value for value in values if value)
    common = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(8))
    if options.positive_label is not None and options.positive_label not in counts:
        raise UserError(
            f"{name}: no row has {options.positive_label!r} in {options.label}; {f'the commonest are {common}' if common else 'that column is empty'}"
        )
    if options.positive_label is None and len(counts) > 2:
        raise UserError(
            f"{name}: {options.label} has {len(counts):,} values ({common}); say which counts against all others: --positive-label VALUE"
        )
    one = options.positive_label or next(
        (v for v in sorted(counts) if v.lower() in POSITIVE_VALUES), max(counts, default="1")
    )
    others = [value for value in counts if value != one]
    zero = others[0] if len(others) == 1 else f"not {one}"
    labels = [value == one if value else None for value in values]
    return ParsedRows(source.column(options.text), labels, None, None, (zero, one))
