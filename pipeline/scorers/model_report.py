"""Every number of one model on one benchmark, as a plain mapping: what the table prints and `--json` writes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from . import answers_part, realistic_part
from .benchmark import Benchmark
from .bootstrap import clusters, draws, interval
from .join import Joined, faults, join
from .predictions import Predictions
from .realistic import LOWER_IS_BETTER
from .validation import Refused
from .version import VERSION


@dataclass(frozen=True, slots=True)
class Options:
    """What to score and how.

    Attributes:
        scores: groups of scores, () for all that the benchmark allows. mode: strict definitions, or the published
            RGQA script's. repetitions: of the bootstrap, 0 for no intervals. seed: of the bootstrap.
        threshold: accept where confidence >= threshold, in the scores that need a fixed one.
        allow_missing, free_text, match: see `join`.
        extras: what some scores need and no benchmark has: vectors, taxonomy, all_questions, choices, scenes,
            attention, human, run_log.
    """

    scores: tuple[str, ...] = ()
    mode: Literal["strict", "parity"] = "strict"
    repetitions: int = 1000
    seed: int = 0
    threshold: float = 0.5
    allow_missing: bool = False
    free_text: bool = False
    match: Literal["case", "exact"] = "case"
    extras: Mapping[str, Any] = field(default_factory=dict)


Part = Callable[[Joined, Options], dict[str, Any]]
RGQA_PARTS: dict[str, Part] = {
    "realistic": realistic_part.realistic,
    "pairs": realistic_part.pairs,
    "selective": realistic_part.selective,
    "calibration": realistic_part.calibration,
    "answerability": realistic_part.answerability,
    "abstention": realistic_part.abstention,
    "human": realistic_part.human,
    "by": realistic_part.by,
}
ANSWER_PARTS: dict[str, Part] = {
    "answers": answers_part.answers,
    "masses": answers_part.masses_part,
    "wups": answers_part.wups_part,
    "selective": answers_part.selective,
    "calibration": answers_part.calibration,
    "gqa": answers_part.gqa,
}
PARTS = {"rgqa": RGQA_PARTS, "vqa": ANSWER_PARTS, "gqa": ANSWER_PARTS}
GROUPS = tuple(sorted({*RGQA_PARTS, *ANSWER_PARTS, "efficiency"}))


def score(
    benchmark: Benchmark, known: Sequence[str], models: Sequence[Predictions], options: Options
) -> dict[str, Any]:
    """Score models on a benchmark.

    Args:
        known: ids of all items of the benchmark, chosen subsets or not.

    Returns:
        `versions`, `options`, `benchmark`, `models` (a list: name, sha256, subsets, mean, efficiency) and
        `differences` of every further model to the first.

    Raises:
        Refused: everything that is wrong with the benchmark or any predictions file.
    """
    problems = [f"{name}: {line}" for name, line in _unfit(benchmark, options)]
    needs = benchmark.kind == "rgqa" and not options.free_text
    for model in models:
        problems += model.faults
        problems += [
            f"{model.name}: {line}"
            for line in faults(
                benchmark, known, model, allow_missing=options.allow_missing, confidences=needs
            )
        ]
    if len({model.name for model in models}) < len(models):
        problems.append(
            "two predictions files have the same name: " + ", ".join(model.name for model in models)
        )
    if problems:
        raise Refused(["cannot score", *problems])
    joined = [
        {
            name: join(rows, model, free_text=options.free_text, match=options.match)
            for name, rows in benchmark.subsets.items()
        }
        for model in models
    ]
    replicates = [_replicates(subsets, benchmark.kind, options) for subsets in joined]
    found = [_model(m, j, r, benchmark, options) for m, j, r in zip(models, joined, replicates, strict=True)]
    return {
        "versions": {"rgqa_scorers": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "options": {
            "mode": options.mode,
            "scores": list(options.scores),
            "bootstrap": options.repetitions,
            "seed": options.seed,
            "threshold": options.threshold,
            "allow_missing": options.allow_missing,
            "free_text": options.free_text,
            "match": options.match,
        },
        "benchmark": {
            "name": benchmark.name,
            "kind": benchmark.kind,
            "version": benchmark.version,
            "sha256": benchmark.sha256,
            "subsets": {name: len(rows) for name, rows in benchmark.subsets.items()},
        },
        "models": found,
        "differences": [_difference(found, replicates, k) for k in range(1, len(found))],
    }


def _unfit(benchmark: Benchmark, options: Options) -> list[tuple[str, str]]:
    """What the benchmark lacks for the scores asked for."""
    problems = []
    available = {*PARTS[benchmark.kind], "efficiency"}
    for name in options.scores:
        if name not in available:
            problems.append(
                (
                    benchmark.name,
                    f"scores `{name}` are not for such a benchmark; there are {', '.join(sorted(available))}",
                )
            )
    for name, rows in benchmark.subsets.items():
        if not rows:
            problems.append((name, "has no items"))
        elif benchmark.kind == "rgqa":
            aqs = sum(row.answerable for row in rows)
            if aqs in (0, len(rows)):
                problems.append(
                    (
                        name,
                        "has no AQs"
                        if not aqs
                        else 'has no UQs (no label "UQ"): nothing to reject, so not a realistic-VQA benchmark',
                    )
                )
    return problems


def _model(
    model: Predictions,
    subsets: dict[str, Joined],
    replicates: dict[str, dict[str, np.ndarray]],
    benchmark: Benchmark,
    options: Options,
) -> dict[str, Any]:
    parts = {n: p for n, p in PARTS[benchmark.kind].items() if not options.scores or n in options.scores}
    options = replace(
        options, extras={**options.extras, "questions": benchmark.questions, "other_answers": model.answers}
    )
    found: dict[str, Any] = {}
    for name, joined in subsets.items():
        found[name] = {"counts": _counts(joined)} | {
            part: compute(joined, options) for part, compute in parts.items()
        }
        found[name]["intervals"] = {
            score: list(interval(values)) for score, values in replicates.get(name, {}).items()
        }
    result = {"name": model.name, "sha256": model.sha256, "subsets": found}
    if len(subsets) > 1 and "realistic" in parts:
        scores = [found[name]["realistic"] for name in subsets]
        result["mean"] = {
            "realistic": {name: float(np.mean([values[name] for values in scores])) for name in scores[0]},
            "intervals": {
                name: list(interval(values)) for name, values in replicates.get("mean", {}).items()
            },
        }
    if "run_log" in options.extras:
        result["efficiency"] = options.extras["run_log"]
    return result


def _counts(joined: Joined) -> dict[str, int]:
    return {
        "items": len(joined.rows),
        "aqs": int(joined.answerable.sum()),
        "uqs": int((~joined.answerable).sum()),
        "pictures": len({row.picture for row in joined.rows}),
        "missing": int(joined.missing.sum()),
        "says_uq": sum(text.strip().upper() == "UQ" for text in joined.said),
    }


def _replicates(subsets: dict[str, Joined], kind: str, options: Options) -> dict[str, dict[str, np.ndarray]]:
    """Scores of every bootstrap repetition: subset -> score -> [b], and their mean over subsets. The same seed draws
    the same pictures for every model, so that differences are paired."""
    if not options.repetitions or options.mode == "parity":
        return {}
    repeat = realistic_part.repeat if kind == "rgqa" else answers_part.repeat
    count, places = clusters([[row.picture or row.id for row in joined.rows] for joined in subsets.values()])
    blocks = draws(count, options.repetitions, options.seed, max(len(p) for p in places))
    prepared = [repeat(joined, place) for joined, place in zip(subsets.values(), places, strict=True)]
    found: dict[str, dict[str, list[np.ndarray]]] = {name: {} for name in subsets}
    for weights in blocks:
        for name, scores_of in zip(subsets, prepared, strict=True):
            for score_name, values in scores_of(weights).items():
                found[name].setdefault(score_name, []).append(values)
    joined_up = {name: {s: np.concatenate(v) for s, v in scores.items()} for name, scores in found.items()}
    if len(subsets) > 1:
        shared = list(next(iter(joined_up.values())))
        joined_up["mean"] = {s: np.mean([joined_up[name][s] for name in subsets], axis=0) for s in shared}
    return joined_up


def _difference(
    found: list[dict[str, Any]], replicates: list[dict[str, dict[str, np.ndarray]]], k: int
) -> dict[str, Any]:
    """Model k against the first: differences of the scores, paired intervals and the share of repetitions in which
    model k is better."""
    rows: dict[str, Any] = {}
    for place, scores in _headline(found[0]).items():
        ours = _headline(found[k])[place]
        rows[place] = {}
        for name, value in scores.items():
            row: dict[str, Any] = {"difference": ours[name] - value}
            if name in replicates[k].get(place, {}):
                change = replicates[k][place][name] - replicates[0][place][name]
                better = -change if name in LOWER_IS_BETTER else change
                row |= {"interval": list(interval(change)), "share_better": float((better > 0).mean())}
            rows[place][name] = row
    return {"model": found[k]["name"], "against": found[0]["name"], "scores": rows}


def _headline(model: dict[str, Any]) -> dict[str, dict[str, float]]:
    """subset -> the scores that are compared between models."""
    places = {
        name: values.get("realistic") or values.get("answers") or {}
        for name, values in model["subsets"].items()
    }
    return places | ({"mean": model["mean"]["realistic"]} if "mean" in model else {})
