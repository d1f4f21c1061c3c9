"""The command `rgqa-score`: score predictions files. The command only needs numpy."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..core.atomic_files import write_text
from ..core.errors import UserError, collect_errors, format_count, make_printable, run_command
from .abstention_labels import add_external_labels
from .benchmark_reader import read_benchmark
from .cli_options import (
    FULL_INSTALL_OPTIONS,
    OUTPUT_FILES,
    build_parser,
    check_outputs,
    find_ineffective_options,
    parse_options,
)
from .errata import exclude_errata
from .input_validation import pause_garbage_collection, read_synonyms
from .items import Benchmark
from .joined_predictions import Predictions, ScoringOptions
from .model_report import EFFICIENCY_GROUP, SUMMARY_GROUPS, ScoreReport, list_score_groups, score_models
from .prediction_reader import read_predictions
from .resources import find_resource_groups, read_resources
from .text_report import format_report, format_subgroups
from .text_summary import format_summary

T = TypeVar("T")


def load_inputs(
    arguments: argparse.Namespace, problems: Sequence[str] = (), benchmark: Benchmark | None = None
) -> tuple[Benchmark, list[Predictions], ScoringOptions]:
    """Read everything that scoring needs from the files and options of a command line.

    Args:
        arguments: The parsed arguments.
        problems: Problems that were found earlier. They are reported together with the problems found here.
        benchmark: The benchmark, if it has been read already.

    Returns:
        The benchmark, the predictions of each model, and the scoring options.

    Raises:
        UserError: Lists every problem of the files and options.
    """
    given = vars(arguments)
    problems = [*problems]
    with collect_errors(problems):
        check_outputs(given)

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        with collect_errors(problems):
            return reader(*values)

    options = attempt(parse_options, given)
    benchmark = benchmark or attempt(read_benchmark, arguments.benchmark, arguments.subset)
    if benchmark and (errata := given.get("exclude_errata")):
        benchmark = attempt(exclude_errata, benchmark, arguments.benchmark, errata)
    keep_raw = options is not None and options.mode == "published"
    models = [attempt(read_predictions, path, keep_raw) for path in arguments.predictions]
    validation_sets = [attempt(read_predictions, path, keep_raw) for path in arguments.validation]
    for name in ("validation", "abstention_labels"):
        if 0 < len(given[name]) != len(models):
            problems.append(
                f"--{name.replace('_', '-')} is given {format_count(len(given[name]), 'time')} for {format_count(len(models), 'predictions file')}. Give it once for each of them"
            )
    if len(arguments.abstention_labels) == len(models):
        pairs = zip(models, arguments.abstention_labels, strict=True)
        detect = options is None or options.detect_abstention
        models = [attempt(add_external_labels, model, path, detect) for model, path in pairs if model]
    files = attempt(read_resources, arguments.resource, benchmark) or {}
    if given.get("synonyms"):
        files["synonyms"] = attempt(read_synonyms, given["synonyms"])
    if problems or options is None or benchmark is None:
        raise UserError([*problems, *(fault for model in models if model for fault in model.faults)])
    read_models = [model for model in models if model]
    if validation_sets:
        pairs = zip(read_models, validation_sets, strict=True)
        read_models = [
            model._replace(
                validation=validation, faults=model.faults + (validation.faults if validation else ())
            )
            for model, validation in pairs
        ]
    names = [model.name for model in read_models]
    if len(set(names)) < len(names):
        # Files with the same name are distinguished by their folders.
        for number, path in enumerate(arguments.predictions):
            name = f"{path.resolve().parent.name}/{names[number]}"
            read_models[number] = read_models[number]._replace(name=name)
    options = _with_score_groups(options._replace(**files), arguments, benchmark)
    groups = (*(options.scores or list_score_groups(benchmark)), EFFICIENCY_GROUP)
    has_validation = any(model.validation for model in read_models) or (
        options.split == "test"
        and options.mode != "published"
        and _has_validation_predictions(benchmark, read_models)
    )
    if ineffective := find_ineffective_options(given, options, benchmark, groups, has_validation):
        raise UserError(ineffective)
    return benchmark, read_models, options


def _has_validation_predictions(benchmark: Benchmark, models: Sequence[Predictions]) -> bool:
    """Return whether all models have predictions for validation items of all subsets."""
    validation = [items.select(items["split"] == "validation") for items in benchmark.subsets.values()]
    return all(items.isin(model.index_by_id).any() for items in validation for model in models)


def _with_score_groups(
    options: ScoringOptions, arguments: argparse.Namespace, benchmark: Benchmark
) -> ScoringOptions:
    """Set the score groups to compute: the named groups, all groups, or the groups of the summary and of the resources."""
    if options.scores:
        return options._replace(scores=(*options.scores, *(("subgroups",) if options.group_by else ())))
    if any((arguments.full, arguments.json, arguments.out, arguments.table)):
        return options
    wanted = {
        *SUMMARY_GROUPS,
        "reasons",
        *find_resource_groups(options),
        *(("abstention",) if options.detect_abstention else ()),
    }
    shown = [name for name in list_score_groups(benchmark) if name in wanted]
    return options._replace(scores=("subgroups",) if options.group_by else tuple(shown))


def format_json(report: ScoreReport) -> str:
    """Format a report as JSON with unrounded numbers.

    An undefined number is null. An infinite threshold (no question is answered) is "infinity".
    """
    return json.dumps(_to_json_value(report), indent=2, sort_keys=True, allow_nan=False) + "\n"


def _to_json_value(value: Any) -> Any:
    """Convert a value to JSON types. Fields of records that are None are omitted."""
    if hasattr(value, "_asdict"):
        value = {name: inner for name, inner in value._asdict().items() if inner is not None}
    if isinstance(value, Mapping):
        return {str(key): _to_json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else "infinity"
    return int(value) if isinstance(value, np.integer) else value


def write_report(report: ScoreReport, arguments: argparse.Namespace, options: ScoringOptions) -> str:
    """Print the requested report, write the requested files, and return what was printed."""
    if arguments.full or "scores" in arguments:
        shown = format_report(report)
    else:
        shown = (
            format_subgroups(report)
            if options.group_by
            else format_summary(report, find_resource_groups(options))
        )
    shown = make_printable(shown)
    print(shown, end="")
    if arguments.json:
        write_text(arguments.json, format_json(report))
    if arguments.out:
        for name, make in zip(OUTPUT_FILES, (format_json, format_report), strict=True):
            write_text(arguments.out / name, make(report))
    return shown


@pause_garbage_collection()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run `rgqa-score`. After a user error, the command prints one message and exits with code 1."""
    parsed = build_parser().parse_intermixed_args(arguments)
    unavailable = [
        f"{option}: not available in rgqa-score, which only needs numpy. Use `rgqa score` of the full project"
        for option in FULL_INSTALL_OPTIONS
        if getattr(parsed, option[2:])
    ]

    def score_and_write() -> None:
        benchmark, models, options = load_inputs(parsed, unavailable)
        write_report(score_models(benchmark, models, options), parsed, options)

    run_command(score_and_write)


if __name__ == "__main__":
    main()
