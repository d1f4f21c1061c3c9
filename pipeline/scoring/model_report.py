"""Compute every score of every model on one benchmark: the content of the report and of `--json`."""

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
from .reason_accuracy import score_reasons
from .selective_prediction import score_selective_prediction
from .subgroups import score_subgroups
from .version import VERSION

# Kinds of benchmarks with and without unanswerable questions.
KINDS_WITH_UQS, KINDS_WITHOUT_UQS = {"rgqa"}, {"gqa", "vqa"}
# Score groups in the order of a report: name -> the function that computes the scores, and the kinds of
# benchmarks to which the group applies.
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
    "reasons": (score_reasons, KINDS_WITH_UQS),
    "human": (resources.lazy_score_human_baseline, KINDS_WITH_UQS),
    "gqa": (resources.lazy_score_gqa, KINDS_WITHOUT_UQS),
    "subgroups": (score_subgroups, KINDS_WITH_UQS),
}
# The score group that is computed for the whole run. All others are computed for each subset.
EFFICIENCY_GROUP = "efficiency"
GROUP_NAMES = sorted([*SCORE_GROUPS, EFFICIENCY_GROUP])
# Score groups that the summary shows.
SUMMARY_GROUPS = ("realistic", "pairs", "answers")


class ModelReport(NamedTuple):
    """Scores of one model.

    Attributes:
        sha256: SHA-256 of the predictions file.
        subsets: Subset -> score groups. The first group is "counts" (numbers of items), the last one
            "intervals" (by score).
        mean: Means over the subsets of the scores by which models are compared, with their "intervals". Empty
            if there is only one subset.
        efficiency: Latency, throughput and memory of the run; None if no run log was given.
        warnings: Subset -> warnings.
        file_info: How the predictions file was read.
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
        """Return the score groups of each subset. If there are several subsets, "mean" comes first."""
        return ({"mean": self.mean} if self.mean else {}) | self.subsets


class ScoreReport(NamedTuple):
    """Scores of all models on one benchmark.

    Attributes:
        versions: Versions of the scorers, of numpy and of Python.
        options: Scoring options, except options whose values are read from files.
        benchmark: Name, kind, version, SHA-256 by file, number of items by subset.
        comparisons: Comparisons of each pair of models.
        compared_items: Numbers of items of the models, if some models do not have all items; else None.
    """

    versions: dict[str, str]
    options: dict[str, Any]
    benchmark: dict[str, Any]
    models: list[ModelReport]
    comparisons: list[ModelComparison]
    compared_items: ComparedItems | None = None


def score_models(benchmark: Benchmark, models: Sequence[Predictions], options: ScoringOptions) -> ScoreReport:
    """Score models on a benchmark.

    Args:
        benchmark: The items, by subset.
        models: Predictions of each model. The names must be different.
        options: What to score and how.

    Raises:
        UserError: Lists every problem of the benchmark and of every predictions file.
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
            "the files of --validation are for different items: all models need the same validation items"
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
                        subset: select_compared_scores(groups)
                        for subset, groups in report.scores_by_subset.items()
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
    """Count the items on which several models are compared. None unless missing predictions are dropped."""
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
    """Keep the items for which all models have predictions, if missing predictions are dropped."""
    if options.missing != "drop":
        return benchmark
    predicted = [
        model.index_by_id.keys() | (model.validation.index_by_id.keys() if model.validation else set())
        for model in models
    ]
    kept = frozenset.intersection(*map(frozenset, predicted))
    return benchmark._replace(
        subsets={name: items.select(items.isin(kept)) for name, items in benchmark.subsets.items()}
    )


def resolve_options(options: ScoringOptions) -> ScoringOptions:
    """Return the options that are really used: mode `published` overrides some options."""
    return options._replace(match="exact", split="all") if options.mode == "published" else options


def list_score_groups(benchmark: Benchmark) -> list[str]:
    """Return the score groups that apply to a benchmark."""
    return [name for name, (_, kinds) in SCORE_GROUPS.items() if benchmark.kind in kinds]


def find_benchmark_faults(benchmark: Benchmark, options: ScoringOptions) -> Iterator[str]:
    """Find what the benchmark lacks for the requested scores."""
    there = sorted([*list_score_groups(benchmark), EFFICIENCY_GROUP])
    for name in options.scores:
        if name not in there:
            yield f"{benchmark.name}: scores `{name}` do not apply to such a benchmark; there are {', '.join(there)}"
    for name, items in benchmark.subsets.items():
        answerable = items.answerable
        if not len(items):
            yield f"{name}: has no items"
        elif benchmark.kind == "rgqa" and not answerable.any():
            yield f"{name}: has no AQs"
        elif benchmark.kind == "rgqa" and answerable.all():
            yield f'{name}: has no UQs (no label "UQ"), so it is not a benchmark of realistic VQA'


def _score_model(
    benchmark: Benchmark, common: Benchmark, model: Predictions, options: ScoringOptions
) -> tuple[ModelReport, Replicates]:
    joined = {name: join_predictions(items, model, options) for name, items in common.subsets.items()}
    chosen = [name for name in list_score_groups(benchmark) if not options.scores or name in options.scores]
    repeated: Replicates = {}
    has_intervals = not {*COMPARED_GROUPS, "reasons"}.isdisjoint(chosen)
    if options.bootstrap and options.mode != "published" and has_intervals:
        repeated = bootstrap_subsets(joined, partial(make_score_statistic, groups=chosen), options)
    subsets = {}
    for name, answered in joined.items():
        groups = {group: SCORE_GROUPS[group][0](answered, options) for group in chosen}
        items_to_predict = split_items(benchmark.subsets[name], model, options)[0]
        counts = _count_items(
            answered, len(items_to_predict), int((~items_to_predict.isin(model.index_by_id)).sum())
        )
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
    """Return the mean over subsets of each score by which models are compared, in its score group."""
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


def _compute_intervals(repeated: Replicates, subset: str) -> Scores:
    return {score: percentile_interval(values) for score, values in repeated.get(subset, {}).items()}
