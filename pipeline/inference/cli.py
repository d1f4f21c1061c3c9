"""The command `rgqa run`, and `rgqa-run` of the wheel: a model asked the questions of a release, and its scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core.atomic_files import write_text
from ..core.errors import UserError, counted
from ..core.errors import run as exit_on_error
from ..scoring import cli
from ..scoring.cli_options import parser as score_parser
from ..scoring.input_validation import parse_json, read_bytes
from ..scoring.items import Benchmark
from ..scoring.join import split
from ..scoring.joined_predictions import Options, Predictions
from ..scoring.model_report import score
from ..scoring.version import VERSION
from .argument_parser import options_of, parser
from .cost_forecast import duration
from .prompts import hash_of
from .run_options import RunOptions
from .runner import ModelRun, run

MADE_FROM = "made_from.json"  # beside the plots: what they show
Draw = Callable[[Benchmark, list[Predictions], Options, Path], Sequence[Path]]


def run_and_score(arguments: Sequence[str] | None, program: str, draw: Draw | None = None) -> None:
    """Run what a command line asks for; print and write the scores.

    Args:
        draw: draws the plots of some predictions into a folder; None: there are none.

    Raises:
        UserError: everything that is wrong, or why the run ended before its end.
    """
    options = options_of(parser(program, plots=draw is not None).parse_args(arguments))
    done = run(options)
    print(f"run: {_summary(done)} -> {done.folder.path}", file=sys.stderr)
    if done.stopped:
        kept = f"{done.about['counts']['replies']:,} of {done.about['counts']['samples']:,} replies are kept"
        raise UserError(f"stopped: {done.stopped}; {kept}, the same command goes on")
    if not done.about["counts"]["answered"]:
        raise UserError(["there is no answer to score", *_reasons(done)])
    _score(done, options, draw)


def _summary(done: ModelRun) -> str:
    counts, tokens = done.about["counts"], done.about["tokens"]
    parts = [
        f"{counts['answered']:,} of {counted(counts['items'], 'item')} answered",
        f"{counts['refused']:,} of them refused",
    ]
    parts += [
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in ("failed", "truncated", "no_confidence")
        if counts[name]
    ]
    parts.append(f"{tokens['input']:,} tokens in, {tokens['output']:,} out")
    if done.about["cost"] is not None:
        parts.append(f"cost {done.about['cost']:.2f}")
    seconds = sum(session["seconds"] for session in done.about.get("sessions", []))
    return ", ".join([*parts, duration(seconds)])


def _reasons(done: ModelRun) -> list[str]:
    """Why requests failed, each reason once."""
    return [*dict.fromkeys(done.about["failures"].values())][:5]


def _score(done: ModelRun, options: RunOptions, draw: Draw | None) -> None:
    """As `rgqa score` does, of the items that were asked; one without an answer counts as answered wrong."""
    folder = done.folder.path
    arguments = [
        str(options.release),
        str(folder / "predictions.jsonl"),
        "--json",
        str(folder / "scores.json"),
    ]
    arguments += ["--missing", "wrong", *(["--part", "dev"] if options.part == "dev" else [])]
    parsed = score_parser("rgqa score").parse_args(
        [*arguments, *(f"--subset={name}" for name in options.subsets)]
    )
    benchmark, models, how = cli.read(parsed)
    models = [models[0]._replace(name=folder.resolve().name)]
    # Of a limited run only what was drawn is scored: an AQ of another subset's pair may be asked without its UQ here.
    asked = {
        name: items.at(items.in_whole_pairs(done.asked) if options.limit else items.among(done.asked))
        for name, items in benchmark.subsets.items()
    }
    both = {
        name: items
        for name, items in asked.items()
        if len({*split(items, models[0], how)[0].answerable}) == 2
    }
    if few := [name for name, items in asked.items() if (len(items) or options.limit) and name not in both]:
        print(
            f"run: no scores of {', '.join(few)}: of so few questions none is an AQ, or none a UQ",
            file=sys.stderr,
        )
    if not both:
        return
    benchmark = benchmark._replace(subsets=both)
    try:
        cli.write_report(score(benchmark, models, how), parsed, how)
    except UserError as error:
        raise UserError([*error.problems, *_reasons(done)]) from None
    if unanswered := done.about["counts"]["items"] - done.about["counts"]["answered"]:
        print(
            f"{counted(unanswered, 'item')} without an answer count as answered wrong:",
            *_reasons(done),
            sep="\n  ",
        )
    if draw and options.plots:
        _draw_if_new(draw, benchmark, models, how, folder)


def _draw_if_new(
    draw: Draw, benchmark: Benchmark, models: list[Predictions], how: Options, folder: Path
) -> None:
    """Draw the plots, unless they are there and were made from the same."""
    plots, made = folder / "plots", folder / "plots" / MADE_FROM
    wanted = hash_of(
        VERSION,
        models[0].name,
        models[0].sha256,
        *(f"{name} {sha256}" for name, sha256 in sorted(benchmark.sha256.items())),
        *(f"{name} {' '.join(items['id'])}" for name, items in benchmark.subsets.items()),
        repr(how),
    )
    record = parse_json(read_bytes(made), made) if made.is_file() else {}
    if record.get("made_from") == wanted and all((plots / name).is_file() for name in record["plots"]):
        return
    if drawn := draw(benchmark, models, how, plots):
        record = {"made_from": wanted, "plots": [path.name for path in drawn]}
        write_text(made, json.dumps(record, indent=2) + "\n")
        print(f"run: {counted(len(drawn), 'plot')} -> {plots}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `rgqa-run`; a user's mistake ends it with one message and exit code 1."""
    exit_on_error(lambda: run_and_score(arguments, "rgqa-run"))


if __name__ == "__main__":
    main()
