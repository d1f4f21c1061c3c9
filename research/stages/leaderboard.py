"""Score everybody's predictions on the release: a row each, with ranks that hold beyond chance.

Reads   data/release/<data set>/<version>/, predictions/, answer
Writes  leaderboard.json                    of each row that has all subsets its ranks, mean scores, and AUAF by subset
        metrics/ROW.json                    the same, a file for each row, so that `dvc metrics show` is a table of rows
        leaderboard.md                      the board for people, with what it rests on
        leaderboard.csv                     every score of every row, with intervals, by subset and by kind of UQ
        directions.md, directions.json      what the papers found, what comes of it here, and whether that shows it
        acc-fpr.json, risk-coverage.json    the curves, for `dvc plots`
        acc-fpr.svg, risk-coverage.svg      the same as pictures that need no network
"""

from __future__ import annotations

import shutil
from collections import Counter

from pipeline.core import params
from pipeline.core.errors import counted, run
from pipeline.core.paths import Folders
from pipeline.scoring.leaderboard.curves import CURVES, picture, points, with_lines
from pipeline.scoring.leaderboard.leaderboard import LeaderboardParams, board
from pipeline.scoring.leaderboard.report import board_csv, board_markdown, board_metrics
from pipeline.scoring.leaderboard.rows import benchmark_of, every_row
from pipeline.scoring.leaderboard.selective_table import read_thresholds, selection
from research.evaluation.effect_report import directions_markdown, directions_rows, judged
from research.evaluation.selective_bootstrap import selection_cells


def main() -> None:
    folders, p = Folders(), params.load("leaderboard", LeaderboardParams)
    release = folders.release(params.version())
    benchmark = benchmark_of(release)
    rows = every_row(folders, release, benchmark)
    made = board(release, benchmark, rows, p)
    drawn = with_lines([one.row for one in made.rows])
    metrics = board_metrics(made)
    chosen = read_thresholds(folders.stage("answer") / "thresholds.json")
    directions = judged(made.rows, selection_cells(benchmark, rows, chosen, p))
    selected = selection(benchmark, rows, chosen)
    files: dict[str, object] = {
        "leaderboard.json": metrics,
        **{f"metrics/{name}.json": scores for name, scores in metrics.items()},
        "leaderboard.md": board_markdown(made, folders.predictions, selected),
        "leaderboard.csv": board_csv(made),
        "directions.md": directions_markdown(directions, made.basis.title),
        "directions.json": directions_rows(directions),
    }
    for curve in CURVES:
        found = points(benchmark, drawn, curve)
        files |= {f"{curve.name}.json": found, f"{curve.name}.svg": picture(found, drawn, curve)}
    kinds = Counter(row.kind for row in rows)
    shutil.rmtree(
        folders.stage("leaderboard") / "metrics", ignore_errors=True
    )  # an earlier run had other rows
    folders.finish(
        "leaderboard",
        f"{counted(kinds['model'], 'model')}, {counted(kinds['reference'], 'reference')}",
        files,
    )


if __name__ == "__main__":
    run(main)
