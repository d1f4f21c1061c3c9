"""A table of several models: scores with intervals, and letters that say which are told apart.

Intervals resample pictures, the same draws for all models. The differences of all pairs have intervals that hold together
(`differences.simultaneous`: Montiel Olea and Plagborg-M\u00f8ller, 2019), so that with many models no more than one table in twenty tells
any two apart by chance.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import CONTROLS
from pipeline.core.pages import render
from pipeline.leaderboard.letters import letters
from pipeline.leaderboard.run_results import RunResult
from pipeline.scorers.by_kind import SHOWN as SCORES
from pipeline.scorers.differences import lower_is_better, sentence
from pipeline.scorers.model_report import ModelReport, Report
from pipeline.scorers.text_table import heading

TEMPLATE = Path(__file__).with_name("run_table.html.jinja")
MEAN = "mean"
COLUMNS = (
    "model",
    "prompt",
    "recipe",
    "subset",
    "score",
    "value",
    "low",
    "high",
    "letters",
    "items",
    "missing",
)


class TableCell(NamedTuple):
    """A score, as a share, with its 95 % interval; NaN where undefined."""

    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """
        >>> TableCell(0.5, 0.45, 0.551).text, TableCell(0.5, math.nan, math.nan).text
        ('50.0 [45.0, 55.1]', '50.0')
        """
        if math.isnan(self.value):
            return "-"
        span = "" if math.isnan(self.low + self.high) else f" [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return f"{100 * self.value:.1f}{span}"


class ModelRow(NamedTuple):
    """A model. `name`: no other row's; `model`: the same without prompt and recipe; `about`: prompt and recipe, "" where nothing is known of them; `cells`: by place (a subset, or "mean") and score; `items`, `missing`: how many were scored, and how many of them had
    no answer, by place."""

    name: str
    model: str
    about: dict[str, str]
    letters: str
    cells: dict[str, dict[str, TableCell]]
    items: dict[str, int]
    missing: dict[str, int]


class RunTable(NamedTuple):
    """Rows, best first by the score `by` at the first of `places`. `basis`: what was scored, in a line; `compared`: of two models
    alone, their difference in words."""

    basis: str
    by: str
    places: list[str]
    rows: list[ModelRow]
    compared: str = ""

    @property
    def first(self) -> str:
        return self.places[0]

    @property
    def about(self) -> list[str]:
        """What is known of any row: "prompt", "recipe"."""
        return [what for what in ("prompt", "recipe") if any(row.about[what] for row in self.rows)]


def run_table(report: Report, results: Sequence[RunResult], title: str, by: str = "auaf") -> RunTable:
    """The table of a report on these results. `title`: of the release."""
    places = list(report.models[0].places)
    names = sorted(
        (model.name for model in report.models),
        key=lambda name: _order(_cell(_model(report, name), places[0], by).value, by),
    )
    apart = [
        (one.model, one.against)
        for one in report.differences
        if (bounds := one.scores[places[0]][by].interval) and not bounds[0] <= 0 <= bounds[1]
        and not math.isnan(sum(bounds))
    ]  # fmt: skip
    lettered = letters(names, apart)
    told = {result.said.name: result for result in results}
    rows = [
        ModelRow(
            name,
            _model_of(told[name]),
            {"prompt": told[name].prompt, "recipe": told[name].recipe},
            lettered[name] if len(names) > 1 else "",
            {
                place: {score: _cell(_model(report, name), place, score) for score in SCORES}
                for place in places
            },
            *(_counts(_model(report, name), key) for key in ("items", "missing")),
        )
        for name in names
    ]
    compared = "".join(sentence(one, places[0], by) for one in report.differences) if len(names) == 2 else ""
    return RunTable(_basis(report, title), by, places, rows, compared)


def _model_of(result: RunResult) -> str:
    """A row's name without the prompt and recipe in it."""
    name = result.said.name
    for told in (f"{result.prompt}, {result.recipe}", result.prompt, result.recipe):
        name = name.replace(f" ({told})", "", 1) if told else name
    return name


def _model(report: Report, name: str) -> ModelReport:
    return next(model for model in report.models if model.name == name)


def _order(value: float, by: str) -> float:
    """Best first, undefined last."""
    return math.inf if math.isnan(value) else value if lower_is_better(by) else -value


def _cell(model: ModelReport, place: str, score: str) -> TableCell:
    groups = model.places[place]
    low, high = groups.get("intervals", {}).get(score, (math.nan, math.nan))
    return TableCell(float(groups["realistic"][score]), low, high)


