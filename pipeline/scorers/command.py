"""The command `rgqa-score`: predictions in, scores out. Needs numpy alone."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .benchmark import read_benchmark
from .efficiency import read_run_log
from .human import read_judgements
from .items import FILES, Benchmark, Options, Predictions
from .masses import vectors_of
from .model_report import NAMES, Report, score
from .predictions import read_predictions
from .text_table import text_of
from .validation import InputError, read_attention, read_mapping, read_synonyms
from .version import VERSION
from .wups import read_wordnet

T = TypeVar("T")
SHOWN = 100  # problems
# What some options must be, and whether a value is.
WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "mode": ("strict or parity", lambda mode: mode in ("strict", "parity")),
    "part": ("test, dev or all", lambda part: part in ("test", "dev", "all")),
    "risks": ("numbers from 0 to 1", lambda risks: all(0 <= risk <= 1 for risk in risks)),
    "costs": ("numbers of 0 or more", lambda costs: all(0 <= cost < math.inf for cost in costs)),
    "match": ("exact, vqa or squad", lambda match: match in ("exact", "vqa", "squad")),
    "missing": ("refuse, wrong or drop", lambda missing: missing in ("refuse", "wrong", "drop")),
    "bootstrap": ("0 or more", lambda count: count >= 0),
    "seed": ("0 or more", lambda seed: seed >= 0),
    "threshold": ("a number", lambda threshold: not math.isnan(threshold)),
}


def parser(program: str = "rgqa-score") -> argparse.ArgumentParser:
    """The options of scoring, for `rgqa-score` and for whatever stands on it. What is not given is not in the
    parsed namespace: the defaults are those of `Options`."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Score predictions on a benchmark with unanswerable questions (docs/scores.md defines every score).",
        epilog=f"Example: {program} data/release/sample/1.0.0 model.json --json scores.json",
        argument_default=argparse.SUPPRESS,
    )
    add, default = parser.add_argument, Options()
    add("benchmark", type=Path, help="a release's folder, a subset's JSON, or GQA's or VQA's file")
    add("predictions", type=Path, nargs="+", help="JSON, JSONL, CSV or Parquet; several are compared")
    add("--scores", help=f"groups to compute, comma between: {', '.join(NAMES)} (default: all that fit)")
    add("--subset", action="append", default=[], help="subset of a release; may be repeated")
    add("--part", help="test, dev or all items of a release (default: test, thresholds from dev)")
    add(
        "--dev",
        type=Path,
        action="append",
        default=[],
        help="predictions for other items, to choose thresholds on",
    )
    add("--risks", type=float, nargs="+", help="of C@R (default: 0.01 0.05 0.1 0.2)")
    add("--costs", type=float, nargs="+", help="of effective reliability (default: 1 10 100)")
    add("--mode", help="strict, or parity: the numbers of RGQA's published script (default: strict)")
    add(
        "--match",
        help="what answers lose before they are compared: exact (nothing), vqa or squad (default: vqa)",
    )
    add("--synonyms", help="JSON object: answer -> one that counts as the same")
    add("--bootstrap", type=int, help=f"repetitions for intervals, 0 for none (default: {default.bootstrap})")
    add("--seed", type=int, help=f"of the bootstrap (default: {default.seed})")
    add("--threshold", type=float, help=f"for scores at one fixed threshold (default: {default.threshold})")
    add("--missing", help="items without a prediction: refuse, wrong (accepted) or drop (default: refuse)")
    add("--allow-missing", action="store_const", const="wrong", dest="missing", help="as --missing wrong")
    add("--free-text", action="store_true", help="read abstentions from the answers instead of confidences")
    add("--json", type=Path, default=None, help="write every number, unrounded")
    add("--out", type=Path, default=None, help="folder for scores.json and scores.txt")
    add("--vectors", help="word vectors (a text file) or a spaCy model with vectors, for MaSSeS")
    add("--wordnet", help="WordNet's folder `dict`, for WUPS")
    add("--all-questions", help="GQA's unbalanced questions, for consistency")
    add("--choices", help="GQA's choices, for validity and plausibility")
    add("--scenes", help="GQA's scene graphs, for grounding")
    add("--attention", help="the model's attention by question, for grounding")
    add("--human", help="people's judgements: a list of {question_id, accepted}")
    add("--run-log", help="JSON lines with seconds, items, memory_bytes")
    add("--version", action="version", version=f"rgqa_scorers {VERSION}")
    return parser


