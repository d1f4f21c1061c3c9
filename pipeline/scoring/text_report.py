"""Every number of a report as text: percentages with two decimals, undefined as a dash."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core.errors import counted
from .items import full_name
from .joined_predictions import Scores
from .model_comparison import Difference, compared, lower_is_better, sentence, title_of
from .model_report import ModelReport, Report
from .subgroups import SHOWN as OF_KINDS
from .subgroups import few

Bounds = Sequence[float] | None
# They are no shares.
PLAIN = ("threshold", "distribution", "latency_", "items_per_second", "peak_memory_bytes")


def text_of(report: Report) -> str:
    """The full print: every model, every subset, the differences, and all models side by side."""
    lines = [f"{benchmark_line(report)}; numbers in % unless said otherwise"]
    lines += [report.compared.sentence] if report.compared else []
    for model in report.models:
        lines += _model(model)
    for difference in report.differences:
        lines += ["", f"{difference.model} minus {difference.against}, points", *_changes(difference)]
    return "\n".join([*lines, *_side_by_side(report.models)]) + "\n"


def kinds_of(report: Report) -> str:
    """The tables of group "by" alone."""
    lines = [
        benchmark_line(report),
        "in %, with 95 % intervals: pictures resampled; of fewer than 20 items the exact interval alone",
    ]
    for model in report.models:
        for subset, groups in model.subsets.items():
            lines += ["", headline(model.name, subset, groups["counts"]), *_slices(groups["by"])]
    return "\n".join(lines) + "\n"


def benchmark_line(report: Report) -> str:
    """What was scored and how."""
    bench = report.benchmark
    compared = f", answers compared by {report.options['match']}" if bench["kind"] == "rgqa" else ""
    part = f", part {report.options['part']}" if bench["parts"] else ""
    gone = bench.get("errata")
    errata = (
        "" if gone is None else f", WITHOUT {counted(len(gone), 'item')} by errata (their pairs included)"
    )
    return f"benchmark {full_name(bench['name'], bench['version'])}{part}, mode {report.options['mode']}{compared}{errata}"


def headline(model: str, subset: str, counts: Scores) -> str:
    """One line on what was scored, with every item that was not answered as it should be."""
    kinds = ("aqs", "AQs"), ("uqs", "UQs"), ("pictures", "pictures")
    text = f"{model} on {subset}: " + ", ".join(f"{counts[key]:,} {kind}" for key, kind in kinds)
    if counts["dev"]:
        text += f"; thresholds from {counted(counts['dev'], 'other')}"
    return "; ".join([text, *oddities(counts)])


def oddities(counts: Scores) -> Iterator[str]:
    """What of a subset was not answered as it should be."""
    if counts["missing"]:
        yield f"{counts['missing']:,} MISSING, counted as accepted with a wrong answer"
    if own := counts["left_out"] - counts["left_out_for_others"]:
        yield f"{own:,} without a prediction LEFT OUT"
    if counts["left_out_for_others"]:
        yield f"{counts['left_out_for_others']:,} LEFT OUT because another file has no prediction for them"
    if counts["says_uq"]:
        yield f'{counts["says_uq"]:,} answers read "UQ": never right as an answer (--free-text reads them as abstentions)'


def _model(model: ModelReport) -> Iterator[str]:
    if model.reading.form:
        yield from (f"{model.name}: {line}" for line in model.reading.lines())
    if model.mean:
        yield from ("", f"{model.name}: mean of {counted(len(model.subsets), 'subset')}")
        for group, values in model.mean.items():
            if group != "intervals":
                yield from group_lines(group, values, model.mean["intervals"])
    for subset, groups in model.subsets.items():
        yield from ("", headline(model.name, subset, groups["counts"]))
        yield from (f"  WARNING: {text}" for text in model.warnings.get(subset, ()))
        for group, values in groups.items():
            if group == "by":
                yield from _slices(values)
            elif group not in ("counts", "intervals"):
                yield from group_lines(group, values, groups["intervals"])
    if model.efficiency:
        yield from ("", *group_lines("efficiency", model.efficiency, {}))


def group_lines(title: str, values: Mapping[str, Any], intervals: Scores) -> Iterator[str]:
    """A group of scores, a line each, or for several that belong together."""
    yield f"  {title}"
    if "absent" in values:
        yield f"    not scored: {values['absent']}"
        return
    for name, value in values.items():
        yield from _score(name, name, value, intervals)


def _score(way: str, name: str, value: Any, intervals: Scores, indent: str = "    ") -> Iterator[str]:
    """A score; `way` leads to it within its group."""
    title = heading(name)
    if not isinstance(value, Mapping):
        yield f"{indent}{title:<38} {_shown(name.split('/')[-1], value):>10}{span(intervals.get(way))}"
    elif "absent" in value:
        yield f"{indent}{title}: not scored: {value['absent']}"
    elif set(value) == {"value", "items"}:
        yield f"{indent}{title:<38} {_shown(name, value['value']):>10}  of {value['items']:,}"
    elif any(isinstance(inner, Mapping) or f"{way}/{key}" in intervals for key, inner in value.items()):
        yield f"{indent}{title}"
        for key, inner in value.items():
            yield from _score(f"{way}/{key}", key, inner, intervals, indent + "  ")
    else:
        parts = (f"{key.replace('_', ' ')}: {_shown(key, inner)}" for key, inner in value.items())
        yield f"{indent}{title:<20} " + ", ".join(parts)


def _slices(values: Scores) -> Iterator[str]:
    """A table for each sort of kinds; of few items the interval stands alone."""
    if "absent" in values:
        yield f"  by kind: {values['absent']}"
        return
    for name, kinds in values.items():
        rows = [[f"by {name}", *map(heading, OF_KINDS), "AQs", "UQs"]]
        for kind, row in kinds.items():
            cells = [
                span(row["intervals"].get(score), 1).strip() or "-"
                if few(row, score)
                else cell(row[score], row["intervals"].get(score))
                for score in OF_KINDS
            ]
            rows.append([f"  {kind}", *cells, f"{row['aqs']:,}", f"{row['uqs']:,}"])
        yield from table(rows, "  ")


def _changes(difference: Difference) -> Iterator[str]:
    """Every difference; those of the first place (the mean, if there is one) in words, too."""
    rows = [
        [place, heading(name), percent(change.difference, "+"), span(change.interval)]
        for place, scores in difference.scores.items()
        for name, change in scores.items()
    ]
    yield from table(rows, "  ", lefts=2)
    for place, scores in [*difference.scores.items()][:1]:
        yield from (f"  {sentence(difference, place, name)}" for name in scores)


def _side_by_side(models: Sequence[ModelReport]) -> Iterator[str]:
    """Several models: one line for each subset and score."""
    if len(models) < 2:
        return
    columns = [{place: compared(groups) for place, groups in model.places.items()} for model in models]
    rows = [["", "", *(model.name for model in models)]]
    for place, scores in columns[0].items():
        rows += [
            [place, heading(name), *(percent(column[place].get(name, math.nan)) for column in columns)]
            for name in scores
        ]
    yield from ("", *table(rows, lefts=2))


def table(rows: Sequence[Sequence[str]], indent: str = "", lefts: int = 1) -> Iterator[str]:
    """Rows of one length in columns as wide as they need, the first `lefts` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{text:<{width}}" if place < lefts else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield indent + "  ".join(cells).rstrip()


def heading(name: str) -> str:
    """A score's title, which says if lower is better."""
    return title_of(name) + (" (lower)" if lower_is_better(name) else "")


def cell(value: float, bounds: Bounds, sign: str = "") -> str:
    """A share in percent with its interval, in which one decimal is enough."""
    return f"{percent(value, sign)}{span(bounds, 1).replace('  ', ' ')}"


def _shown(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if name.startswith(PLAIN) else percent(value)


def number(value: float) -> str:
    """What is no share."""
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.6g}"


def percent(value: float, sign: str = "") -> str:
    """A share."""
    return f"{100 * value:{sign}.2f}" if math.isfinite(value) else "-"


def span(bounds: Bounds, decimals: int = 2) -> str:
    """An interval of a share, "" where there is none."""
    if bounds is None or any(map(math.isnan, bounds)):
        return ""
    return f"  [{100 * bounds[0]:.{decimals}f}, {100 * bounds[1]:.{decimals}f}]"
