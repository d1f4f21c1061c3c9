"""A report as text: percentages with two decimals, undefined as a dash."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .items import Scores
from .model_report import SCORES, ModelReport, Report

TITLES = {
    name: score.title + (" (lower)" if score.lower_is_better else "") for name, score in SCORES.items()
} | {"auc": "risk-coverage AUC (lower)", "best_auc": "best possible AUC"}
Bounds = Sequence[float] | None
# They are no shares.
PLAIN = ("threshold", "distribution", "latency_", "items_per_second", "peak_memory_bytes")


def text_of(report: Report) -> str:
    """What the command prints: every model, every subset, the differences, and all models side by side."""
    bench = report.benchmark
    version = f" {bench['version']}" if bench["version"] else ""
    mode, match = report.options["mode"], report.options["match"]
    compared = f", answers compared by {match}" if bench["kind"] == "rgqa" else ""
    part = f", part {report.options['part']}" if bench["parts"] else ""
    lines = [
        f"benchmark {bench['name']}{version}{part}, mode {mode}{compared}; numbers in % unless said otherwise"
    ]
    for model in report.models:
        lines += _model(model)
    for difference in report.differences:
        lines += ["", f"{difference.model} minus {difference.against}, points"]
        for place, scores in difference.scores.items():
            for name, change in scores.items():
                shown = _percent(change.difference, "+")
                lines.append(f"  {place:<12} {_title(name):<28} {shown:>8}{_span(change.interval)}")
    return "\n".join([*lines, *_side_by_side(report.models)]) + "\n"


def _model(model: ModelReport) -> Iterator[str]:
    for subset, groups in model.subsets.items():
        yield from ("", _headline(model.name, subset, groups["counts"]))
        yield from (f"  WARNING: {text}" for text in model.warnings.get(subset, ()))
        for group, values in groups.items():
            if group == "by":
                yield from _slices(values)
            elif group not in ("counts", "intervals"):
                yield from _group(group, values, groups["intervals"])
    if model.mean:
        yield from ("", f"{model.name}: mean of {len(model.subsets)} subsets")
        yield from _group("realistic", model.mean["realistic"], model.mean["intervals"])
    if model.efficiency:
        yield from ("", *_group("efficiency", model.efficiency, {}))


def _headline(model: str, subset: str, counts: Scores) -> str:
    """One line on what was scored, with every item that was not answered as it should be."""
    kinds = ("aqs", "AQs"), ("uqs", "UQs"), ("pictures", "pictures")
    text = f"{model} on {subset}: " + ", ".join(f"{counts[key]:,} {kind}" for key, kind in kinds)
    if counts["missing"]:
        text += f"; {counts['missing']:,} MISSING, counted as accepted with a wrong answer"
    if counts["left_out"]:
        text += f"; {counts['left_out']:,} without a prediction LEFT OUT"
    if counts["dev"]:
        text += f"; thresholds from {counts['dev']:,} others"
    if counts["says_uq"]:
        text += f'; {counts["says_uq"]:,} answers read "UQ": never right as an answer (--free-text reads them as abstentions)'
    return text


def _group(title: str, values: Mapping[str, Any], intervals: Scores) -> Iterator[str]:
    yield f"  {title}"
    if "absent" in values:
        yield f"    not scored: {values['absent']}"
        return
    for name, value in values.items():
        yield from _score(name, value, intervals.get(name))


def _score(name: str, value: Any, interval: Bounds = None, indent: str = "    ") -> Iterator[str]:
    """One score, or a line for each of several that belong together."""
    title = _title(name)
    if not isinstance(value, Mapping):
        yield f"{indent}{title:<34} {_shown(name, value):>10}{_span(interval)}"
    elif "absent" in value:
        yield f"{indent}{title}: not scored: {value['absent']}"
    elif set(value) == {"value", "items"}:
        yield f"{indent}{title:<34} {_shown(name, value['value']):>10}  of {value['items']:,}"
    elif any(isinstance(inner, Mapping) for inner in value.values()):
        yield f"{indent}{title}"
        for key, inner in value.items():
            yield from _score(key, inner, indent=indent + "  ")
    else:
        parts = (f"{key.replace('_', ' ')}: {_shown(key, inner)}" for key, inner in value.items())
        yield f"{indent}{title:<20} " + ", ".join(parts)


def _slices(values: Scores) -> Iterator[str]:
    if "absent" in values:
        yield f"  by kind: {values['absent']}"
        return
    yield f"  {'by kind':<42}{'AUAF':>8}{'FF95':>8}{'FACC':>8}{'AUROC':>8}{'AQs':>8}{'UQs':>8}"
    for name, kinds in values.items():
        for kind, row in kinds.items():
            numbers = "".join(f"{_shown(score, value):>8}" for score, value in row.items())
            yield f"    {name + ': ' + kind:<40}{numbers}"


def _side_by_side(models: Sequence[ModelReport]) -> Iterator[str]:
    """Several models: one line for each subset and score."""
    if len(models) < 2:
        return
    width = max(10, *(len(model.name) + 2 for model in models))
    yield from ("", f"{'':<12} {'':<28}" + "".join(f"{model.name:>{width}}" for model in models))
    columns = [model.main_scores() for model in models]
    for place, scores in columns[0].items():
        for name in scores:
            values = "".join(f"{_percent(column[place][name]):>{width}}" for column in columns)
            yield f"{place:<12} {_title(name):<28}{values}"


def _title(name: str) -> str:
    return TITLES.get(name, name.replace("_", " "))


def _shown(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if not name.startswith(PLAIN):
        return _percent(value)
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.6g}"


def _percent(value: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.2f}" if math.isfinite(value) else "-"


def _span(bounds: Bounds) -> str:
    if bounds is None or any(map(math.isnan, bounds)):
        return ""
    return f"  [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"
