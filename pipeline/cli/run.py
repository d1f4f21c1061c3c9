"""`rgqa run`: what the wheel's `rgqa-run` does, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.inference.cli import run_and_score
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.model_report import resolve_options


def main(arguments: Sequence[str]) -> None:
    """Ask a model the questions of a release, score its answers and draw the plots.

    Raises:
        UserError: everything that is wrong, or why the run ended before its end.
    """
    run_and_score(arguments, "rgqa run", _write_plots)


def _write_plots(
    benchmark: Benchmark, models: list[Predictions], options: ScoringOptions, folder: Path
) -> list[Path]:
    """Where altair is not installed, none."""
    try:
        from pipeline.benchmark.report.score_plots import write_plots
    except ModuleNotFoundError:
        return []
    return write_plots(benchmark, models, resolve_options(options), folder)
