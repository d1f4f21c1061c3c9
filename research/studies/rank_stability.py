"""`rgqa study rank-stability`: do worlds that were drawn anew rank the same rows alike?

Reads   data/<data set>/interim/leaderboard/leaderboard.csv of this project, and of each folder that `rgqa sample new-world` made
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from pipeline.core.errors import Problems, UserError
from pipeline.core.params import PARAMS_FILE, read_dataset_name
from pipeline.core.records import SUBSETS
from research.studies.rank_agreement import MIN_RANKED_ROWS, kendall_tau

SCORE_COLUMNS: tuple[str, ...] = (*SUBSETS, "mean")


def read_leaderboard(folder: Path) -> dict[str, pd.DataFrame]:
    """AUAF of a folder's rows by subset: index row, columns value, low, high; references are left out.

    Raises:
        UserError: no leaderboard is there, or it is none.
    """
    name = read_dataset_name(folder / PARAMS_FILE)
    path = folder / "data" / name / "interim/leaderboard/leaderboard.csv"
    if not path.is_file():
        raise UserError(
            f"{path}: no such file; wanted a folder that `rgqa sample new-world` made, or a project after dvc repro"
        )
    table = pd.read_csv(path)
    if lacking := {"row", "kind", "subset", "category", "score", "value", "low", "high"} - {*table.columns}:
        raise UserError(f"{path}: no leaderboard, it has no {', '.join(sorted(lacking))}")
    chosen = table[(table["score"] == "auaf") & (table["kind"] == "model") & table["category"].isna()]
    columns = ["value", "low", "high"]
    return {str(place): rows.set_index("row")[columns] for place, rows in chosen.groupby("subset")}


def compute_agreement(one: pd.DataFrame, other: pd.DataFrame) -> tuple[int, int, float, float]:
    """Rows, pairs of rows that either set tells apart (their 95 % intervals do not touch: a cautious rule), Kendall's tau over
    these, and over all pairs (tau-b). Both sets have the same rows, columns value, low, high.

    Raises:
        UserError: there are fewer than `LEAST` rows.
    """
    rows = one.index.intersection(other.index)
    if len(rows) < MIN_RANKED_ROWS:
        raise UserError(
            f"{len(rows)} rows are on both leaderboards; no ranking is told of fewer than {MIN_RANKED_ROWS}"
        )
    one, other = one.loc[rows], other.loc[rows]
    first, second = np.triu_indices(len(rows), 1)
    apart = np.zeros(len(first), bool)
    for low, high in ((side["low"].to_numpy(), side["high"].to_numpy()) for side in (one, other)):
        apart |= (low[first] > high[second]) | (low[second] > high[first])
    values, others = one["value"].to_numpy(), other["value"].to_numpy()
    counted = np.column_stack([first, second])[apart]
    over_apart = float(kendall_tau(values[:, None], others[:, None], counted)[0])
    every: Any = kendalltau(values, others)
    return len(rows), int(apart.sum()), over_apart, float(every[0])


def compare_leaderboards(folders: Sequence[Path]) -> str:
    """A table in Markdown: each two sets, this project's among them, by subset.

    Raises:
        UserError: names every folder that has no leaderboard.
    """
    problems, boards = Problems("leaderboards to compare"), dict[str, dict[str, pd.DataFrame]]()
    for folder in (Path(), *folders):
        try:
            boards[read_dataset_name(folder / PARAMS_FILE)] = read_leaderboard(folder)
        except UserError as error:
            problems.lines += error.problems
    problems.raise_if_any()
    if len(boards) < 2:
        raise UserError(
            "there is one data set; wanted folders of others, as `rgqa sample new-world` makes them"
        )
    lines = ["| sets | " + " | ".join(SCORE_COLUMNS) + " |", "|---" * (len(SCORE_COLUMNS) + 1) + "|"]
    least = dict.fromkeys(SCORE_COLUMNS, 1.0)
    for one, other in combinations(boards, 2):
        cells = []
        for place in SCORE_COLUMNS:
            rows, pairs, apart, every = compute_agreement(boards[one][place], boards[other][place])
            least[place] = min(least[place], apart)
            cells.append(f"{apart:.3f} ({pairs} of {rows * (rows - 1) // 2}); {every:.3f}")
        lines.append(f"| {one}, {other} | {' | '.join(cells)} |")
    return "\n".join(
        [
            "Kendall's tau of rows ranked by AUAF: over the pairs whose 95 % intervals do not touch on one of the two sets (how many); "
            "over all pairs.",
            "",
            *lines,
            "",
            f"least over pairs told apart: {_format_minima(least)}",
        ]
    )


def _format_minima(least: Mapping[str, float]) -> str:
    return ", ".join(f"{place} {value:.3f}" for place, value in least.items())
