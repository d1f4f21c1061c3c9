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
from .abstention import score_abstention
from .bootstrap import percentile_interval
from .bootstrap_scores import Replicates, bootstrap_subsets, make_score_statistic
from .calibration import score_calibration
from .compared_items import ComparedItems, count_compared_items
from .dual_accuracy import score_pairs
from .harness_logs import HARNESSES
from .items import Benchmark
from .join import find_faults, join_predictions, split_items
from .joined_predictions import (
    FILE_OPTIONS,
    JoinedPredictions,
    PredictionFileInfo,
    Predictions,
    Scores,
    ScoringOptions,
)
from .model_comparison import COMPARED_GROUPS, ModelComparison, compare_models, select_compared_scores
from .prediction_warnings import find_prediction_warnings
from .selective_prediction import score_selective_prediction
from .subgroups import score_subgroups
from .version import VERSION

KINDS_WITH_UQS, KINDS_WITHOUT_UQS = (
    {"rgqa"},
    {"gqa", "vqa"},
)  # the kinds of benchmarks: with unanswerable questions, and without
# The groups of scores: what computes them, and for which benchmarks. A report has them in this order.
SCORE_GROUPS: dict[str, tuple[Callable[[JoinedPredictions, ScoringOptions], Scores], set[str]]] = {
    "realistic": (realistic_vqa.score_realistic_vqa, KINDS_WITH_UQS),
    "pairs": (score_pairs, KINDS_WITH_UQS),
    "answers": (answer_scores.score_answers, KINDS_WITHOUT_UQS),
    "masses": (resources.lazy_score_masses, KINDS_WITHOUT_UQS),
    "wups": (resources.lazy_score_wups, KINDS_WITHOUT_UQS),
    "selective": (score_selective_prediction, KINDS_WITH_UQS | KINDS_WITHOUT_UQS),
    "calibration": (score_calibration, KINDS_WITH_UQS | KINDS_WITHOUT_UQS),
    "answerability": (realistic_vqa.score_answerability, KINDS_WITH_UQS),
    "abstention": (score_abstention, KINDS_WITH_UQS),
    "human": (resources.lazy_score_human_baseline, KINDS_WITH_UQS),
    "gqa": (resources.lazy_score_gqa, KINDS_WITHOUT_UQS),
    "subgroups": (score_subgroups, KINDS_WITH_UQS),
}
EFFICIENCY_GROUP = "efficiency"  # of the whole run, not of a subset
GROUP_NAMES = sorted([*SCORE_GROUPS, EFFICIENCY_GROUP])
SUMMARY_GROUPS = ("realistic", "pairs", "answers")  # the groups that one screen needs


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
    file_info: PredictionFileInfo = PredictionFileInfo()

    @property
    def scores_by_subset(self) -> dict[str, dict[str, Scores]]:
        """The groups of each subset, and of several, first, those of their "mean"."""
        return ({"mean": self.mean} if self.mean else {}) | self.subsets


class ScoreReport(NamedTuple):
    """Every model on one benchmark.

    Attributes:
        benchmark: name, kind, version, sha256 by file and items by subset.
        compared: of several models of which some lack items, how many each has; else None.
    """

    versions: dict[str, str]
    options: dict[str, Any]
    benchmark: dict[str, Any]
    models: list[ModelReport]
    comparisons: list[ModelComparison]
    compared_items: ComparedItems | None = None


