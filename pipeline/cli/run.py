"""`rgqa run`: what the wheel's `rgqa-run` does, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.inference.cli import run_and_score
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Options, Predictions
from pipeline.scoring.model_report import settled


def main(arguments: Sequence[str]) -> None:
    """Ask a model the questions of a release, score its answers and draw the plots.

    Raises:
        UserError: everything that is wrong, or why the run ended before its end.
    """
    run_and_score(arguments, "rgqa run", _draw)


def _draw(benchmark: Benchmark, models: list[Predictions], options: Options, folder: Path) -> list[Path]:
    """Where altair is not installed, none."""
    try:
        from pipeline.benchmark.report.score_plots import plot
    except ModuleNotFoundError:
        return []
    return plot(benchmark, models, settled(options), folder)