def read(
    arguments: argparse.Namespace, problems: Sequence[str] = ()
) -> tuple[Benchmark, list[Predictions], Options]:
    """Everything that scoring needs, from a command line's files and options.

    Raises:
        InputError: everything that is wrong with any of them, after the problems that were found before.
    """
    problems, given = list(problems), vars(arguments)

    def attempt(reader: Callable[..., T], *values: Any) -> T | None:
        try:
            return reader(*values)
        except InputError as error:
            problems.extend(error.problems)

    for name, is_wrong, wanted in (("json", Path.is_dir, "a file"), ("out", Path.is_file, "a folder")):
        if given.get(name) and is_wrong(given[name]):
            problems.append(f"--{name} {given[name]}: wanted {wanted}")
    options = attempt(options_of, given)
    benchmark = attempt(read_benchmark, arguments.benchmark, arguments.subset)
    models = [attempt(read_predictions, path) for path in arguments.predictions]
    devs = [attempt(read_predictions, path) for path in arguments.dev]
    if devs and len(devs) != len(models):
        problems.append(
            f"--dev is given {len(devs)} times for {len(models)} files of predictions; one for each"
        )
    readers: dict[str, Callable[[str], Any]] = {
        "vectors": partial(vectors_of, words=benchmark.words() if benchmark else set()),
        "wordnet": read_wordnet,
        "human": read_judgements,
        "run_log": read_run_log,
        "attention": read_attention,
        "synonyms": read_synonyms,
    }
    files = {name: attempt(readers.get(name, read_mapping), given[name]) for name in FILES if given.get(name)}
    if problems or options is None or benchmark is None:
        raise InputError([*problems, *(fault for model in models if model for fault in model.faults)])
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
    return benchmark, read_models, options._replace(**files)


def options_of(arguments: Mapping[str, Any]) -> Options:
    """The options among a command line's arguments, but for the files.

    Raises:
        InputError: lists all of them that cannot be.
    """
    given = {name: arguments[name] for name in Options._fields if name in arguments and name not in FILES}
    if "scores" in given:
        given["scores"] = tuple(name.strip() for name in given["scores"].split(",") if name.strip())
    for name in ("risks", "costs"):
        if name in given:
            given[name] = tuple(given[name])
    options, problems = Options(**given), []
    for name, (wanted, fits) in WANTED.items():
        if not fits(value := getattr(options, name)):
            problems.append(f"--{name} is {value!r}, wanted {wanted}")
    if wrong := [name for name in options.scores if name not in NAMES]:
        problems.append(f"no scores called {', '.join(wrong)}; there are {', '.join(NAMES)}")
    if problems:
        raise InputError(problems)
    return options


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


def write_report(report: Report, json_file: Path | None, folder: Path | None) -> None:
    """Print the table; write the JSON and the folder if asked for."""
    text = text_of(report)
    sys.stdout.write(text)
    for path in (json_file, folder and folder / "scores.json"):
        if path:
            _write_text(path, json_of(report))
    if folder:
        _write_text(folder / "scores.txt", text)


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `rgqa-score`; a user's mistake ends it with one message and exit code 1."""
    parsed = parser().parse_args(arguments)
    try:
        write_report(score(*read(parsed)), parsed.json, parsed.out)
    except InputError as error:
        first, *rest = error.problems
        print(f"error: {first}", *(f"  {line}" for line in rest[:SHOWN]), sep="\n", file=sys.stderr)
        if len(rest) > SHOWN:
            print(f"  ... and {len(rest) - SHOWN} more", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
