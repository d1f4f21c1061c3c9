"""`rgqa leaderboard`: results of several models on one release, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, format_count
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written
from pipeline.scoring.cli_options import VALUE_CHECKS
from pipeline.scoring.leaderboard.leaderboard import (
    DEFAULT_RANKING_SCORE,
    LeaderboardParams,
    build_leaderboard,
)
from pipeline.scoring.leaderboard.report import render_csv, render_html, render_markdown
from pipeline.scoring.leaderboard.run_results import read_results

OUTPUT_WRITERS = {
    "leaderboard.md": render_markdown,
    "leaderboard.html": render_html,
    "leaderboard.csv": render_csv,
}


def write_leaderboard(
    paths: Sequence[Path],
    release: Path | None = None,
    out: Path | None = None,
    sort_by: str = DEFAULT_RANKING_SCORE,
    num_bootstrap: int = 1000,
    seed: int = 0,
) -> None:
    """Print the table in Markdown, and write it to a folder as Markdown, HTML and CSV. Of the same files it is the table of stage
    `leaderboard`, with the same intervals, ranks and letters. An item that a run got no answer to counts as answered wrong; a
    predictions file has to have all items of each subset that it is for.

    Args:
        paths: Folders of `rgqa run`, and predictions files.
        release: The release of predictions files; runs name theirs.
        out: The folder; None to print only.
        by: The score that rows are ordered and compared by.
        repetitions: Replicates of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        UserError: everything that is wrong with the results, or that keeps them from being compared.
    """
    wanted, fits = VALUE_CHECKS["bootstrap"]
    if not fits(num_bootstrap):
        raise UserError(f"--bootstrap is {num_bootstrap}, wanted {wanted}")
    p = LeaderboardParams(baseline="", num_replicates=num_bootstrap, seed=seed)
    check_output_paths(
        [Output("--out", out, "folder", tuple(OUTPUT_WRITERS)) if out else None], [*paths, release]
    )
    results = read_results(paths, release)
    made = build_leaderboard(results.release, results.benchmark, results.rows, p, sort_by)
    print(render_markdown(made, show_all_scores=False), end="")  # which bears a closed output
    if out:
        for name, write in OUTPUT_WRITERS.items():
            write_text(out / name, write(made))
        report_written("leaderboard", format_count(len(made.rows), "row"), out, sys.stderr)
