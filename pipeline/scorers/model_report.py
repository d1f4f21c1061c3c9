"""Every number of every model on one benchmark: what the table prints and `--json` writes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from . import answer_scores, realistic
from .abstention import abstention_group
from .bootstrap import Replicates, interval, replicates
from .calibration import calibration_group
from .cautions import cautions
from .dual_accuracy import pairs_group
from .gqa_diagnostics import gqa_group
from .human import human_group
from .items import FILES, Answered, Benchmark, Options, Predictions, Scores
from .join import faults, join, split
from .masses import masses_group
from .selective import selective_group
from .validation import InputError
from .version import VERSION
from .wups import wups_group

UQS, ANSWERS = {"rgqa"}, {"gqa", "vqa"}  # the kinds of benchmarks: with unanswerable questions, and without
# The groups of scores: what computes them, and for which benchmarks. A report has them in this order.
GROUPS: dict[str, tuple[Callable[[Answered, Options], Scores], set[str]]] = {
    "realistic": (realistic.realistic_group, UQS),
    "pairs": (pairs_group, UQS),
    "answers": (answer_scores.answers_group, ANSWERS),
    "masses": (masses_group, ANSWERS),
    "wups": (wups_group, ANSWERS),
    "selective": (selective_group, UQS | ANSWERS),
    "calibration": (calibration_group, UQS | ANSWERS),
    "answerability": (realistic.answerability_group, UQS),
    "abstention": (abstention_group, UQS),
    "human": (human_group, UQS),
    "gqa": (gqa_group, ANSWERS),
    "by": (realistic.by_group, UQS),
}
EFFICIENCY = "efficiency"  # of the whole run, not of a subset
NAMES = sorted([*GROUPS, EFFICIENCY])
SCORES = realistic.SCORES | answer_scores.SCORES  # those with intervals, by which models are compared


class Change(NamedTuple):
    """A score of a model minus that of the first; with a bootstrap also the paired interval, and the share of
    repetitions in which the model is better."""

    difference: float
    interval: tuple[float, float] | None = None
    share_better: float | None = None


class Difference(NamedTuple):
    """A model against the first: the change of each score, by subset (and "mean")."""

    model: str
    against: str
    scores: dict[str, dict[str, Change]]


class ModelReport(NamedTuple):
    """What is reported of one model.

    Attributes:
        sha256: of the predictions file. efficiency: what the run cost, None where no log was given.
        subsets: by name, the groups of scores; before them "counts", after them "intervals" by score.
        mean: of several subsets, the mean of their group "realistic", and "intervals".
        warnings: by subset, what looks as if something went wrong.
    """

    name: str
    sha256: str
    subsets: dict[str, dict[str, Scores]]
    mean: dict[str, Scores] | None = None
    efficiency: Mapping[str, float] | None = None
    warnings: Mapping[str, list[str]] = MappingProxyType({})

    def main_scores(self) -> dict[str, Scores]:
        """The scores by which models are compared, of each subset and, as "mean", on average."""
        places = self.subsets | ({"mean": self.mean} if self.mean else {})
        return {
            name: groups.get("realistic") or groups.get("answers") or {} for name, groups in places.items()
        }


class Report(NamedTuple):
    """Every model on one benchmark. `benchmark` has name, kind, version, sha256 by file and items by subset."""

    versions: dict[str, str]
    options: dict[str, Any]
    benchmark: dict[str, Any]
    models: list[ModelReport]
    differences: list[Difference]


def score(benchmark: Benchmark, models: Sequence[Predictions], options: Options) -> Report:
    """Score models on a benchmark.

    Raises:
        InputError: everything that is wrong with the benchmark or any predictions file.
    """
    if options.mode == "parity":
        options = options._replace(match="exact", part="all")
    problems = list(_unfit(benchmark, options))
    for model in models:
        problems += [*model.faults, *(f"{model.name}: {line}" for line in faults(benchmark, model, options))]
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        problems.append("two predictions files have the same name: " + ", ".join(names))
    if problems:
        raise InputError(["cannot score", *problems])
    scored = [_scored(benchmark, model, options) for model in models]
    return Report(
        {"rgqa_scorers": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        {name: value for name, value in options._asdict().items() if name not in FILES},
        {
            **{name: value for name, value in benchmark._asdict().items() if name != "ids"},
            "subsets": {name: len(items) for name, items in benchmark.subsets.items()},
            "parts": sorted(
                {item.part for items in benchmark.subsets.values() for item in items if item.part}
            ),
        },
        [report for report, _ in scored],
        [_difference(scored[0], other) for other in scored[1:]],
    )


def _available(benchmark: Benchmark) -> list[str]:
    return [name for name, (_, kinds) in GROUPS.items() if benchmark.kind in kinds]


def _unfit(benchmark: Benchmark, options: Options) -> Iterator[str]:
    """What the benchmark lacks for the scores asked for."""
    there = sorted([*_available(benchmark), EFFICIENCY])
    for name in options.scores:
        if name not in there:
            yield f"{benchmark.name}: scores `{name}` are not for such a benchmark; there are {', '.join(there)}"
    for name, items in benchmark.subsets.items():
        answerable = [bool(item.answers) for item in items]
        if not items:
            yield f"{name}: has no items"
        elif benchmark.kind == "rgqa" and not any(answerable):
            yield f"{name}: has no AQs"
        elif benchmark.kind == "rgqa" and all(answerable):
            yield f'{name}: has no UQs (no label "UQ"): nothing to reject, so not a realistic-VQA benchmark'


def _scored(benchmark: Benchmark, model: Predictions, options: Options) -> tuple[ModelReport, Replicates]:
    joined = {name: join(items, model, options) for name, items in benchmark.subsets.items()}
    repeated: Replicates = {}
    if options.bootstrap and options.mode != "parity":
        of_uqs = benchmark.kind in UQS
        scoring = realistic.resample_realistic if of_uqs else answer_scores.resample_answers
        repeated = replicates(joined, scoring, options)
    chosen = [name for name in _available(benchmark) if not options.scores or name in options.scores]
    subsets = {}
    for name, answered in joined.items():
        groups = {group: GROUPS[group][0](answered, options) for group in chosen}
        counts = _counts(answered, len(split(benchmark.subsets[name], model, options)[0]))
        subsets[name] = {"counts": counts, **groups, "intervals": _intervals(repeated, name)}
    mean = None
    if len(subsets) > 1 and "realistic" in chosen:
        rows = [groups["realistic"] for groups in subsets.values()]
        means = {score: float(np.mean([row[score] for row in rows])) for score in rows[0]}
        mean = {"realistic": means, "intervals": _intervals(repeated, "mean")}
    warnings = {name: texts for name, answered in joined.items() if (texts := cautions(answered, options))}
    return ModelReport(model.name, model.sha256, subsets, mean, options.run_log, warnings), repeated


def _counts(answered: Answered, all_items: int) -> Scores:
    return {
        "items": len(answered.items),
        "aqs": int(answered.answerable.sum()),
        "uqs": int((~answered.answerable).sum()),
        "pictures": len({item.picture for item in answered.items}),
        "missing": int(answered.missing.sum()),
        "left_out": all_items - len(answered.items),
        "dev": len(answered.dev.items) if answered.dev else 0,
        "says_uq": sum(text.strip().upper() == "UQ" for text in answered.said),
    }


def _intervals(repeated: Replicates, place: str) -> Scores:
    return {score: interval(values) for score, values in repeated.get(place, {}).items()}


def _difference(first: tuple[ModelReport, Replicates], other: tuple[ModelReport, Replicates]) -> Difference:
    (theirs, their_repeated), (ours, our_repeated) = first, other
    our_scores = ours.main_scores()
    rows: dict[str, dict[str, Change]] = {}
    for place, scores in theirs.main_scores().items():
        rows[place] = {}
        for name, value in scores.items():
            change = Change(our_scores[place][name] - value)
            if name in our_repeated.get(place, {}):
                each = our_repeated[place][name] - their_repeated[place][name]
                better = each < 0 if SCORES[name].lower_is_better else each > 0
                change = change._replace(interval=interval(each), share_better=float(better.mean()))
            rows[place][name] = change
    return Difference(ours.name, theirs.name, rows)
