"""`rgqa score`: what the wheel's `rgqa-score` does, and plots, and a table for a notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.benchmark.report.score_frame import score_frame, table_problems, write_frame
from pipeline.core.errors import counted
from pipeline.core.progress import done
from pipeline.scoring import cli
from pipeline.scoring.cli_options import parser
from pipeline.scoring.input_validation import no_collection
from pipeline.scoring.model_report import in_common, score, settled

COLOURS = 7  # that plots have for models


@no_collection()
def main(arguments: Sequence[str]) -> None:
    """Print the scores; write the JSON, the folder, the plots and the table for a notebook if asked for.

    Raises:
        UserError: lists everything that is wrong with the options and the files.
    """
    parsed = parser("rgqa score").parse_intermixed_args(arguments)
    problems = table_problems(parsed.table)
    if parsed.plots and len(parsed.predictions) > COLOURS:
        problems.append(
            f"--plots: {counted(len(parsed.predictions), 'model')}; wanted {COLOURS} or fewer, as there are no more colours"
        )
    benchmark, models, options = cli.read(parsed, problems)
    report = score(benchmark, models, options)
    cli.write_report(report, parsed, options)
    if parsed.table:
        frame = score_frame(report)
        write_frame(frame, parsed.table)
        done("score", counted(len(frame), "row"), parsed.table, sys.stderr)
    if parsed.plots:
        from pipeline.benchmark.report.score_plots import plot

        paths = plot(in_common(benchmark, models, options), models, settled(options), parsed.plots)
        done("score", f"{counted(len(paths), 'plot')}", parsed.plots, sys.stderr)