def score_models(benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions) -> ScoreReport:
    """Score models on a benchmark.

    Raises:
        UserError: everything that is wrong with the benchmark or any predictions file.
    """
    options = resolve_options(options)
    problems = list(find_benchmark_faults(benchmark, options))
    for model in models:
        found = [*model.faults, *(f"{model.name}: {line}" for line in find_faults(benchmark, model, options))]
        if found and (harness := HARNESSES.get(model.file_info.file_format)):
            found += [f"{model.name}: {line}" for line in model.file_info.describe()]
            found += [harness.hint] if benchmark.ids.isdisjoint(model.index_by_id) else []
        problems += found
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        problems.append("two predictions files have the same name: " + ", ".join(names))
    if len({frozenset(model.validation.index_by_id) if model.validation else None for model in models}) > 1:
        problems.append(
            "the files of --validation put aside different items; models are compared on the same"
        )
    if problems:
        raise UserError(["cannot score", *problems])
    common = restrict_to_common_items(benchmark, models, options)
    scored = [_score_model(benchmark, common, model, options) for model in models]
    return ScoreReport(
        {"rgqa_scorers": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        {name: value for name, value in options._asdict().items() if name not in FILE_OPTIONS},
        {
            **{name: value for name, value in benchmark._asdict().items() if name != "ids"},
            "subsets": {name: len(items) for name, items in benchmark.subsets.items()},
            "splits": benchmark.splits,
        },
        [report for report, _ in scored],
        compare_models(
            [
                (
                    report.name,
                    {
                        place: select_compared_scores(groups)
                        for place, groups in report.scores_by_subset.items()
                    },
                    repeated,
                )
                for report, repeated in scored
            ]
        ),
        _count_compared_items(benchmark, models, options),
    )


def _count_compared_items(
    benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions
) -> ComparedItems | None:
    """Which items several models are compared on, where predictions are left out."""
    if options.missing != "drop" or len(models) < 2:
        return None
    scored = [
        split_items(items, models[0], options)[0]["id"].tolist() for items in benchmark.subsets.values()
    ]
    found = count_compared_items(
        {*chain(*scored)}, {model.name: model.index_by_id.keys() for model in models}
    )
    return found if found.summary else None


def restrict_to_common_items(
    benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions
) -> Benchmark:
    """The benchmark with the items that all models are scored on: what one of them leaves out is left out of all."""
    if options.missing != "drop":
        return benchmark
    said = [
        model.index_by_id.keys() | (model.validation.index_by_id.keys() if model.validation else set())
        for model in models
    ]
    kept = frozenset.intersection(*map(frozenset, said))
    return benchmark._replace(
        subsets={name: items.select(items.isin(kept)) for name, items in benchmark.subsets.items()}
    )


def resolve_options(options: ScoringOptions) -> ScoringOptions:
    """The options as they are applied: mode published settles some others."""
    return options._replace(match="exact", split="all") if options.mode == "published" else options


def list_score_groups(benchmark: Benchmark) -> list[str]:
    """The groups of scores that suit a benchmark."""
    return [name for name, (_, kinds) in SCORE_GROUPS.items() if benchmark.kind in kinds]


def find_benchmark_faults(benchmark: Benchmark, options: ScoringOptions) -> Iterator[str]:
    """What the benchmark lacks for the scores asked for."""
    there = sorted([*list_score_groups(benchmark), EFFICIENCY_GROUP])
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


def _score_model(
    benchmark: Benchmark, common: Benchmark, model: Predictions, options: ScoringOptions
) -> tuple[ModelReport, Replicates]:
    joined = {name: join_predictions(items, model, options) for name, items in common.subsets.items()}
    chosen = [name for name in list_score_groups(benchmark) if not options.scores or name in options.scores]
    repeated: Replicates = {}
    if options.bootstrap and options.mode != "published" and not set(COMPARED_GROUPS).isdisjoint(chosen):
        repeated = bootstrap_subsets(joined, partial(make_score_statistic, groups=chosen), options)
    subsets = {}
    for name, answered in joined.items():
        groups = {group: SCORE_GROUPS[group][0](answered, options) for group in chosen}
        wanted = split_items(benchmark.subsets[name], model, options)[0]
        counts = _count_items(answered, len(wanted), int((~wanted.isin(model.index_by_id)).sum()))
        subsets[name] = {"counts": counts, **groups, "intervals": _compute_intervals(repeated, name)}
    mean = _average_subsets(list(subsets.values())) if len(subsets) > 1 else {}
    if mean:
        mean["intervals"] = _compute_intervals(repeated, "mean")
    warnings = {
        name: texts
        for name, answered in joined.items()
        if (texts := find_prediction_warnings(answered, options))
    }
    return ModelReport(
        model.name, model.sha256, subsets, mean or None, options.run_log, warnings, model.file_info
    ), repeated


def _average_subsets(subsets: Sequence[Mapping[str, Scores]]) -> dict[str, Scores]:
    """The mean over subsets of each score by which models are compared, in its group."""
    means: dict[str, Scores] = {}
    for group in COMPARED_GROUPS:
        rows = [select_compared_scores({group: groups.get(group, {})}) for groups in subsets]
        if shared := [name for name in rows[0] if all(name in row for row in rows)]:
            means[group] = {name: float(np.mean([row[name] for row in rows])) for name in shared}
    return means


def _count_items(answered: JoinedPredictions, all_items: int, without_prediction: int) -> Scores:
    left_out = all_items - len(answered.items)
    return {
        "items": len(answered.items),
        "aqs": int(answered.answerable.sum()),
        "uqs": int((~answered.answerable).sum()),
        "images": len(set(answered.items["image"].tolist())),
        "missing": int(answered.missing.sum()),
        "excluded": left_out,
        "excluded_for_other_models": max(0, left_out - without_prediction),
        "validation": len(answered.validation.items) if answered.validation else 0,
        "num_uq_answers": sum(
            times for text, times in Counter(answered.answer).items() if text.strip().upper() == "UQ"
        ),
    }


def _compute_intervals(repeated: Replicates, place: str) -> Scores:
    return {score: percentile_interval(values) for score, values in repeated.get(place, {}).items()}
