"""Scores that the papers published, by network, row, scope and score, as fractions.

Sources: `rgqa_table_h1.csv` is Table H1 of Zhang et al., ICCV 2023 (with the same AUAF as Table 5).
`reliable_vqa_tables.csv` is Tables 1 and 2 of Whitehead et al., ECCV 2022, on answerable questions. The rows
of the files have the names of the leaderboard's rows. The columns are named scope/score.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from pipeline.scoring.leaderboard.row_scores import MEAN

TABLE_DIR = Path(__file__).parent
RGQA_TABLE, RELIABLE_VQA_TABLE = "rgqa_table_h1", "reliable_vqa_tables"
# (row, scope, score).
ScoreKey = tuple[str, str, str]


@cache
def load_published_scores(table: str) -> Mapping[str, Mapping[ScoreKey, float]]:
    """Load the scores of a table.

    Args:
        table: `RGQA_TABLE` or `RELIABLE_VQA_TABLE`.

    Returns:
        Network -> scores, in the order of the paper. The scores include means over scopes.
    """
    found: dict[str, dict[ScoreKey, float]] = {}
    with (TABLE_DIR / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            net, row = line.pop("net"), line.pop("row")
            of_net = found.setdefault(net, {})
            scores: dict[str, list[float]] = {}
            for column, value in line.items():
                scope, score = column.split("/", 1)
                of_net[row, scope, score] = float(value) / 100
                scores.setdefault(score, []).append(float(value) / 100)
            of_net |= {(row, MEAN, score): float(np.mean(values)) for score, values in scores.items()}
    return found
