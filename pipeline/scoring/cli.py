"""The command `rgqa-score`: predictions in, scores out. Needs numpy alone."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..core.atomic_files import write_text
from ..core.errors import UserError, collected_into, counted, printable, run
from .abstention_labels import judged
from .benchmark_reader import read_benchmark
from .cli_options import options_of, parser, without_effect
from .errata import without_errata
from .input_validation import no_collection, read_synonyms
from .items import Benchmark
from .joined_predictions import Options, Predictions
from .model_report import EFFICIENCY, ON_SCREEN, Report, available, score
from .outputs import WRITTEN, check_outputs
from .prediction_reader import read_predictions
from .resources import read_extras, served
from .text_report import kinds_of, text_of
from .text_summary import screen_of

T = TypeVar("T")
WHOLE = ("table", "plots")  # options that need more than numpy


def read(
    arguments: argparse.Namespace, problems: Sequence[str] = ()
) -> tuple[Benchmark, list[Predictions], Options]:
    """Everything that scoring needs, from a command line's files and options.

    Raises:
        UserError: everything that is wrong with any of them, after the problems that were found before.
    """
    given = vars(arguments)
    problems = [*problems]
    with collected_into(problems):
        check_outputs(given)

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        with collected_into(problems):
            return reader(*values)

    options = attempt(options_of, given)
    benchmark = attempt(read_benchmark, arguments.benchmark, arguments.subset)
    if benchmark and (errata := given.get("without_errata")):
        benchmark = attempt(without_errata, benchmark, arguments.benchmark, errata)
    as_written = options is not None and options.mode == "parity"
    models = [attempt(read_predictions, path, as_written) for path in arguments.predictions]
    devs = [attempt(read_predictions, path, as_written) for path in arguments.dev]
    for name in ("dev", "judge"):
        if 0 < len(given[name]) != len(models):
            problems.append(
                f"--{name} is given {len(given[name])} times for {counted(len(models), 'file')} of predictions; one for each"
            )
    if len(arguments.judge) == len(models):
        pairs = zip(models, arguments.judge, strict=True)
        words = options is None or options.free_text
        models = [attempt(judged, model, path, words) for model, path in pairs if model]
    files = attempt(read_extras, arguments.extra, benchmark) or {}
    if given.get("synonyms"):
        files["synonyms"] = attempt(read_synonyms, given["synonyms"])
    if problems or options is None or benchmark is None:
        raise UserError([*problems, *(fault for model in models if model for fault in model.faults)])
    read_models = [model for model in models if model]
    if devs:
        pairs = zip(read_models, devs, strict=True)
        read_models = [
            model._replace(dev=dev, faults=model.faults + (dev.faults if dev else ())) for model, dev in pairs
        ]
    names = [model.name for model in read_models]
    if len(set(names)) < len(names):  # of one name: told apart by their folders
        for number, path in enumerate(arguments.predictions):
            name = f"{path.resolve().parent.name}/{names[number]}"
            read_models[number] = read_models[number]._replace(name=name)
    options = _with_groups(options._replace(**files), arguments, benchmark)
    groups = (*(options.scores or available(benchmark)), EFFICIENCY)
    has_dev = any(model.dev for model in read_models) or (
        options.part == "test" and options.mode != "parity" and _has_dev(benchmark, read_models)
    )
    if vain := without_effect(given, options, benchmark, groups, has_dev):
        raise UserError(vain)
    return benchmark, read_models, options


def _has_dev(benchmark: Benchmark, models: Sequence[Predictions]) -> bool:
    """Do all models have predictions for dev items of all subsets?"""
    dev = [items.at(items["part"] == "dev") for items in benchmark.subsets.values()]
    return all(items.among(model.places).any() for items in dev for model in models)


def _with_groups(options: Options, arguments: argparse.Namespace, benchmark: Benchmark) -> Options:
    """The groups of scores that are to be shown or written: those named, all, or what one screen needs and files serve."""
    if options.scores:
        return options._replace(scores=(*options.scores, *(("by",) if options.by else ())))
    if any((arguments.full, arguments.json, arguments.out, arguments.table)):
        return options
    wanted = {*ON_SCREEN, *served(options), *(("abstention",) if options.free_text else ())}
    screen = [name for name in available(benchmark) if name in wanted]
    return options._replace(scores=("by",) if options.by else tuple(screen))


def json_of(report: Report) -> str:
    """Every number unrounded; undefined is null, an infinite threshold (answer nothing) "infinity"."""
    return json.dumps(_plain(report), indent=2, sort_keys=True, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """As JSON has it; of a record without the fields that are None."""
    if hasattr(value, "_asdict"):
        value = {name: inner for name, inner in value._asdict().items() if inner is not None}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else "infinity"
    return int(value) if isinstance(value, np.integer) else value


def write_report(report: Report, arguments: argparse.Namespace, options: Options) -> None:
    """Print what is asked for; write the JSON and the folder."""
    if arguments.full or "scores" in arguments:
        shown = text_of(report)
    else:
        shown = kinds_of(report) if options.by else screen_of(report, served(options))
    print(printable(shown), end="")  # which bears a closed output
    if arguments.json:
        write_text(arguments.json, json_of(report))
    if arguments.out:
        for name, make in zip(WRITTEN, (json_of, text_of), strict=True):
            write_text(arguments.out / name, make(report))


@no_collection()
def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `rgqa-score`; a user's mistake ends it with one message and exit code 1."""
    parsed = parser().parse_intermixed_args(arguments)
    alone = [
        f"--{name}: `rgqa score` of the whole project makes it; this is its part with numpy alone"
        for name in WHOLE
        if getattr(parsed, name)
    ]

    def score_and_write() -> None:
        benchmark, models, options = read(parsed, alone)
        write_report(score(benchmark, models, options), parsed, options)

    run(score_and_write)


if __name__ == "__main__":
    main()
