"""Score everybody's predictions on the release: a row each, with ranks that hold beyond chance.

Reads   data/release/<data set>/<version>/, predictions/, answer
Writes  leaderboard.json                    of each row that has all subsets its ranks, mean scores, and AUAF by subset
        metrics/ROW.json                    the same, a file for each row, so that `dvc metrics show` is a table of rows
        leaderboard.md                      the board for people, with what it rests on
        leaderboard.csv                     every score of every row, with intervals, by subset and by kind of UQ
        expected_effects.md, expected_effects.json      what the papers found, what comes of it here, and whether that shows it
        acc-fpr.json, risk-coverage.json    the curves, for `dvc plots`
        acc-fpr.svg, risk-coverage.svg      the same as images that need no network
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
    made = build_leaderboard(release, benchmark, rows, p)
    drawn = select_plotted_rows([one.row for one in made.rows])
    metrics = make_metrics(made)
    chosen = read_thresholds(folders.stage_dir("answer") / "thresholds.json")
    directions = evaluate_effects(made.rows, score_selectors(benchmark, rows, chosen, p))
    selected = make_selective_table(benchmark, rows, chosen)
    files: dict[str, object] = {
        "leaderboard.json": metrics,
        **{f"metrics/{name}.json": scores for name, scores in metrics.items()},
        "leaderboard.md": render_markdown(made, folders.predictions, selected),
        "leaderboard.csv": render_csv(made),
        "expected_effects.md": render_effects_markdown(directions, made.info.title),
        "expected_effects.json": make_effect_records(directions),
    }
    for curve in CURVES:
        found = compute_curve_points(benchmark, drawn, curve)
        files |= {f"{curve.name}.json": found, f"{curve.name}.svg": draw_curves(found, drawn, curve)}
    kinds = Counter(row.kind for row in rows)
    shutil.rmtree(
        folders.stage_dir("leaderboard") / "metrics", ignore_errors=True
    )  # an earlier run had other rows
    folders.write_stage_outputs(
        "leaderboard",
        f"{format_count(kinds['model'], 'model')}, {format_count(kinds['reference'], 'reference')}",
        files,
    )


if __name__ == "__main__":
    run_command(main)
