"""A report as text: percentages with two decimals, undefined as a dash."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from . import answer_scores, realistic
from .model_report import main_scores

REPORTED = realistic.SCORES | answer_scores.VQA_SCORES | answer_scores.SCORES
TITLES = {
    name: score.title + (" (lower)" if score.lower_is_better else "") for name, score in REPORTED.items()
} | {"auc": "risk-coverage AUC (lower)", "best_auc": "best possible AUC"}
PLAIN = (
    "threshold",
    "distribution",
    "latency_",
    "items_per_second",
    "peak_memory_bytes",
)  # they are no shares


def text_of(report: Mapping[str, Any]) -> str:
    """What the command prints: every model, every subset, the differences, and all models side by side."""
    bench = report["benchmark"]
    version = f" {bench['version']}" if bench["version"] else ""
    mode = report["options"]["mode"]
    lines = [f"benchmark {bench['name']}{version}, mode {mode}; numbers in % unless said otherwise"]
    for model in report["models"]:
        lines += _model(model)
    for difference in report["differences"]:
        lines += ["", f"{difference['model']} minus {difference['against']}, points"]
        for place, scores in difference["scores"].items():
            for name, row in scores.items():
                shown = _percent(row["difference"], signed=True)
                lines.append(f"  {place:<12} {_title(name):<28} {shown:>8}{_span(row.get('interval'))}")
    return "\n".join([*lines, *_side_by_side(report["models"])]) + "\n"


def _model(model: Mapping[str, Any]) -> Iterator[str]:
    for subset, groups in model["subsets"].items():
        yield from ("", _headline(model["name"], subset, groups["counts"]))
        for group, values in groups.items():
            if group == "by":
                yield from _slices(values)
            elif group not in ("counts", "intervals"):
                yield from _group(group, values, groups["intervals"])
    if "mean" in model:
        yield from ("", f"{model['name']}: mean of {len(model['subsets'])} subsets")
        yield from _group("realistic", model["mean"]["realistic"], model["mean"]["intervals"])
    if "efficiency" in model:
        yield ""
        yield from _group("efficiency", model["efficiency"], {})


def _headline(model: str, subset: str, counts: Mapping[str, int]) -> str:
    """One line on what was scored, with every item that was not answered as it should be."""
    text = (
        f"{model} on {subset}: {counts['aqs']:,} AQs, {counts['uqs']:,} UQs, {counts['pictures']:,} pictures"
    )
    if counts["missing"]:
        text += f"; {counts['missing']:,} MISSING, counted as rejected"
    if counts["says_uq"]:
        text += f'; {counts["says_uq"]:,} answers read "UQ": never right as an answer (--free-text reads them as abstentions)'
    return text


def _group(title: str, values: Mapping[str, Any], intervals: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {title}"
    if "absent" in values:
        yield f"    not scored: {values['absent']}"
        return
    for name, value in values.items():
        yield from _score(name, value, intervals.get(name))


def _score(name: str, value: Any, interval: list[float] | None = None, indent: str = "    ") -> Iterator[str]:
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


def _slices(values: Mapping[str, Any]) -> Iterator[str]:
    if "absent" in values:
        yield f"  by kind: {values['absent']}"
        return
    yield f"  {'by kind':<42}{'AUAF':>8}{'FF95':>8}{'FACC':>8}{'AUROC':>8}{'AQs':>8}{'UQs':>8}"
    for name, kinds in values.items():
        for kind, row in kinds.items():
            numbers = "".join(f"{_percent(row[score]):>8}" for score in ("auaf", "ff95", "facc", "auroc"))
            yield f"    {name + ': ' + kind:<40}{numbers}{row['aqs']:>8,}{row['uqs']:>8,}"


def _side_by_side(models: list[Mapping[str, Any]]) -> Iterator[str]:
    """Several models: one line for each subset and score."""
    if len(models) < 2:
        return
    width = max(10, *(len(model["name"]) + 2 for model in models))
    yield from ("", f"{'':<12} {'':<28}" + "".join(f"{model['name']:>{width}}" for model in models))
    columns = [main_scores(model) for model in models]
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


def _percent(value: float, *, signed: bool = False) -> str:
    return f"{100 * value:{'+' if signed else ''}.2f}" if math.isfinite(value) else "-"


def _span(bounds: list[float] | None) -> str:
    return (
        ""
        if bounds is None or any(map(math.isnan, bounds))
        else f"  [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"
    )
