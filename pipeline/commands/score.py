"""`rgqa score`: what the wheel's `rgqa-score` does, and plots, and a table for a notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.core.errors import UserError
from pipeline.core.progress import done
from pipeline.reporting.score_frame import score_frame, table_problems, write_frame
from pipeline.scorers import command
from pipeline.scorers.model_report import score
from pipeline.scorers.options import parser
from pipeline.scorers.validation import InputError


def main(arguments: Sequence[str]) -> None:
    """Print the table of scores; write the JSON, the folder, the plots and the table for a notebook if asked for.

    Raises:
        UserError: lists everything that is wrong with the options and the files.
    """
    parsed = parser("rgqa score").parse_args(arguments)
    try:
        benchmark, models, options = command.read(parsed, table_problems(parsed.table))
        report = score(benchmark, models, options)
    except InputError as error:
        raise UserError(error.problems) from error
    command.write_report(report, parsed, options)
    if parsed.table:
        frame = score_frame(report)
        write_frame(frame, parsed.table)
        done("score", f"{len(frame):,} rows", parsed.table, sys.stderr)
    if parsed.plots:
        from pipeline.reporting.score_plots import plot

        done(
            "score", f"{len(plot(benchmark, models, options, parsed.plots))} plots", parsed.plots, sys.stderr
        )
