"""Format a report as text: percentages with two decimals, undefined values as a dash."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core.errors import format_count
from .items import full_name
from .joined_predictions import Scores
from .model_comparison import (
    ModelComparison,
    describe_difference,
    get_score_title,
    lower_is_better,
    select_compared_scores,
)
from .model_report import ModelReport, ScoreReport
from .subgroups import REPORTED_SCORES, has_too_few_items

Interval = Sequence[float] | None
# Scores with these prefixes are not proportions and are not printed in percent.
NON_PROPORTION_PREFIXES = ("threshold", "distribution", "latency_", "items_per_second", "peak_memory_bytes")


def format_report(report: ScoreReport) -> str:
    """Format the full report: every model and subset, the differences between models, and all models side by
    side.
    """
    lines = [f"{format_benchmark_line(report)}; numbers in % unless said otherwise"]
    lines += [report.compared_items.summary] if report.compared_items else []
    for model in report.models:
        lines += _format_model(model)
    for difference in report.comparisons:
        lines += [
            "",
            f"{difference.model} minus {difference.baseline}, points",
            *_format_comparison(difference),
        ]
    return "\n".join([*lines, *_format_side_by_side(report.models)]) + "\n"


def format_subgroups(report: ScoreReport) -> str:
    """Format only the tables of the score group "subgroups"."""
    lines = [
        format_benchmark_line(report),
        "in %, 95 % intervals from resampled images; groups of fewer than 20 items show only an exact interval",
    ]
    for model in report.models:
        for subset, groups in model.subsets.items():
            lines += [
                "",
                format_subset_line(model.name, subset, groups["counts"]),
                *_format_subgroup_tables(groups["subgroups"]),
            ]
    return "\n".join(lines) + "\n"


def format_benchmark_line(report: ScoreReport) -> str:
    """Describe in one line what was scored and how."""
    bench = report.benchmark
    compared = f", answers compared with --match {report.options['match']}" if bench["kind"] == "rgqa" else ""
    split = f", split {report.options['split']}" if bench["splits"] else ""
    excluded = bench.get("errata")
    errata = (
        ""
        if excluded is None
        else f", WITHOUT {format_count(len(excluded), 'item')} (those in the errata and their partners)"
    )
    return f"benchmark {full_name(bench['name'], bench['version'])}{split}, mode {report.options['mode']}{compared}{errata}"


def format_subset_line(model: str, subset: str, counts: Scores) -> str:
    """Describe in one line which items of a subset were scored, and how many items have no usable
    prediction.
    """
    kinds = ("aqs", "AQs"), ("uqs", "UQs"), ("images", "images")
    text = f"{model} on {subset}: " + ", ".join(f"{counts[key]:,} {kind}" for key, kind in kinds)
    if counts["validation"]:
        text += f"; thresholds chosen on {format_count(counts['validation'], 'validation item')}"
    return "; ".join([text, *format_count_warnings(counts)])


def format_count_warnings(counts: Scores) -> Iterator[str]:
    """Yield warnings about items without a usable prediction."""
    if counts["missing"]:
        yield f"{counts['missing']:,} MISSING, counted as accepted with a wrong answer"
    if own := counts["excluded"] - counts["excluded_for_other_models"]:
        yield f"{own:,} without a prediction EXCLUDED"
    if counts["excluded_for_other_models"]:
        yield f"{counts['excluded_for_other_models']:,} EXCLUDED because another file has no prediction for them"
    if counts["num_uq_answers"]:
        yield f'{counts["num_uq_answers"]:,} answers are "UQ", which is never a correct answer (--detect-abstention counts them as abstentions)'


def _format_model(model: ModelReport) -> Iterator[str]:
    if model.file_info.file_format:
        yield from (f"{model.name}: {line}" for line in model.file_info.describe())
    if model.mean:
        yield from ("", f"{model.name}: mean of {format_count(len(model.subsets), 'subset')}")
        for group, values in model.mean.items():
            if group != "intervals":
                yield from format_score_group(group, values, model.mean["intervals"])
    for subset, groups in model.subsets.items():
        yield from ("", format_subset_line(model.name, subset, groups["counts"]))
        yield from (f"  WARNING: {text}" for text in model.warnings.get(subset, ()))
        for group, values in groups.items():
            if group == "subgroups":
                yield from _format_subgroup_tables(values)
            elif group not in ("counts", "intervals"):
                yield from format_score_group(group, values, groups["intervals"])
    if model.efficiency:
        yield from ("", *format_score_group("efficiency", model.efficiency, {}))


def format_score_group(title: str, values: Mapping[str, Any], intervals: Scores) -> Iterator[str]:
    """Format a group of scores, one line for each score or for several related ones."""
    yield f"  {title}"
    if "unavailable" in values:
        yield f"    not scored: {values['unavailable']}"
        return
    for name, value in values.items():
        yield from _format_score(name, name, value, intervals)


def _format_score(way: str, name: str, value: Any, intervals: Scores, indent: str = "    ") -> Iterator[str]:
    """Format a score. `way` is the path of the score within its group."""
    title = format_heading(name)
    if not isinstance(value, Mapping):
        yield f"{indent}{title:<38} {_format_value(name.split('/')[-1], value):>10}{format_interval(intervals.get(way))}"
    elif "unavailable" in value:
        yield f"{indent}{title}: not scored: {value['unavailable']}"
    elif set(value) == {"value", "items"}:
        yield f"{indent}{title:<38} {_format_value(name, value['value']):>10}  of {value['items']:,}"
    elif any(isinstance(inner, Mapping) or f"{way}/{key}" in intervals for key, inner in value.items()):
        yield f"{indent}{title}"
        for key, inner in value.items():
            yield from _format_score(f"{way}/{key}", key, inner, intervals, indent + "  ")
    else:
        cells = (f"{key.replace('_', ' ')}: {_format_value(key, inner)}" for key, inner in value.items())
        yield f"{indent}{title:<20} " + ", ".join(cells)


def _format_subgroup_tables(values: Scores) -> Iterator[str]:
    """Format a table for each field. For a subgroup with too few items, only the interval is shown."""
    if "unavailable" in values:
        yield f"  subgroups: {values['unavailable']}"
        return
    for name, kinds in values.items():
        rows = [[f"by {name}", *map(format_heading, REPORTED_SCORES), "AQs", "UQs"]]
        for kind, row in kinds.items():
            cells = [
                format_interval(row["intervals"].get(score), 1).strip() or "-"
                if has_too_few_items(row, score)
                else format_cell(row[score], row["intervals"].get(score))
                for score in REPORTED_SCORES
            ]
            rows.append([f"  {kind}", *cells, f"{row['aqs']:,}", f"{row['uqs']:,}"])
        yield from format_table(rows, "  ")


def _format_comparison(difference: ModelComparison) -> Iterator[str]:
    """Format all differences between two models as a table: one row for each subset and score.

    The differences of the first subset (the mean, if there is one) are also described in words.
    """
    rows = [
        [
            subset,
            format_heading(name),
            format_percent(change.difference, "+"),
            format_interval(change.interval),
        ]
        for subset, scores in difference.scores.items()
        for name, change in scores.items()
    ]
    yield from format_table(rows, "  ", num_left_aligned=2)
    for subset, scores in [*difference.scores.items()][:1]:
        yield from (f"  {describe_difference(difference, subset, name)}" for name in scores)


def _format_side_by_side(models: Sequence[ModelReport]) -> Iterator[str]:
    """Format several models side by side, one line for each subset and score."""
    if len(models) < 2:
        return
    columns = [
        {subset: select_compared_scores(groups) for subset, groups in model.scores_by_subset.items()}
        for model in models
    ]
    rows = [["", "", *(model.name for model in models)]]
    for subset, scores in columns[0].items():
        rows += [
            [
                subset,
                format_heading(name),
                *(format_percent(column[subset].get(name, math.nan)) for column in columns),
            ]
            for name in scores
        ]
    yield from ("", *format_table(rows, num_left_aligned=2))


def format_table(rows: Sequence[Sequence[str]], indent: str = "", num_left_aligned: int = 1) -> Iterator[str]:
    """Format rows of equal length as aligned columns.

    Args:
        rows: Cells of each row.
        indent: Text before each line.
        num_left_aligned: Number of columns that are aligned to the left; the others are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{text:<{width}}" if column_index < num_left_aligned else f"{text:>{width}}"
            for column_index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield indent + "  ".join(cells).rstrip()


def format_heading(name: str) -> str:
    """Return the title of a score, followed by "(lower)" if lower values are better."""
    return get_score_title(name) + (" (lower)" if lower_is_better(name) else "")


def format_cell(value: float, interval: Interval, sign: str = "") -> str:
    """Format a proportion in percent, with its interval to one decimal."""
    return f"{format_percent(value, sign)}{format_interval(interval, 1).replace('  ', ' ')}"


def _format_value(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return format_number(value) if name.startswith(NON_PROPORTION_PREFIXES) else format_percent(value)


def format_number(value: float) -> str:
    """Format a number that is not a proportion."""
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.6g}"


def format_percent(value: float, sign: str = "") -> str:
    """Format a proportion in percent."""
    return f"{100 * value:{sign}.2f}" if math.isfinite(value) else "-"


def format_interval(interval: Interval, decimals: int = 2) -> str:
    """Format the interval of a proportion in percent, "" for none."""
    if interval is None or any(map(math.isnan, interval)):
        return ""
    return f"  [{100 * interval[0]:.{decimals}f}, {100 * interval[1]:.{decimals}f}]"
