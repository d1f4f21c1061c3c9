"""A report as text: percentages with two decimals, undefined as a dash."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

TITLES = {
    "auaf": "AUAF",
    "ff95": "FF95 (lower)",
    "facc": "FACC",
    "auroc": "AUROC",
    "aupr_in": "AUPR-in",
    "aupr_out": "AUPR-out",
    "fpr95": "FPR at 95 % TPR (lower)",
    "detection_error": "detection error (lower)",
    "dual_accuracy": "dual accuracy",
    "auc": "risk-coverage AUC (lower)",
    "best_auc": "best possible AUC",
    "ece": "ECE (lower)",
    "brier": "Brier (lower)",
    "vqa_accuracy": "VQA accuracy",
    "vqa3_plus": "VQA3+",
    "token_f1": "token F1",
    "anls": "ANLS",
}
PLAIN = frozenset(
    {  # numbers that are no shares
        "pairs",
        "items",
        "aqs",
        "uqs",
        "pictures",
        "missing",
        "says_uq",
        "threshold",
        "abstentions",
        "wrong",
        "missed",
        "distribution",
        "requests",
        "latency_mean",
        "items_per_second",
        "peak_memory_bytes",
        "latency_p50",
        "latency_p90",
        "latency_p95",
        "latency_p99",
    }
)


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report's lines: every model, every subset, then the differences."""
    bench = report["benchmark"]
    version = f" {bench['version']}" if bench["version"] else ""
    yield f"benchmark {bench['name']}{version}, mode {report['options']['mode']}; numbers in % unless said otherwise"
    for model in report["models"]:
        for subset, found in model["subsets"].items():
            yield ""
            yield headline(model["name"], subset, found["counts"])
            for part, values in found.items():
                if part in ("counts", "intervals"):
                    continue
                if part == "by":
                    yield from _slices(values)
                else:
                    yield from _part(part, values, found["intervals"])
        if "mean" in model:
            yield ""
            yield f"{model['name']}: mean of {len(model['subsets'])} subsets"
            yield from _part("realistic", model["mean"]["realistic"], model["mean"]["intervals"])
        if "efficiency" in model:
            yield ""
            yield from _part("efficiency", model["efficiency"], {})
    for difference in report["differences"]:
        yield ""
        yield f"{difference['model']} minus {difference['against']}, points"
        for place, scores in difference["scores"].items():
            for name, row in scores.items():
                span = _span(row["interval"]) if "interval" in row else ""
                yield f"  {place:<12} {TITLES.get(name, name):<28} {_percent(row['difference'], True):>8}{span}"


def comparison(report: Mapping[str, Any]) -> Iterator[str]:
    """Several models side by side: one line for each subset and score."""
    models = report["models"]
    if len(models) < 2:
        return
    width = max(10, *(len(model["name"]) + 2 for model in models))
    yield f"{'':<12} {'':<28}" + "".join(f"{model['name']:>{width}}" for model in models)
    for place in [*models[0]["subsets"], *(["mean"] if "mean" in models[0] else [])]:
        values = [
            model["mean"]["realistic"] if place == "mean" else _main(model["subsets"][place])
            for model in models
        ]
        for name in values[0]:
            yield f"{place:<12} {TITLES.get(name, name):<28}" + "".join(
                f"{_percent(v[name]):>{width}}" for v in values
            )


def headline(model: str, subset: str, counts: Mapping[str, int]) -> str:
    """One line on what was scored, with every item that was not answered as it should be."""
    text = (
        f"{model} on {subset}: {counts['aqs']:,} AQs, {counts['uqs']:,} UQs, {counts['pictures']:,} pictures"
    )
    if counts["missing"]:
        text += f"; {counts['missing']:,} MISSING, counted as rejected"
    if counts["says_uq"]:
        text += f'; {counts["says_uq"]:,} answers read "UQ": never right as an answer (--free-text reads them as abstentions)'
    return text


def _main(found: Mapping[str, Any]) -> Mapping[str, float]:
    return found.get("realistic") or found.get("answers") or {}


def _part(title: str, values: Mapping[str, Any], intervals: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {title}"
    if "absent" in values:
        yield f"    not scored: {values['absent']}"
        return
    for name, value in values.items():
        yield from _row(name, value, intervals)


def _row(name: str, value: Any, intervals: Mapping[str, Any], indent: str = "    ") -> Iterator[str]:
    """One score, or a line for each of several that belong together."""
    title = TITLES.get(name, name.replace("_", " "))
    if not isinstance(value, Mapping):
        yield f"{indent}{title:<34} {_shown(name, value):>10}" + (
            _span(intervals[name]) if name in intervals else ""
        )
    elif "absent" in value:
        yield f"{indent}{title}: not scored: {value['absent']}"
    elif set(value) == {"value", "items"}:
        yield f"{indent}{title:<34} {_shown(name, value['value']):>10}  of {value['items']:,}"
    elif any(isinstance(v, Mapping) for v in value.values()):
        yield f"{indent}{title}"
        for key, inner in value.items():
            yield from _row(key, inner, {}, indent + "  ")
    else:
        yield f"{indent}{title:<20} " + ", ".join(
            f"{key.replace('_', ' ')}: {_shown(key, v)}" for key, v in value.items()
        )


def _shown(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return _plain(value) if name in PLAIN else _percent(value)


def _slices(values: Mapping[str, Any]) -> Iterator[str]:
    if "absent" in values:
        yield f"  by kind: {values['absent']}"
        return
    yield f"  {'by kind':<42}{'AUAF':>8}{'FF95':>8}{'FACC':>8}{'AUROC':>8}{'AQs':>8}{'UQs':>8}"
    for name, kinds in values.items():
        for kind, row in kinds.items():
            numbers = "".join(f"{_percent(row[score]):>8}" for score in ("auaf", "ff95", "facc", "auroc"))
            yield f"    {name + ': ' + kind:<40}{numbers}{row['aqs']:>8,}{row['uqs']:>8,}"


def _percent(value: float, signed: bool = False) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:{'+' if signed else ''}.2f}"


def _plain(value: float) -> str:
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{value:.6g}"


def _span(bounds: list[float]) -> str:
    return "" if any(math.isnan(b) for b in bounds) else f"  [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"
