"""Read any set as texts, two labels and images: known formats need no options, of others the user names the columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from pipeline.benchmark.auditing.formats import FORMATS, RowsRead, format_of, plain
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.row_sources import Rows
from pipeline.core.column_aliases import first_of, known_name
from pipeline.core.errors import Problems, UserError, counted
from pipeline.core.table_reader import rows_named

# Of two values the one that counts as 1, if neither is chosen.
ONES = {"yes", "1", "true", "uq", "unanswerable", "invalid", "positive"}
LONGEST = 5000  # characters of a text: some attackers look at all pairs of its words


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
    source: Rows
    places: np.ndarray
    meaning: tuple[str, str]
    left_out: dict[str, int] = field(default_factory=dict)

    def at(self, keep: Sequence[int] | np.ndarray) -> LabelledSet:
        """The rows at these places, in this order."""
        rows = cast(LabelledSet, LabelledRows.at(self, keep))
        return replace(rows, places=self.places[np.asarray(keep, int)])


class Columns(NamedTuple):
    """Options of the command line.

    Attributes:
        text, label, group: Names of columns.
        positive: The label's value that counts as 1.
        where: A column, and the value that a row must have there to count.
    """

    text: str | None = None
    label: str | None = None
    group: str | None = None
    positive: str | None = None
    where: tuple[str, str] | None = None


def read_set(source: Rows, name: str, asked: Columns = Columns()) -> LabelledSet:  # noqa: B008 it cannot change
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
    text, label, group = (_as_read(source, column) for column in (asked.text, asked.label, asked.group))
    where = asked.where and (_as_read(source, asked.where[0]) or "", asked.where[1])
    asked = asked._replace(text=text, label=label, group=group, where=where)
    named = [asked.text, asked.label, asked.group, asked.where and asked.where[0]]
    for column in named:
        if column is not None and column not in source.columns:
            problems.add(column, f"no such column; there are {', '.join(map(str, source.columns))}")
    problems.raise_if_any()
    if (asked.text is None) != (asked.label is None):
        raise UserError(f"{name}: give --text and --label together, or neither")
    if asked.positive is not None and asked.label is None:
        raise UserError(f"{name}: --positive is a value of --label; name that column and --text, too")
    form = "columns as asked" if asked.text else format_of(source.columns, name)
    reading = as_asked(source, asked, name) if asked.text else FORMATS[form].read(source)
    if asked.group is not None:
        reading = reading._replace(images=source.column(asked.group))
    places = np.arange(len(source))
    if asked.where:
        column, value = asked.where
        places = np.flatnonzero([plain(cell) == value for cell in source.column(column)])
        if not len(places):
            raise UserError(f"{name}: no row has {value!r} in {column}")
    return checked(form, source, reading, places, problems)


def _as_read(source: Rows, column: str | None) -> str | None:
    """A column that was asked for as its header is written, by the name that it is read by."""
    return column if column is None or column in source.columns else known_name(column)


def checked(
    form: str, source: Rows, reading: RowsRead, places: np.ndarray, problems: Problems
) -> LabelledSet:
    """The rows that have one of the labels, once nothing is wrong with them."""
    reasons = Counter(reason for i in places if isinstance(reason := reading.labels[i], str))
    places = np.array([i for i in places if not isinstance(reading.labels[i], str)], int)

    def tell(which: list[int], what: str) -> None:
        if which:
            problems.add(rows_named([i + 1 for i in which]), what)

    tell([i for i in places if not has_words(reading.texts[i])], "its text is none, or has no words")
    long = [i for i in places if len(str(reading.texts[i] or "")) > LONGEST]
    tell(long, f"its text is longer than {LONGEST:,} characters; is it the right column?")
    tell([i for i in places if reading.labels[i] is None], "it has no label that is known")
    if reading.images is not None:
        tell([i for i in places if plain(reading.images[i]) == ""], "it has no image; see --group")
    if reading.ids is not None:
        counts = Counter(plain(reading.ids[i]) for i in places)
        tell([i for i in places if counts[plain(reading.ids[i])] > 1], "its id is not its alone")
    labels = np.array([reading.labels[i] is True for i in places], int)
    if len(set(labels.tolist())) < 2:
        missing = reading.meaning[0 if 1 in labels else 1]
        problems.add(
            "labels",
            f"wanted two kinds, but none of {counted(len(places) or len(source), 'row')} is {missing!r}{label_values(form, source)}",
        )
    images = None
    if reading.images is not None:
        images = [plain(reading.images[i]) for i in places]
        if len(set(images)) == 1:
            problems.add("images", "all rows have the same one; name another column: --group NAME")
    problems.raise_if_any()
    return LabelledSet(
        texts=[reading.texts[i] for i in places],
        labels=labels,
        images=images,
        source_ids=None if reading.source_ids is None else [str(reading.source_ids[i]) for i in places],
        format=form,
        source=source,
        places=places,
        meaning=reading.meaning,
        left_out=dict(reasons.most_common()),
    )


def label_values(form: str, source: Rows) -> str:
    """What the column of a format's labels holds, as JSON, so that true and "true" look different."""
    column = first_of(FORMATS[form].labels, source.columns) if form in FORMATS else None
    if column is None:
        return ""
    counts = Counter(json.dumps(value, default=repr) for value in source.column(column))
    common = ", ".join(f"{value[:40]} ({count:,})" for value, count in counts.most_common(4))
    return f"; {column} holds {common}; for other values give --text NAME --label NAME --positive VALUE"


def has_words(text: object) -> bool:
    return isinstance(text, str) and any(map(str.isalnum, text))


def as_asked(source: Rows, asked: Columns, name: str) -> RowsRead:
    """The columns that were named. Labels are two values, or one and all others."""
    assert asked.text is not None and asked.label is not None
    values = [plain(value) for value in source.column(asked.label)]
    counts = Counter(value for value in values if value)
    common = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(8))
    if asked.positive is not None and asked.positive not in counts:
        raise UserError(
            f"{name}: no row has {asked.positive!r} in {asked.label}; {f'the commonest are {common}' if common else 'that column is empty'}"
        )
    if asked.positive is None and len(counts) > 2:
        raise UserError(
            f"{name}: {asked.label} has {len(counts):,} values ({common}); say which counts against all others: --positive VALUE"
        )
    one = asked.positive or next((v for v in sorted(counts) if v.lower() in ONES), max(counts, default="1"))
    others = [value for value in counts if value != one]
    zero = others[0] if len(others) == 1 else f"not {one}"
    labels = [value == one if value else None for value in values]
    return RowsRead(source.column(asked.text), labels, None, None, (zero, one))
