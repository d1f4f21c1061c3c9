"""The command `rgqa run`. It does the same as the wheel's command `rgqa-run`, and also draws plots on demand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.inference.cli import run_and_score
from pipeline.scoring.items import Benchmark
from pipeline.scoring.joined_predictions import Predictions, ScoringOptions
from pipeline.scoring.model_report import resolve_options


def main(arguments: Sequence[str]) -> None:
    """Run a model on the questions of a release, score its answers and, on demand, draw the plots.

    Args:
        arguments: The words after `rgqa run`.

    Raises:
        UserError: Options are invalid, or the run stopped early.
    """
    run_and_score(arguments, "rgqa run", _write_plots)


def _write_plots(
    benchmark: Benchmark, models: list[Predictions], options: ScoringOptions, folder: Path
) -> list[Path]:
    # If altair is not installed, no plots are drawn.
    try:
        from pipeline.benchmark.report.score_plots import write_plots
    except ModuleNotFoundError:
        return []
    return write_plots(benchmark, models, resolve_options(options), folder)
