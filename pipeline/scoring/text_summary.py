"""Format the summary that `rgqa score` prints: the main scores of the models and their differences, on one
screen.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..core.errors import format_count
from .harness_logs import HARNESSES
from .joined_predictions import Scores
from .model_comparison import ModelComparison, describe_difference, select_compared_scores
from .model_report import ModelReport, ScoreReport
from .text_report import (
    format_benchmark_line,
    format_cell,
    format_count_warnings,
    format_heading,
    format_number,
    format_percent,
    format_score_group,
    format_table,
)

SCREEN_WIDTH = 100
# Maximum number of notes, and of pairs of models, that are shown.
MAX_ENTRIES = 7
# Scores that are shown in the summary, if they are available.
SUMMARY_SCORES = ("auaf", "ff95", "facc", "auroc", "vqa_accuracy", "exact_match", "token_f1", "anls")
MORE_HINT = "more: --full (every score), --group-by category (subgroups), --json FILE (all numbers)"


def format_summary(report: ScoreReport, extra_groups: Collection[str] = ()) -> str:
    """Format the summary, followed by the score groups in `extra_groups`."""
    lines = [*textwrap.wrap(format_benchmark_line(report), SCREEN_WIDTH), _describe_units(report.options)]
    lines += [
        *(textwrap.wrap(report.compared_items.summary, SCREEN_WIDTH) if report.compared_items else ()),
        "",
    ]
    lines += (
        _format_single_model(report.models[0]) if len(report.models) == 1 else _format_several_models(report)
    )
    notes = [line for model in report.models for line in _format_notes(model, len(report.models) > 1)]
    if notes:
        lines.append("")
        for note in notes[:MAX_ENTRIES]:
            lines += textwrap.wrap(note, SCREEN_WIDTH, subsequent_indent="  ", break_long_words=False)
        lines += [f"... and {len(notes) - MAX_ENTRIES} more: --full"] if len(notes) > MAX_ENTRIES else []
    for model in report.models:
        lines += _format_extra_groups(model, extra_groups)
    return "\n".join([*lines, "", MORE_HINT]) + "\n"


def _describe_units(options: Mapping[str, Any]) -> str:
    if options["mode"] == "published":
        return "in %; mode published gives no intervals"
    if not options["bootstrap"]:
        return "in %; no intervals without --bootstrap"
    return f"in %, 95 % intervals in brackets: images resampled {options['bootstrap']:,} times"


def _format_single_model(model: ModelReport) -> Iterator[str]:
    """Format the scores of each subset and the numbers of items."""
    names = _shown_scores(model)
    rows = [
        [_subset_title(place, model), *_score_cells(groups, names)]
        for place, groups in model.scores_by_subset.items()
    ]
    yield from _format_labelled_table([model.name, *map(format_heading, names)], rows)
    yield from ("", *_format_item_counts(model))


def _format_item_counts(model: ModelReport) -> Iterator[str]:
    """Format the numbers of items and, if items are paired, dual accuracy with its threshold."""
    uqs = any(groups["counts"]["uqs"] for groups in model.subsets.values())
    columns = ({"aqs": "AQs", "uqs": "UQs"} if uqs else {"items": "items"}) | {"images": "images"}
    rows = [
        [_subset_title(place, model), *(f"{groups['counts'][name]:,}" for name in columns)]
        for place, groups in model.subsets.items()
    ]
    head = ["", *columns.values()]
    groups_of = model.subsets.values()
    if any("pairs" in groups.get("pairs", {}) for groups in groups_of):
        head.append("pairs")
        for row, groups in zip(rows, groups_of, strict=True):
            row.append(f"{count:,}" if (count := groups["pairs"].get("pairs")) is not None else "-")
    if any("threshold" in groups.get("pairs", {}) for groups in groups_of):
        head += ["dual accuracy", "at threshold", "threshold", "source"]
        for row, groups in zip(rows, groups_of, strict=True):
            row += _dual_accuracy_cells(groups)
    yield from _format_labelled_table(head, rows)
    absent: dict[str, list[str]] = {}
    for place, groups in model.subsets.items():
        if "unavailable" in groups.get("pairs", {}):
            absent.setdefault(groups["pairs"]["unavailable"], []).append(place)
    for why, places in absent.items():
        where = f" of {', '.join(places)}" if len(places) < len(model.subsets) else ""
        yield f"no dual accuracy{where}: {why}"


def _dual_accuracy_cells(groups: Mapping[str, Scores]) -> list[str]:
    pairs, validation = groups["pairs"], groups["counts"]["validation"]
    if "unavailable" in pairs:
        return ["-"] * 4
    return [
        format_cell(pairs["dual_accuracy"], groups["intervals"].get("dual_accuracy")),
        format_percent(pairs["dual_accuracy_at_threshold"]),
        format_number(pairs["threshold"]),
        {"validation": f"validation ({validation:,})", "option": "--threshold"}.get(
            pairs["threshold_source"], "the default"
        ),
    ]


def _format_several_models(report: ScoreReport) -> Iterator[str]:
    """Format the main scores of each model and the differences of each pair, also in words."""
    place, *_ = report.models[0].scores_by_subset
    names = _shown_scores(report.models[0])
    head = _subset_title(place, report.models[0])
    rows = [
        [f"{number} {model.name}", *_score_cells(model.scores_by_subset[place], names)]
        for number, model in enumerate(report.models, 1)
    ]
    yield from _format_labelled_table([head, *map(format_heading, names)], rows)
    pairs = report.comparisons[:MAX_ENTRIES]
    order = {model.name: str(number) for number, model in enumerate(report.models, 1)}
    rows = [
        [f"{order[pair.model]} minus {order[pair.baseline]}", *_difference_cells(pair, place, names)]
        for pair in pairs
    ]
    yield from ("", *format_table([["points", *map(format_heading, names)], *rows]), "")
    for pair in pairs:
        for name in names if len(pairs) == 1 else names[:1]:
            yield from textwrap.wrap(
                describe_difference(pair, place, name), SCREEN_WIDTH, subsequent_indent="  "
            )
    if left := len(report.comparisons) - len(pairs):
        yield f"{left} more pairs: --full"
    if len(pairs) > 1 and pairs[0].scores[place][names[0]].interval:
        yield f"The intervals of all {format_count(len(report.comparisons), 'pair')} are simultaneous: with 95 % confidence all of them hold."


def _difference_cells(pair: ModelComparison, place: str, names: Sequence[str]) -> list[str]:
    changes = [pair.scores[place][name] for name in names]
    return [format_cell(change.difference, change.interval, "+") for change in changes]


def _score_cells(groups: Mapping[str, Scores], names: Sequence[str]) -> list[str]:
    values = select_compared_scores(groups)
    return [format_cell(values[name], groups["intervals"].get(name)) for name in names]


def _shown_scores(model: ModelReport) -> list[str]:
    there = select_compared_scores(next(iter(model.scores_by_subset.values())))
    return [name for name in SUMMARY_SCORES if name in there]


def _subset_title(place: str, model: ModelReport) -> str:
    return f"mean of {len(model.subsets)}" if place == "mean" else place


def _format_labelled_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Format a table whose first column has names.

    Names are never truncated. If the table does not fit on the screen, a long name is on a separate line
    above its numbers.
    """
    lines = [*format_table([head, *rows])]
    if max(map(len, lines)) <= SCREEN_WIDTH:
        yield from lines
        return
    rest = max(map(len, format_table([["", *head[1:]], *(["", *row[1:]] for row in rows)])))
    name_width = max(SCREEN_WIDTH - rest, 4)
    short = [["" if len(row[0]) > name_width else row[0], *row[1:]] for row in (head, *rows)]
    for (name, *_), line in zip((head, *rows), format_table(short), strict=True):
        if len(name) > name_width:
            yield name
        yield line


