"""The command `rgqa score`.

It does the same as the wheel's command `rgqa-score`. It also scores public sets, and writes plots and a table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.benchmark.report.score_frame import check_table_suffix, make_score_frame, write_frame
from pipeline.cli.public_sets import find_set_to_score, score_public_set
from pipeline.core.errors import format_count
from pipeline.core.progress import report_written
from pipeline.public_sets.open_set import read_public_set
from pipeline.scoring import cli
from pipeline.scoring.cli_options import build_parser
from pipeline.scoring.input_validation import pause_garbage_collection
from pipeline.scoring.model_report import resolve_options, restrict_to_common_items, score_models

# Maximum number of models in plots, which have this number of colors.
MAX_PLOTTED_MODELS = 7


@pause_garbage_collection()
def main(arguments: Sequence[str]) -> None:
    """Score predictions, print the scores, and write the files that the options name.

    Args:
        arguments: The words after `rgqa score`.

    Raises:
        UserError: Lists every problem with the options and the files.
    """
    parsed = build_parser("rgqa score").parse_intermixed_args(arguments)
    if rows := find_set_to_score(parsed.benchmark):
        score_public_set(read_public_set(parsed.benchmark, rows), parsed)
        return
    problems = check_table_suffix(parsed.table)
    if parsed.plots and len(parsed.predictions) > MAX_PLOTTED_MODELS:
        problems.append(
            f"--plots: {format_count(len(parsed.predictions), 'model')}; plots can show at most {MAX_PLOTTED_MODELS}"
        )
    benchmark, models, options = cli.load_inputs(parsed, problems)
    report = score_models(benchmark, models, options)
    cli.write_report(report, parsed, options)
    if parsed.table:
        frame = make_score_frame(report)
        write_frame(frame, parsed.table)
        report_written("score", format_count(len(frame), "row"), parsed.table, sys.stderr)
    if parsed.plots:
        from pipeline.benchmark.report.score_plots import write_plots

        paths = write_plots(
            restrict_to_common_items(benchmark, models, options),
            models,
            resolve_options(options),
            parsed.plots,
        )
        report_written("score", f"{format_count(len(paths), 'plot')}", parsed.plots, sys.stderr)
