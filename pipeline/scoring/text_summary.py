"""What the command prints: the main scores of a model, or of several and what they differ by, on one screen."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..core.errors import counted
from .harness_logs import HARNESSES
from .joined_predictions import Scores
from .model_comparison import Difference, compared, sentence
from .model_report import ModelReport, Report
from .text_report import benchmark_line, cell, group_lines, heading, number, oddities, percent, table

WIDTH = 100  # columns of the screen
MOST = 7  # notes, or pairs of models
# The scores that are shown, as far as there are any.
SHOWN = ("auaf", "ff95", "facc", "auroc", "vqa_accuracy", "exact_match", "token_f1", "anls")
MORE = "more: --full (every score), --by category (kinds of items), --json FILE (all numbers)"


def screen_of(report: Report, further: Collection[str] = ()) -> str:
    """The whole screen; below it the groups in `further`."""
    lines = [*textwrap.wrap(benchmark_line(report), WIDTH), _what_numbers_are(report.options)]
    lines += [*(textwrap.wrap(report.compared.sentence, WIDTH) if report.compared else ()), ""]
    lines += _single(report.models[0]) if len(report.models) == 1 else _several(report)
    notes = [line for model in report.models for line in _notes(model, len(report.models) > 1)]
    if notes:
        lines.append("")
        for note in notes[:MOST]:
            lines += textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_long_words=False)
        lines += [f"... and {len(notes) - MOST} more: --full"] if len(notes) > MOST else []
    for model in report.models:
        lines += _further(model, further)
    return "\n".join([*lines, "", MORE]) + "\n"


def _what_numbers_are(options: Mapping[str, Any]) -> str:
    if options["mode"] == "parity":
        return "in %; mode parity gives no intervals"
    if not options["bootstrap"]:
        return "in %; no intervals without --bootstrap"
    return f"in %, 95 % intervals in brackets: pictures resampled {options['bootstrap']:,} times"


def _single(model: ModelReport) -> Iterator[str]:
    """The scores of each subset; below, what they rest on."""
    names = _names(model)
    rows = [[_named(place, model), *_cells(groups, names)] for place, groups in model.places.items()]
    yield from _labelled([model.name, *map(heading, names)], rows)
    yield from ("", *_basis(model))


def _basis(model: ModelReport) -> Iterator[str]:
    """How many items there are, and, where they come in pairs, dual accuracy with its threshold."""
    uqs = any(groups["counts"]["uqs"] for groups in model.subsets.values())
    columns = ({"aqs": "AQs", "uqs": "UQs"} if uqs else {"items": "items"}) | {"pictures": "pictures"}
    rows = [
        [_named(place, model), *(f"{groups['counts'][name]:,}" for name in columns)]
        for place, groups in model.subsets.items()
    ]
    head = ["", *columns.values()]
    groups_of = model.subsets.values()
    if any("pairs" in groups.get("pairs", {}) for groups in groups_of):
        head.append("pairs")
        for row, groups in zip(rows, groups_of, strict=True):
            row.append(f"{count:,}" if (count := groups["pairs"].get("pairs")) is not None else "-")
    if any("threshold" in groups.get("pairs", {}) for groups in groups_of):
        head += ["dual accuracy", "at threshold", "which is", "from"]
        for row, groups in zip(rows, groups_of, strict=True):
            row += _paired(groups)
    yield from _labelled(head, rows)
    absent: dict[str, list[str]] = {}
    for place, groups in model.subsets.items():
        if "absent" in groups.get("pairs", {}):
            absent.setdefault(groups["pairs"]["absent"], []).append(place)
    for why, places in absent.items():
        where = f" of {', '.join(places)}" if len(places) < len(model.subsets) else ""
        yield f"no dual accuracy{where}: {why}"


def _paired(groups: Mapping[str, Scores]) -> list[str]:
    pairs, dev = groups["pairs"], groups["counts"]["dev"]
    if "absent" in pairs:
        return ["-"] * 4
    return [
        cell(pairs["dual_accuracy"], groups["intervals"].get("dual_accuracy")),
        percent(pairs["dual_accuracy_at_threshold"]),
        number(pairs["threshold"]),
        {"dev": f"dev ({dev:,})", "option": "--threshold"}.get(pairs["threshold_from"], "the default"),
    ]


def _several(report: Report) -> Iterator[str]:
    """The main scores of each model, and each pair's differences, in words, too."""
    place, *_ = report.models[0].places
    names = _names(report.models[0])
    head = _named(place, report.models[0])
    rows = [
        [f"{number} {model.name}", *_cells(model.places[place], names)]
        for number, model in enumerate(report.models, 1)
    ]
    yield from _labelled([head, *map(heading, names)], rows)
    pairs = report.differences[:MOST]
    order = {model.name: str(number) for number, model in enumerate(report.models, 1)}
    rows = [
        [f"{order[pair.model]} minus {order[pair.against]}", *_changes(pair, place, names)] for pair in pairs
    ]
    yield from ("", *table([["points", *map(heading, names)], *rows]), "")
    for pair in pairs:
        for name in names if len(pairs) == 1 else names[:1]:
            yield from textwrap.wrap(sentence(pair, place, name), WIDTH, subsequent_indent="  ")
    if left := len(report.differences) - len(pairs):
        yield f"{left} more pairs: --full"
    if len(pairs) > 1 and pairs[0].scores[place][names[0]].interval:
        yield f"The intervals of all {counted(len(report.differences), 'pair')} hold together: in 95 % of samples none of them misses."