def _format_notes(model: ModelReport, several: bool) -> Iterator[str]:
    """Yield how a log was read, warnings about items, and the first warning of each kind."""
    if model.file_info.file_format in HARNESSES or model.file_info.failures or model.file_info.empty_replies:
        yield from (f"{model.name}: {line}" for line in model.file_info.describe())
    where = f"{model.name} on " if several else ""
    for subset, groups in model.subsets.items():
        yield from (f"{where}{subset}: {text}" for text in format_count_warnings(groups["counts"]))
        if "auaf_lowest" in (read := groups.get("abstention", {})):
            yield f"{where}{subset}: {_describe_abstentions(read)}"
        if "reason_accuracy" in (reasons := groups.get("reasons", {})):
            yield f"{where}{subset}: {_describe_reasons(reasons, groups['intervals'])}"
    alike: dict[str, list[tuple[str, str]]] = {}
    for subset, texts in model.warnings.items():
        for text in texts:
            alike.setdefault(re.sub(r"[\d.,]+", "", text.partition(":")[0]), []).append((subset, text))
    for (subset, text), *others in alike.values():
        yield f"WARNING {where}{subset}{f' and {len(others)} more' if others else ''}: {text}"


def _describe_abstentions(read: Scores) -> str:
    """Describe how many replies abstain or are unclear, and what that means for AUAF."""
    text = f"{read['abstentions']:,} abstain, {read['unclear']:,} unclear"
    text += (
        f" (AUAF {format_percent(read['auaf_lowest'])} to {format_percent(read['auaf_highest'])})"
        if read["unclear"]
        else ""
    )
    corrected = read.get("auaf_corrected")
    return text + (
        "" if corrected is None else f"; AUAF corrected for classification errors {format_percent(corrected)}"
    )


def _describe_reasons(reasons: Scores, intervals: Scores) -> str:
    """Describe how often the replies say what is wrong with a UQ."""
    cell = format_cell(reasons["reason_accuracy"], intervals.get("reason_accuracy"))
    parts = [f"{format_percent(reasons['names_fault'])} name the fault"]
    # Questions about another image have nothing that stands in place of the missing object.
    if not math.isnan(reasons["names_instead"]):
        parts.append(f"{format_percent(reasons['names_instead'])} what is there instead")
    claims = format_percent(reasons["claims_fault_on_aqs"])
    return f"reason accuracy {cell} (of the UQs, {' and '.join(parts)}; {claims} of the AQs claim one)"


def _format_extra_groups(model: ModelReport, groups: Collection[str]) -> Iterator[str]:
    for subset, scored in model.subsets.items():
        for group in groups:
            if group in scored:
                yield from (
                    "",
                    f"{model.name} on {subset}",
                    *format_score_group(group, scored[group], scored["intervals"]),
                )
    if model.efficiency:
        yield from ("", model.name, *format_score_group("efficiency", model.efficiency, {}))
