"""`rgqa leaderboard`: results of several models on one release, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, counted
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import done
from pipeline.scoring.cli_options import WANTED
from pipeline.scoring.leaderboard.leaderboard import BY, LeaderboardParams, board
from pipeline.scoring.leaderboard.report import board_csv, board_html, board_markdown
from pipeline.scoring.leaderboard.run_results import read_results

FILES = {"leaderboard.md": board_markdown, "leaderboard.html": board_html, "leaderboard.csv": board_csv}


def compare_runs(
    paths: Sequence[Path],
    release: Path | None = None,
    out: Path | None = None,
    by: str = BY,
    repetitions: int = 1000,
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
    wanted, fits = WANTED["bootstrap"]
    if not fits(repetitions):
        raise UserError(f"--bootstrap is {repetitions}, wanted {wanted}")
    p = LeaderboardParams(against="", repetitions=repetitions, seed=seed)
    check_output_paths([Output("--out", out, "folder", tuple(FILES)) if out else None], [*paths, release])
    results = read_results(paths, release)
    made = board(results.release, results.benchmark, results.rows, p, by)
    print(board_markdown(made, whole=False), end="")  # which bears a closed output
    if out:
        for name, write in FILES.items():
            write_text(out / name, write(made))
        done("leaderboard", counted(len(made.rows), "row"), out, sys.stderr)
