"""The command `rgqa leaderboard`: compare models on one release, or over several benchmarks, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.cli.set_leaderboard import expand_run_folders, is_over_several_sets, write_set_leaderboard
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, format_count, no_effect_message
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import report_written
from pipeline.scoring.cli_options import VALUE_CHECKS
from pipeline.scoring.leaderboard.label_noise import AUDIT, read_label_noise
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
    label_noise: str = "",
) -> None:
    """Print the leaderboard in Markdown, and write it as Markdown, HTML and CSV.

    Runs on public sets, alone or with runs on releases, make a table over several benchmarks (`write_set_leaderboard`).

    Stage `leaderboard` makes the same table from the same files. Items that a run did not answer count as
    wrong. A predictions file must have all items of each subset that it contains.

    Args:
        paths: Folders that `rgqa run` wrote, and predictions files.
        release: Release that the predictions files answer. Folders of `rgqa run` record their release; None
            if there are only such folders.
        out: Folder for the files; None to only print the table.
        sort_by: Score by which rows are ranked and compared.
        num_bootstrap: Number of bootstrap replicates.
        seed: Seed of the bootstrap.
        label_noise: Where the errors of the labels are known from (`read_label_noise`); "" to take the labels as right.

    Raises:
        UserError: Lists every problem with the results, or says why they cannot be compared.
    """
    expected, is_valid = VALUE_CHECKS["bootstrap"]
    if not is_valid(num_bootstrap):
        raise UserError(f"--bootstrap is {num_bootstrap}; expected {expected}")
    paths = expand_run_folders(paths)
    if is_over_several_sets(paths):
        _refuse_release_options(release, sort_by, label_noise)
        write_set_leaderboard(paths, out, num_bootstrap, seed)
        return
    p = LeaderboardParams(baseline="", num_replicates=num_bootstrap, seed=seed)
    check_output_paths(
        [Output("--out", out, "folder", tuple(OUTPUT_WRITERS)) if out else None],
        [*paths, release, Path(label_noise) if label_noise not in ("", AUDIT) else None],
    )
    results = read_results(paths, release)
    noise = read_label_noise(label_noise, results.release, results.benchmark) if label_noise else None
    board = build_leaderboard(results.release, results.benchmark, results.rows, p, sort_by, noise)
    print(render_markdown(board, show_all_scores=False), end="")
    if out:
        for name, write in OUTPUT_WRITERS.items():
            write_text(out / name, write(board))
        report_written("leaderboard", format_count(len(board.rows), "row"), out, sys.stderr)


def _refuse_release_options(release: Path | None, sort_by: str, label_noise: str) -> None:
    """Refuse the options that apply to a leaderboard of one release.

    Raises:
        UserError: Lists every such option that was given.
    """
    given = {
        "--release": release is not None,
        "--sort-by": sort_by != DEFAULT_RANKING_SCORE,
        "--label-noise": bool(label_noise),
    }
    reason = "the results are runs on public sets, which are ranked by the main score of each set"
    if problems := [no_effect_message(name, reason) for name, is_given in given.items() if is_given]:
        raise UserError(problems)
