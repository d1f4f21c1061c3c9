"""Every number of every model on one benchmark, as a plain mapping: what the table prints and `--json` writes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .abstention import abstention_group
from .answer_scores import answers_group, resample_answers
from .answerability import answerability_group
from .bootstrap import clusters, draws, interval
from .calibration import calibration_group
from .dual_accuracy import pairs_group
from .gqa_diagnostics import gqa_group
from .human import human_group
from .items import Answered, Benchmark, Options, Predictions
from .join import faults, join
from .masses import masses_group
from .realistic import SCORES, realistic_group, resample_realistic
from .selective import selective_group
from .slices import by_group
from .validation import InputError
from .version import VERSION
from .wups import wups_group

UQS, ANSWERS = {"rgqa"}, {"gqa", "vqa"}  # the kinds of benchmarks: with unanswerable questions, and without
# The groups of scores: what computes them, and for which benchmarks. A report has them in this order.
GROUPS: dict[str, tuple[Callable[[Answered, Options], Mapping[str, Any]], set[str]]] = {
    "realistic": (realistic_group, UQS),
    "pairs": (pairs_group, UQS),
    "answers": (answers_group, ANSWERS),
    "masses": (masses_group, ANSWERS),
    "wups": (wups_group, ANSWERS),
    "selective": (selective_group, UQS | ANSWERS),
    "calibration": (calibration_group, UQS | ANSWERS),
    "answerability": (answerability_group, UQS),
    "abstention": (abstention_group, UQS),
    "human": (human_group, UQS),
    "gqa": (gqa_group, ANSWERS),
    "by": (by_group, UQS),
}
EFFICIENCY = "efficiency"  # of the whole run, not of a subset
NAMES = sorted([*GROUPS, EFFICIENCY])

Replicates = dict[
    str, dict[str, np.ndarray]
]  # subset (and "mean") -> score -> [b], the bootstrap's repetitions


def score(benchmark: Benchmark, models: Sequence[Predictions], options: Options) -> dict[str, Any]:
    """Score models on a benchmark.

    Returns:
        `versions`, `options`, `benchmark`, `models` (a list: name, sha256, subsets, mean, efficiency) and
        `differences` of every further model to the first.

    Raises:
        InputError: everything that is wrong with the benchmark or any predictions file.
    """
    problems = list(_unfit(benchmark, options))
    for model in models:
        problems += [*model.faults, *(f"{model.name}: {line}" for line in faults(benchmark, model, options))]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        problems.append("two predictions files have the same name: " + ", ".join(names))
    if problems:
        raise InputError(["cannot score", *problems])
    reports, replicates = [], []
    for model in models:
        subsets = {name: join(items, model, options) for name, items in benchmark.subsets.items()}
        replicates.append(_replicates(subsets, benchmark.kind, options))
        reports.append(_report(model, subsets, replicates[-1], benchmark.kind, options))
    return {
        "versions": {"rgqa_scorers": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "options": {name: value for name, value in options._asdict().items() if name != "extras"},
        "benchmark": {
            **{name: value for name, value in benchmark._asdict().items() if name != "ids"},
            "subsets": {name: len(items) for name, items in benchmark.subsets.items()},
        },
        "models": reports,
        "differences": [
            _difference(reports[0], replicates[0], *other)
            for other in zip(reports[1:], replicates[1:], strict=True)
        ],
    }


def _unfit(benchmark: Benchmark, options: Options) -> Iterator[str]:
    """What the benchmark lacks for the scores asked for."""
    available = sorted(
        [name for name, (_, kinds) in GROUPS.items() if benchmark.kind in kinds] + [EFFICIENCY]
    )
    for name in options.scores:
        if name not in available:
            there = ", ".join(available)
            yield f"{benchmark.name}: scores `{name}` are not for such a benchmark; there are {there}"
    for name, items in benchmark.subsets.items():
        answerable = [bool(item.answers) for item in items]
        if not items:
            yield f"{name}: has no items"
        elif benchmark.kind == "rgqa" and not any(answerable):
            yield f"{name}: has no AQs"
        elif benchmark.kind == "rgqa" and all(answerable):
            yield f'{name}: has no UQs (no label "UQ"): nothing to reject, so not a realistic-VQA benchmark'


def _report(
    model: Predictions, subsets: Mapping[str, Answered], replicates: Replicates, kind: str, options: Options
) -> dict[str, Any]:
    groups = {
        name: compute
        for name, (compute, kinds) in GROUPS.items()
        if kind in kinds and (not options.scores or name in options.scores)
    }
    intervals = {
        name: {score: list(interval(values)) for score, values in scores.items()}
        for name, scores in replicates.items()
    }
    scores = {
        name: {
            "counts": _counts(answered),
            **{group: compute(answered, options) for group, compute in groups.items()},
            "intervals": intervals.get(name, {}),
        }
        for name, answered in subsets.items()
    }
    report: dict[str, Any] = {"name": model.name, "sha256": model.sha256, "subsets": scores}
    if len(subsets) > 1 and "realistic" in groups:
        rows = [parts["realistic"] for parts in scores.values()]
        means = {score: float(np.mean([row[score] for row in rows])) for score in rows[0]}
        report["mean"] = {"realistic": means, "intervals": intervals.get("mean", {})}
    if options.extras.run_log is not None:
        report[EFFICIENCY] = options.extras.run_log
    return report


def _counts(answered: Answered) -> dict[str, int]:
    return {
        "items": len(answered.items),
        "aqs": int(answered.answerable.sum()),
        "uqs": int((~answered.answerable).sum()),
        "pictures": len({item.picture for item in answered.items}),
        "missing": int(answered.missing.sum()),
        "says_uq": sum(text.strip().upper() == "UQ" for text in answered.said),
    }


def _replicates(subsets: Mapping[str, Answered], kind: str, options: Options) -> Replicates:
    """Scores of every bootstrap repetition, and their mean over subsets. The same seed draws the same pictures for
    every model, so that differences are paired."""
    if not options.bootstrap or options.mode == "parity":
        return {}
    resample = resample_realistic if kind in UQS else resample_answers
    count, places = clusters([[item.picture or item.id for item in at.items] for at in subsets.values()])
    scores_of = [resample(answered, place) for answered, place in zip(subsets.values(), places, strict=True)]
    weights = draws(count, options.bootstrap, options.seed, max(map(len, places)))
    blocks = zip(*([scores(drawn) for scores in scores_of] for drawn in weights), strict=True)
    replicates = {
        name: {score: np.concatenate([block[score] for block in parts]) for score in parts[0]}
        for name, parts in zip(subsets, blocks, strict=True)
    }
    if len(subsets) > 1:
        rows = list(replicates.values())
        shared = [score for score in rows[0] if all(score in row for row in rows)]
        replicates["mean"] = {score: np.mean([row[score] for row in rows], axis=0) for score in shared}
    return replicates


def _difference(
    first: dict[str, Any], first_replicates: Replicates, other: dict[str, Any], replicates: Replicates
) -> dict[str, Any]:
    """A model against the first: differences of the scores, paired intervals and the share of repetitions in which
    it is better."""
    rows: dict[str, Any] = {}
    ours = main_scores(other)
    for place, scores in main_scores(first).items():
        rows[place] = {name: {"difference": ours[place][name] - value} for name, value in scores.items()}
        for name in scores.keys() & replicates.get(place, {}).keys():
            change = replicates[place][name] - first_replicates[place][name]
            better = change < 0 if name in SCORES and SCORES[name].lower_is_better else change > 0
            rows[place][name] |= {"interval": list(interval(change)), "share_better": float(better.mean())}
    return {"model": other["name"], "against": first["name"], "scores": rows}


def main_scores(model: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The scores by which models are compared, of each subset and on average."""
    places = {
        name: parts.get("realistic") or parts.get("answers") or {} for name, parts in model["subsets"].items()
    }
    return places | ({"mean": model["mean"]["realistic"]} if "mean" in model else {})
