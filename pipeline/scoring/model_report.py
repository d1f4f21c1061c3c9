"""Every number of every model on one benchmark: what the table prints and `--json` writes."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import UserError
from . import answer_scores, realistic_vqa, resources
from .abstention import abstention_group
from .bootstrap import percentile_interval
from .bootstrap_scores import Replicates, replicates, resampled
from .calibration import calibration_group
from .compared_items import ComparedItems, compared_items
from .dual_accuracy import pairs_group
from .harness_logs import HARNESSES
from .items import Benchmark
from .join import faults, join, split
from .joined_predictions import FILES, Answered, Options, Predictions, Reading, Scores
from .model_comparison import GROUPS as COMPARED
from .model_comparison import Difference, compared, differences
from .prediction_warnings import cautions
from .selective_prediction import selective_group
from .subgroups import by_group
from .version import VERSION

UQS, ANSWERS = {"rgqa"}, {"gqa", "vqa"}  # the kinds of benchmarks: with unanswerable questions, and without
# The groups of scores: what computes them, and for which benchmarks. A report has them in this order.
GROUPS: dict[str, tuple[Callable[[Answered, Options], Scores], set[str]]] = {
    "realistic": (realistic_vqa.realistic_group, UQS),
    "pairs": (pairs_group, UQS),
    "answers": (answer_scores.answers_group, ANSWERS),
    "masses": (resources.masses, ANSWERS),
    "wups": (resources.wups, ANSWERS),
    "selective": (selective_group, UQS | ANSWERS),
    "calibration": (calibration_group, UQS | ANSWERS),
    "answerability": (realistic_vqa.answerability_group, UQS),
    "abstention": (abstention_group, UQS),
    "human": (resources.human, UQS),
    "gqa": (resources.gqa, ANSWERS),
    "by": (by_group, UQS),
}
EFFICIENCY = "efficiency"  # of the whole run, not of a subset
NAMES = sorted([*GROUPS, EFFICIENCY])
ON_SCREEN = ("realistic", "pairs", "answers")  # the groups that one screen needs


class ModelReport(NamedTuple):
    """What is reported of one model.

    Attributes:
        sha256: of the predictions file. efficiency: what the run cost, None where no log was given.
        subsets: by name, the groups of scores; before them "counts", after them "intervals" by score.
        mean: of several subsets, the mean of each score by which models are compared, and "intervals".
        warnings: by subset, what looks as if something went wrong. reading: how the file was read.
    """

    name: str
    sha256: str
    subsets: dict[str, dict[str, Scores]]
    mean: dict[str, Scores] | None = None
    efficiency: Mapping[str, float] | None = None
    warnings: Mapping[str, list[str]] = MappingProxyType({})
    reading: Reading = Reading()

    @property
    def places(self) -> dict[str, dict[str, Scores]]:
        """The groups of each subset, and of several, first, those of their "mean"."""
        return ({"mean": self.mean} if self.mean else {}) | self.subsets


class Report(NamedTuple):
    """Every model on one benchmark.

    Attributes:
        benchmark: name, kind, version, sha256 by file and items by subset.
        compared: of several models of which some lack items, how many each has; else None.
    """

    versions: dict[str, str]
    options: dict[str, Any]
    benchmark: dict[str, Any]
    models: list[ModelReport]
    differences: list[Difference]
    compared: ComparedItems | None = None


def score(benchmark: Benchmark, models: Sequence[Predictions], options: Options) -> Report:
    """Score models on a benchmark.

    Raises:
        UserError: everything that is wrong with the benchmark or any predictions file.
    """
    options = settled(options)
    problems = list(unfit(benchmark, options))
    for model in models:
        found = [*model.faults, *(f"{model.name}: {line}" for line in faults(benchmark, model, options))]
        if found and (harness := HARNESSES.get(model.reading.form)):
            found += [f"{model.name}: {line}" for line in model.reading.lines()]
            found += [harness.hint] if benchmark.ids.isdisjoint(model.places) else []
        problems += found
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        problems.append("two predictions files have the same name: " + ", ".join(names))
    if len({frozenset(model.dev.places) if model.dev else None for model in models}) > 1:
        problems.append("the files of --dev put aside different items; models are compared on the same")
    if problems:
        raise UserError(["cannot score", *problems])
    common = in_common(benchmark, models, options)
    scored = [_scored(benchmark, common, model, options) for model in models]
    return Report(
        {"rgqa_scorers": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        {name: value for name, value in options._asdict().items() if name not in FILES},
        {
            **{name: value for name, value in benchmark._asdict().items() if name != "ids"},
            "subsets": {name: len(items) for name, items in benchmark.subsets.items()},
            "parts": benchmark.parts,
        },
        [report for report, _ in scored],
        differences(
            [
                (report.name, {place: compared(groups) for place, groups in report.places.items()}, repeated)
                for report, repeated in scored
            ]
        ),
        _compared(benchmark, models, options),
    )


def _compared(benchmark: Benchmark, models: Sequence[Predictions], options: Options) -> ComparedItems | None:
    """Which items several models are compared on, where predictions are left out."""
    if options.missing != "drop" or len(models) < 2:
        return None
    scored = [split(items, models[0], options)[0]["id"].tolist() for items in benchmark.subsets.values()]
    found = compared_items({*chain(*scored)}, {model.name: model.places.keys() for model in models})
    return found if found.sentence else None


def in_common(benchmark: Benchmark, models: Sequence[Predictions], options: Options) -> Benchmark:
    """The benchmark with the items that all models are scored on: what one of them leaves out is left out of all."""
    if options.missing != "drop":
        return benchmark
    said = [model.places.keys() | (model.dev.places.keys() if model.dev else set()) for model in models]
    kept = frozenset.intersection(*map(frozenset, said))
    return benchmark._replace(
        subsets={name: items.at(items.among(kept)) for name, items in benchmark.subsets.items()}
    )


def settled(options: Options) -> Options:
    """The options as they are applied: mode parity settles some others."""
    return options._replace(match="exact", part="all") if options.mode == "parity" else options


def available(benchmark: Benchmark) -> list[str]:
    """The groups of scores that suit a benchmark."""
    return [name for name, (_, kinds) in GROUPS.items() if benchmark.kind in kinds]


def unfit(benchmark: Benchmark, options: Options) -> Iterator[str]:
    """What the benchmark lacks for the scores asked for."""
    there = sorted([*available(benchmark), EFFICIENCY])
    for name in options.scores:
        if name not in there:
            yield f"{benchmark.name}: scores `{name}` are not for such a benchmark; there are {', '.join(there)}"
    for name, items in benchmark.subsets.items():
        answerable = items.answerable
        if not len(items):
            yield f"{name}: has no items"
        elif benchmark.kind == "rgqa" and not answerable.any():
            yield f"{name}: has no AQs"
        elif benchmark.kind == "rgqa" and answerable.all():
            yield f'{name}: has no UQs (no label "UQ"): nothing to reject, so not a realistic-VQA benchmark'


def _scored(
    benchmark: Benchmark, common: Benchmark, model: Predictions, options: Options
) -> tuple[ModelReport, Replicates]:
    joined = {name: join(items, model, options) for name, items in common.subsets.items()}
    chosen = [name for name in available(benchmark) if not options.scores or name in options.scores]
    repeated: Replicates = {}
    if options.bootstrap and options.mode != "parity" and not set(COMPARED).isdisjoint(chosen):
        repeated = replicates(joined, partial(resampled, groups=chosen), options)
    subsets = {}
    for name, answered in joined.items():
        groups = {group: GROUPS[group][0](answered, options) for group in chosen}
        wanted = split(benchmark.subsets[name], model, options)[0]
        counts = _counts(answered, len(wanted), int((~wanted.among(model.places)).sum()))
        subsets[name] = {"counts": counts, **groups, "intervals": _intervals(repeated, name)}
    mean = _mean(list(subsets.values())) if len(subsets) > 1 else {}
    if mean:
        mean["intervals"] = _intervals(repeated, "mean")
    warnings = {name: texts for name, answered in joined.items() if (texts := cautions(answered, options))}
    return ModelReport(
        model.name, model.sha256, subsets, mean or None, options.run_log, warnings, model.reading
    ), repeated


def _mean(subsets: Sequence[Mapping[str, Scores]]) -> dict[str, Scores]:
    """The mean over subsets of each score by which models are compared, in its group."""
    means: dict[str, Scores] = {}
    for group in COMPARED:
        rows = [compared({group: groups.get(group, {})}) for groups in subsets]
        if shared := [name for name in rows[0] if all(name in row for row in rows)]:
            means[group] = {name: float(np.mean([row[name] for row in rows])) for name in shared}
    return means


def _counts(answered: Answered, all_items: int, without_prediction: int) -> Scores:
    left_out = all_items - len(answered.items)
    return {
        "items": len(answered.items),
        "aqs": int(answered.answerable.sum()),
        "uqs": int((~answered.answerable).sum()),
        "pictures": len(set(answered.items["picture"].tolist())),
        "missing": int(answered.missing.sum()),
        "left_out": left_out,
        "left_out_for_others": max(0, left_out - without_prediction),
        "dev": len(answered.dev.items) if answered.dev else 0,
        "says_uq": sum(
            times for text, times in Counter(answered.said).items() if text.strip().upper() == "UQ"
        ),
    }


def _intervals(repeated: Replicates, place: str) -> Scores:
    return {score: percentile_interval(values) for score, values in repeated.get(place, {}).items()}
