"""The command `rgqa run`, and `rgqa-run` of the wheel: a model asked the questions of a release, and its scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core.atomic_files import write_text
from ..core.errors import UserError, format_count, run_command
from ..scoring import cli
from ..scoring.cli_options import build_parser
from ..scoring.input_validation import parse_json, read_bytes
from ..scoring.items import Benchmark
from ..scoring.join import split_items
from ..scoring.joined_predictions import Predictions, ScoringOptions
from ..scoring.model_report import score_models
from ..scoring.version import VERSION
from .argument_parser import make_parser, parse_options
from .cost_forecast import format_duration
from .prompts import hash_texts
from .run_options import RunOptions
from .runner import RunOutcome, run_model

PLOT_INPUTS_FILE = "made_from.json"  # beside the plots: what they show
DrawPlots = Callable[[Benchmark, list[Predictions], ScoringOptions, Path], Sequence[Path]]


def run_and_score(arguments: Sequence[str] | None, prog: str, draw_plots: DrawPlots | None = None) -> None:
    """Run what a command line asks for; print and write the scores.

    Args:
        draw: draws the plots of some predictions into a folder; None: there are none.

    Raises:
        UserError: everything that is wrong, or why the run ended before its end.
    """
    options = parse_options(make_parser(prog, with_plots=draw_plots is not None).parse_args(arguments))
    done = run_model(options)
    print(f"run: {_format_summary(done)} -> {done.folder.path}", file=sys.stderr)
    if done.stop_reason:
        kept = (
            f"{done.record['counts']['replies']:,} of {done.record['counts']['samples']:,} replies are kept"
        )
        raise UserError(f"stopped: {done.stop_reason}; {kept}, the same command goes on")
    if not done.record["counts"]["answered"]:
        raise UserError(["there is no answer to score", *_failure_reasons(done)])
    _score_run(done, options, draw_plots)


def _format_summary(outcome: RunOutcome) -> str:
    counts, tokens = outcome.record["counts"], outcome.record["tokens"]
    splits = [
        f"{counts['answered']:,} of {format_count(counts['items'], 'item')} answered",
        f"{counts['refused']:,} of them refused",
    ]
    splits += [
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in ("failed", "truncated", "no_confidence")
        if counts[name]
    ]
    splits.append(f"{tokens['input']:,} tokens in, {tokens['output']:,} out")
    if outcome.record["cost"] is not None:
        splits.append(f"cost {outcome.record['cost']:.2f}")
    seconds = sum(session["seconds"] for session in outcome.record.get("sessions", []))
    return ", ".join([*splits, format_duration(seconds)])


def _failure_reasons(outcome: RunOutcome) -> list[str]:
    """Why requests failed, each reason once."""
    return [*dict.fromkeys(outcome.record["failures"].values())][:5]


def _score_run(outcome: RunOutcome, options: RunOptions, draw_plots: DrawPlots | None) -> None:
    """As `rgqa score` does, of the items that were asked; one without an answer counts as answered wrong."""
    folder = outcome.folder.path
    arguments = [
        str(options.release),
        str(folder / "predictions.jsonl"),
        "--json",
        str(folder / "scores.json"),
    ]
    arguments += ["--missing", "wrong", *(["--split", "validation"] if options.split == "validation" else [])]
    parsed = build_parser("rgqa score").parse_args(
        [*arguments, *(f"--subset={name}" for name in options.subsets)]
    )
    benchmark, models, how = cli.load_inputs(parsed)
    models = [models[0]._replace(name=folder.resolve().name)]
    # Of a limited run only what was drawn is scored: an AQ of another subset's pair may be asked without its UQ here.
    asked = {
        name: items.select(
            items.is_in_complete_pair(outcome.item_ids) if options.limit else items.isin(outcome.item_ids)
        )
        for name, items in benchmark.subsets.items()
    }
    both = {
        name: items
        for name, items in asked.items()
        if len({*split_items(items, models[0], how)[0].answerable}) == 2
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
        cli.write_report(score_models(benchmark, models, how), parsed, how)
    except UserError as error:
        raise UserError([*error.problems, *_failure_reasons(outcome)]) from None
    if unanswered := outcome.record["counts"]["items"] - outcome.record["counts"]["answered"]:
        print(
            f"{format_count(unanswered, 'item')} without an answer count as answered wrong:",
            *_failure_reasons(outcome),
            sep="\n  ",
        )
    if draw_plots and options.plots:
        _update_plots(draw_plots, benchmark, models, how, folder)


def _update_plots(
    draw_plots: DrawPlots,
    benchmark: Benchmark,
    models: list[Predictions],
    score_options: ScoringOptions,
    folder: Path,
) -> None:
    """Draw the plots, unless they are there and were made from the same."""
    plots, made = folder / "plots", folder / "plots" / PLOT_INPUTS_FILE
    wanted = hash_texts(
        VERSION,
        models[0].name,
        models[0].sha256,
        *(f"{name} {sha256}" for name, sha256 in sorted(benchmark.sha256.items())),
        *(f"{name} {' '.join(items['id'])}" for name, items in benchmark.subsets.items()),
        repr(score_options),
    )
    record = parse_json(read_bytes(made), made) if made.is_file() else {}
    if record.get("made_from") == wanted and all((plots / name).is_file() for name in record["plots"]):
        return
    if drawn := draw_plots(benchmark, models, score_options, plots):
        record = {"made_from": wanted, "plots": [path.name for path in drawn]}
        write_text(made, json.dumps(record, indent=2) + "\n")
        print(f"run: {format_count(len(drawn), 'plot')} -> {plots}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of `rgqa-run`; a user's mistake ends it with one message and exit code 1."""
    run_command(lambda: run_and_score(arguments, "rgqa-run"))


if __name__ == "__main__":
    main()
