"""Score all predictions on the release, with a row for each model and a rank interval.

Reads   data/release/<data set>/<version>/, predictions/, answer
Writes  leaderboard.json                            ranks, mean scores and AUAF by subset of each row with all subsets
        metrics/ROW.json                            the same numbers, one file for each row, so that `dvc metrics show` prints a table
        leaderboard.md                              the leaderboard in Markdown, with a description of what was evaluated
        leaderboard.csv                             every score of every row with intervals, by subset and kind of UQ
        expected_effects.md, expected_effects.json  findings of the papers, and whether the results here
        confirm them
        acc-fpr.json, risk-coverage.json            the curves, for `dvc plots`
        acc-fpr.svg, risk-coverage.svg              the same curves as images
"""

from __future__ import annotations

import shutil
from collections import Counter

from pipeline.core import params
from pipeline.core.errors import format_count, run_command
from pipeline.core.paths import DatasetFolders
from pipeline.scoring.leaderboard.curves import CURVES, compute_curve_points, draw_curves, select_plotted_rows
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams, build_leaderboard
from pipeline.scoring.leaderboard.report import make_metrics, render_csv, render_markdown
from pipeline.scoring.leaderboard.rows import load_all_rows, load_scored_benchmark
from pipeline.scoring.leaderboard.selective_table import make_selective_table, read_thresholds
from research.evaluation.effect_report import evaluate_effects, make_effect_records, render_effects_markdown
from research.evaluation.selective_bootstrap import score_selectors


def main() -> None:
    folders, p = DatasetFolders(), params.load_params("leaderboard", LeaderboardParams)
    release = folders.release_dir(params.read_release_version())
    benchmark = load_scored_benchmark(release)
    rows = load_all_rows(folders, release, benchmark)
    board = build_leaderboard(release, benchmark, rows, p)
    plotted = select_plotted_rows([one.row for one in board.rows])
    metrics = make_metrics(board)
    thresholds = read_thresholds(folders.stage_dir("answer") / "thresholds.json")
    effects = evaluate_effects(board.rows, score_selectors(benchmark, rows, thresholds, p))
    selective_table = make_selective_table(benchmark, rows, thresholds)
    files: dict[str, object] = {
        "leaderboard.json": metrics,
        **{f"metrics/{name}.json": scores for name, scores in metrics.items()},
        "leaderboard.md": render_markdown(board, folders.predictions, selective_table),
        "leaderboard.csv": render_csv(board),
        "expected_effects.md": render_effects_markdown(effects, board.info.title),
        "expected_effects.json": make_effect_records(effects),
    }
    for curve in CURVES:
        points = compute_curve_points(benchmark, plotted, curve)
        files |= {f"{curve.name}.json": points, f"{curve.name}.svg": draw_curves(points, plotted, curve)}
    kinds = Counter(row.kind for row in rows)
    # An earlier run may have written files for other rows.
    shutil.rmtree(folders.stage_dir("leaderboard") / "metrics", ignore_errors=True)
    folders.write_stage_outputs(
        "leaderboard",
        f"{format_count(kinds['model'], 'model')}, {format_count(kinds['reference'], 'reference')}",
        files,
    )


if __name__ == "__main__":
    run_command(main)