def _changes(pair: Difference, place: str, names: Sequence[str]) -> list[str]:
    changes = [pair.scores[place][name] for name in names]
    return [cell(change.difference, change.interval, "+") for change in changes]


def _cells(groups: Mapping[str, Scores], names: Sequence[str]) -> list[str]:
    values = compared(groups)
    return [cell(values[name], groups["intervals"].get(name)) for name in names]


def _names(model: ModelReport) -> list[str]:
    """The scores that are shown."""
    there = compared(next(iter(model.places.values())))
    return [name for name in SHOWN if name in there]


def _named(place: str, model: ModelReport) -> str:
    return f"mean of {len(model.subsets)}" if place == "mean" else place


def _labelled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table whose first column are names. A name is never cut: if the table would not fit on the screen, long names stand in a
    line of their own, above their numbers."""
    lines = [*table([head, *rows])]
    if max(map(len, lines)) <= WIDTH:
        yield from lines
        return
    rest = max(map(len, table([["", *head[1:]], *(["", *row[1:]] for row in rows)])))
    room = max(WIDTH - rest, 4)
    short = [["" if len(row[0]) > room else row[0], *row[1:]] for row in (head, *rows)]
    for (name, *_), line in zip((head, *rows), table(short), strict=True):
        if len(name) > room:
            yield name
        yield line


def _notes(model: ModelReport, several: bool) -> Iterator[str]:
    """How a log was read, what was not answered as it should be, and warnings, of each kind the first."""
    if model.reading.form in HARNESSES or model.reading.failed or model.reading.declined:
        yield from (f"{model.name}: {line}" for line in model.reading.lines())
    where = f"{model.name} on " if several else ""
    for subset, groups in model.subsets.items():
        yield from (f"{where}{subset}: {text}" for text in oddities(groups["counts"]))
        if "auaf_lowest" in (read := groups.get("abstention", {})):
            yield f"{where}{subset}: {_read_from_words(read)}"
    alike: dict[str, list[tuple[str, str]]] = {}
    for subset, texts in model.warnings.items():
        for text in texts:
            alike.setdefault(re.sub(r"[\d.,]+", "", text.partition(":")[0]), []).append((subset, text))
    for (subset, text), *others in alike.values():
        yield f"WARNING {where}{subset}{f' and {len(others)} more' if others else ''}: {text}"


def _read_from_words(read: Scores) -> str:
    """What the reader of replies leaves open."""
    text = f"{read['abstentions']:,} abstain, {read['unclear']:,} unclear"
    text += (
        f" (AUAF {percent(read['auaf_lowest'])} to {percent(read['auaf_highest'])})"
        if read["unclear"]
        else ""
    )
    corrected = read.get("auaf_corrected")
    return text + ("" if corrected is None else f"; AUAF corrected for reading errors {percent(corrected)}")


def _further(model: ModelReport, groups: Collection[str]) -> Iterator[str]:
    for subset, scored in model.subsets.items():
        for group in groups:
            if group in scored:
                yield from (
                    "",
                    f"{model.name} on {subset}",
                    *group_lines(group, scored[group], scored["intervals"]),
                )
    if model.efficiency:
        yield from ("", model.name, *group_lines("efficiency", model.efficiency, {}))
