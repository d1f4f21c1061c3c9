"""Ask a model the questions of a release and score its answers (`rgqa run`, and `rgqa-run` of the wheel)."""

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

# File next to the plots with the hash of their inputs.
PLOT_INPUTS_FILE = "plot_inputs.json"
# File with the printed scores and the hash of their inputs.
SHOWN_SCORES_FILE = "shown_scores.json"
DrawPlots = Callable[[Benchmark, list[Predictions], ScoringOptions, Path], Sequence[Path]]


def run_and_score(arguments: Sequence[str] | None, prog: str, draw_plots: DrawPlots | None = None) -> None:
    """Run a model, print the scores and write them into the folder of the run.

    Args:
        arguments: Arguments of the command line; None for the arguments of this process.
        prog: Name of the command, for the help.
        draw_plots: Draws the plots of predictions into a folder; None for a command without plots.

    Raises:
        UserError: The options are invalid, the run stopped early, or there is no answer to score.
    """
    options = parse_options(make_parser(prog, with_plots=draw_plots is not None).parse_args(arguments))
    outcome = run_model(options)
    report_outcome(outcome)
    score_run(outcome, options, draw_plots)


def report_outcome(outcome: RunOutcome) -> None:
    """Print what a run has asked.

    Raises:
        UserError: The run stopped early, or there is no answer to score.
    """
    print(f"run: {_format_summary(outcome)} -> {outcome.folder.path}", file=sys.stderr)
    counts = outcome.record["counts"]
    if outcome.stop_reason:
        saved = f"{counts['replies']:,} of {counts['questions']:,} replies are saved"
        raise UserError(f"stopped: {outcome.stop_reason}; {saved}. Run the same command to resume")
    if not counts["answered"]:
        raise UserError(["there is no answer to score", *_failure_reasons(outcome)])


def _format_summary(outcome: RunOutcome) -> str:
    counts, tokens = outcome.record["counts"], outcome.record["tokens"]
    phrases = [
        f"{counts['answered']:,} of {format_count(counts['items'], 'item has', 'items have')} a prediction",
        f"{counts['abstained']:,} of them abstentions",
    ]
    phrases += [
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in ("failed", "truncated", "no_confidence")
        if counts[name]
    ]
    phrases.append(f"{tokens['input']:,} tokens in, {tokens['output']:,} out")
    if outcome.record["cost"] is not None:
        phrases.append(f"cost {outcome.record['cost']:.2f}")
    seconds = sum(session["seconds"] for session in outcome.record.get("sessions", []))
    return ", ".join([*phrases, format_duration(seconds)])


def _failure_reasons(outcome: RunOutcome) -> list[str]:
    """Return the first five different reasons of failed requests."""
    return [*dict.fromkeys(outcome.record["failures"].values())][:5]


def score_run(outcome: RunOutcome, options: RunOptions, draw_plots: DrawPlots | None) -> None:
    """Score the items that were asked, like `rgqa score`.

    An item without an answer counts as answered wrong.
    """
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
    benchmark, models, scoring_options = cli.load_inputs(parsed, benchmark=outcome.benchmark)
    models = [models[0]._replace(name=folder.resolve().name)]
    # A run with --limit is scored on complete pairs only, because an AQ may have been asked for the pair of
    # another subset.
    asked = {
        name: items.select(
            items.is_in_complete_pair(outcome.item_ids) if options.limit else items.isin(outcome.item_ids)
        )
        for name, items in benchmark.subsets.items()
    }
    both = {
        name: items
        for name, items in asked.items()
        if len({*split_items(items, models[0], scoring_options)[0].answerable}) == 2
    }
    if few := [name for name, items in asked.items() if (len(items) or options.limit) and name not in both]:
        print(
            f"run: no scores of {', '.join(few)}: the few questions asked include no AQ or no UQ",
            file=sys.stderr,
        )
    if not both:
        return
    benchmark = benchmark._replace(subsets=both)
    inputs_hash = _hash_inputs(benchmark, models, scoring_options)
    if (shown := _read_shown_scores(folder, inputs_hash)) is not None:
        print(shown, end="")
    else:
        try:
            report = score_models(benchmark, models, scoring_options)
        except UserError as error:
            raise UserError([*error.problems, *_failure_reasons(outcome)]) from None
        shown = cli.write_report(report, parsed, scoring_options)
        text = json.dumps({"inputs_hash": inputs_hash, "shown": shown}, indent=2)
        write_text(folder / SHOWN_SCORES_FILE, text + "\n")
    if unanswered := outcome.record["counts"]["items"] - outcome.record["counts"]["answered"]:
        print(
            f"{format_count(unanswered, 'item')} without an answer, counted as wrong answers:",
            *_failure_reasons(outcome),
            sep="\n  ",
        )
    if draw_plots and options.plots:
        _update_plots(draw_plots, benchmark, models, scoring_options, folder, inputs_hash)


def _hash_inputs(benchmark: Benchmark, models: Sequence[Predictions], scoring_options: ScoringOptions) -> str:
    """Return a hash of everything that scores depend on."""
    return hash_texts(
        VERSION,
        models[0].name,
        models[0].sha256,
        *(f"{name} {sha256}" for name, sha256 in sorted(benchmark.sha256.items())),
        *(f"{name} {' '.join(items['id'])}" for name, items in benchmark.subsets.items()),
        repr(scoring_options),
    )


def _read_shown_scores(folder: Path, inputs_hash: str) -> str | None:
    """Return the scores that an earlier call printed; None if there are none, or if they have other inputs."""
    path = folder / SHOWN_SCORES_FILE
    record = parse_json(read_bytes(path), path) if path.is_file() else None
    if not isinstance(record, dict) or not (folder / "scores.json").is_file():
        return None
    return record.get("shown") if record.get("inputs_hash") == inputs_hash else None


def _update_plots(
    draw_plots: DrawPlots,
    benchmark: Benchmark,
    models: list[Predictions],
    scoring_options: ScoringOptions,
    folder: Path,
    inputs_hash: str,
) -> None:
    """Draw the plots, unless they exist and their inputs are unchanged."""
    plots, inputs_path = folder / "plots", folder / "plots" / PLOT_INPUTS_FILE
    record = parse_json(read_bytes(inputs_path), inputs_path) if inputs_path.is_file() else {}
    if record.get("inputs_hash") == inputs_hash and all((plots / name).is_file() for name in record["plots"]):
        return
    if drawn := draw_plots(benchmark, models, scoring_options, plots):
        record = {"inputs_hash": inputs_hash, "plots": [path.name for path in drawn]}
        write_text(inputs_path, json.dumps(record, indent=2) + "\n")
        print(f"run: {format_count(len(drawn), 'plot')} -> {plots}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `rgqa-run`. After a user error, the command prints one message and exits with code 1."""
    run_command(lambda: run_and_score(arguments, "rgqa-run"))


if __name__ == "__main__":
    main()
