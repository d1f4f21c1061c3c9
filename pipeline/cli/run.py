"""The command `rgqa run`.

It does the same as the wheel's command `rgqa-run`. It also asks public sets, and draws plots on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.cli.public_sets import SETS_SCORED_AS_RELEASES, run_public_set, warn_of_small_limit
from pipeline.cli.public_sets import score_run as score_public_run
from pipeline.inference.argument_parser import make_parser, parse_options
from pipeline.inference.cli import report_outcome, score_run
from pipeline.inference.runner import run_model
from pipeline.public_sets.open_set import find_public_rows, require_public_rows
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.model_report import resolve_options


def main(arguments: Sequence[str]) -> None:
    """Run a model on the questions of a release or a public set, score its answers and, on demand, draw the plots.

    Args:
        arguments: The words after `rgqa run`.

    Raises:
        UserError: Options are invalid, or the run stopped early.
    """
    parser = make_parser("rgqa run", with_plots=True, with_public_sets=True)
    options = parse_options(parser.parse_args(arguments))
    rows = find_public_rows(options.release)
    # A folder of a release that lacks files gets the message for releases.
    is_other = options.release.is_dir() and not (options.release / "rgqa").exists()
    if rows is None and (options.release.is_file() or is_other):
        rows = require_public_rows(options.release)
    if rows is None:
        outcome = run_model(options)
        report_outcome(outcome)
        score_run(outcome, options, _write_plots)
        return
    outcome, public_set, options = run_public_set(options, rows)
    if public_set.name in SETS_SCORED_AS_RELEASES:
        score_run(outcome, options, _write_plots)
        return
    warn_of_small_limit(public_set, outcome)
    score_public_run(outcome, public_set, options)


def _write_plots(
    benchmark: Benchmark, models: list[Predictions], options: ScoringOptions, folder: Path
) -> list[Path]:
    # If altair is not installed, no plots are drawn.
    try:
        from pipeline.benchmark.report.score_plots import write_plots
    except ModuleNotFoundError:
        return []
    return write_plots(benchmark, models, resolve_options(options), folder)
