"""Compare the rankings of the same models on several synthetic worlds: `rgqa study rank-stability`.

Reads   data/<data set>/interim/leaderboard/leaderboard.csv of this project and of each folder made by `rgqa sample new-world`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.params import PARAMS_FILE, read_dataset_name
from pipeline.core.records import SUBSETS
from pipeline.scoring.rank_correlation import kendall_tau
from research.studies.rank_agreement import MIN_RANKED_ROWS

SCORE_COLUMNS: tuple[str, ...] = (*SUBSETS, "mean")


def read_leaderboard(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the AUAF of a folder's rows by subset: index row, columns value, low, high.

    References are left out.

    Raises:
        UserError: The leaderboard does not exist or lacks columns.
    """
    name = read_dataset_name(folder / PARAMS_FILE)
    path = folder / "data" / name / "interim/leaderboard/leaderboard.csv"
    if not path.is_file():
        raise UserError(
            f"{path}: no such file. Name a folder made by `rgqa sample new-world`, or a project after `make leaderboard`."
        )
    table = pd.read_csv(path)
    if missing := {"row", "kind", "subset", "category", "score", "value", "low", "high"} - {*table.columns}:
        raise UserError(f"{path}: not a leaderboard. Missing columns: {', '.join(sorted(missing))}.")
    chosen = table[(table["score"] == "auaf") & (table["kind"] == "model") & table["category"].isna()]
    columns = ["value", "low", "high"]
    return {str(subset): rows.set_index("row")[columns] for subset, rows in chosen.groupby("subset")}


def compute_agreement(one: pd.DataFrame, other: pd.DataFrame) -> tuple[int, int, float, float]:
    """Compare two leaderboards of the same rows, with columns value, low and high.

    Returns:
        The number of rows; the number of pairs of rows that at least one of the leaderboards separates (the 95 %
        intervals of the two rows do not overlap, which is conservative); Kendall's tau over these pairs; and
        tau-b over all pairs.

    Raises:
        UserError: There are fewer than `MIN_RANKED_ROWS` rows.
    """
    rows = one.index.intersection(other.index)
    if len(rows) < MIN_RANKED_ROWS:
        raise UserError(
            f"{format_count(len(rows), 'row')} on both leaderboards. At least {MIN_RANKED_ROWS} are needed."
        )
    one, other = one.loc[rows], other.loc[rows]
    first, second = np.triu_indices(len(rows), 1)
    separated = np.zeros(len(first), bool)
    for low, high in ((side["low"].to_numpy(), side["high"].to_numpy()) for side in (one, other)):
        separated |= (low[first] > high[second]) | (low[second] > high[first])
    values, others = one["value"].to_numpy(), other["value"].to_numpy()
    counted = np.column_stack([first, second])[separated]
    over_separated = float(kendall_tau(values[:, None], others[:, None], counted)[0])
    tau_all: Any = kendalltau(values, others)
    return len(rows), int(separated.sum()), over_separated, float(tau_all[0])


def compare_leaderboards(folders: Sequence[Path]) -> str:
    """Return a Markdown table with one line for each pair of data sets, including this project's, and one column
    for each subset.

    Raises:
        UserError: Names every folder without a leaderboard.
    """
    problems, boards = Problems("leaderboards to compare"), dict[str, dict[str, pd.DataFrame]]()
    for folder in (Path(), *folders):
        try:
            boards[read_dataset_name(folder / PARAMS_FILE)] = read_leaderboard(folder)
        except UserError as error:
            problems.lines += error.problems
    problems.raise_if_any()
    if len(boards) < 2:
        raise UserError("There is only one data set. Name folders made by `rgqa sample new-world`.")
    lines = ["| sets | " + " | ".join(SCORE_COLUMNS) + " |", "|---" * (len(SCORE_COLUMNS) + 1) + "|"]
    minima = dict.fromkeys(SCORE_COLUMNS, 1.0)
    for one, other in combinations(boards, 2):
        cells = []
        for column in SCORE_COLUMNS:
            rows, pairs, separated, tau_all = compute_agreement(boards[one][column], boards[other][column])
            minima[column] = min(minima[column], separated)
            cells.append(f"{separated:.3f} ({pairs} of {rows * (rows - 1) // 2}); {tau_all:.3f}")
        lines.append(f"| {one}, {other} | {' | '.join(cells)} |")
    return "\n".join(
        [
            "Each cell has two values of Kendall's tau of rows ranked by AUAF. The first value is over the pairs of rows whose 95 % "
            "intervals do not overlap on at least one of the two sets (with the number of these pairs). The second value is over all pairs.",
            "",
            *lines,
            "",
            f"minimum over separated pairs: {_format_minima(minima)}",
        ]
    )


def _format_minima(minima: Mapping[str, float]) -> str:
    return ", ".join(f"{column} {value:.3f}" for column, value in minima.items())