def _counts(model: ModelReport, key: str) -> dict[str, int]:
    """By place; of the mean, of all subsets."""
    counts: dict[str, int] = {name: groups["counts"][key] for name, groups in model.subsets.items()}
    return {MEAN: sum(counts.values())} | counts if len(counts) > 1 else counts


def _basis(report: Report, title: str) -> str:
    bench, counts = report.benchmark, [groups["counts"] for groups in report.models[0].subsets.values()]
    each = "; ".join(
        f"{name}: {count['aqs']:,} AQs, {count['uqs']:,} UQs on {count['pictures']:,} pictures"
        for name, count in zip(report.models[0].subsets, counts, strict=True)
    )
    part = f", part {report.options['part']}" if bench["parts"] else ""
    return f"{title}{part}. {each}"


def table_markdown(table: RunTable) -> str:
    """The table at its first place, and the score `by` in each subset."""
    inner = [place for place in table.places if place != table.first]
    head = ["", "model", *table.about, *(heading(score) for score in SCORES)]
    lines = [f"{table.basis}.", "", *_lines(head, [_line(row, table) for row in table.rows])]
    if inner:
        rows = [
            [row.letters, _plain(row.name), *(row.cells[place][table.by].text for place in inner)]
            for row in table.rows
        ]
        lines += ["", f"{heading(table.by)} by subset:", "", *_lines(["", "model", *inner], rows)]
    return "\n".join([*lines, "", *(f"- {_plain(note)}" for note in notes(table))]) + "\n"


def notes(table: RunTable) -> list[str]:
    """How the table is to be read."""
    first = "the mean of the subsets" if table.first == MEAN else table.first
    told = [
        f"In %, with 95 % intervals: pictures resampled. First table: {first}, best {heading(table.by)} first."
    ]
    if table.compared:
        told.append(f"{table.compared}.")
    elif table.rows[1:]:
        told.append(
            f"Models that share a letter are not told apart in {heading(table.by)}: the 95 % intervals of all paired differences, which "
            "hold together for all pairs, include 0."
        )
    lost = [(row.missing[table.first], row.items[table.first]) for row in table.rows]
    told += [
        f"{row.name}: {missing:,} of {items:,} items without an answer, counted as answered wrong."
        for row, (missing, items) in zip(table.rows, lost, strict=True)
        if missing
    ]
    return told


def _line(row: ModelRow, table: RunTable) -> list[str]:
    names = [row.model, *(row.about[what] for what in table.about)]
    return [row.letters, *map(_plain, names), *(row.cells[table.first][score].text for score in SCORES)]


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _plain(text: str) -> str:
    """A text in Markdown as it stands.

    >>> _plain("a|b *c* <d>")
    'a\\\\|b \\\\*c\\\\* \\\\<d\\\\>'
    """
    plain = CONTROLS.sub("", " ".join(text.split()))  # a name could steer a terminal with them
    return "".join(f"\\{letter}" if letter in "\\|*_`<>[]" else letter for letter in plain)


def table_csv(table: RunTable) -> str:
    """A line for each model, subset and score; shares, unrounded."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in table.rows:
        for place, cells in row.cells.items():
            for score, cell in cells.items():
                values = ["" if math.isnan(value) else value for value in cell]
                shown = row.letters if (place, score) == (table.first, table.by) else ""
                counts = (row.items[place], row.missing[place])
                writer.writerow(
                    [
                        *map(_unformula, (row.name, *row.about.values())),
                        place,
                        score,
                        *values,
                        shown,
                        *counts,
                    ]
                )
    return file.getvalue()


def _unformula(text: str) -> str:
    """A text that a spreadsheet takes for no formula."""
    text = CONTROLS.sub("", text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def table_html(table: RunTable) -> str:
    """A page of its own: nothing in it is fetched, all texts are escaped."""
    shown = [row.cells[table.first][table.by] for row in table.rows]
    ends = [end for cell in shown for end in cell if not math.isnan(end)] or [0.0, 1.0]
    low, high = math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10
    scale = _Scale(low, high if high > low else low + 0.1)
    filters: Mapping[str, Any] = {"heading": heading, "x": scale.x}
    return render(
        TEMPLATE, filters, table=table, scores=SCORES, notes=notes(table), scale=scale, isnan=math.isnan
    )


class _Scale(NamedTuple):
    """Of the small drawings of intervals."""

    low: float
    high: float
    width: int = 160

    def x(self, value: float) -> str:
        """Where a share lies, in pixels of the drawing."""
        return f"{4 + (self.width - 8) * (value - self.low) / (self.high - self.low):.1f}"
