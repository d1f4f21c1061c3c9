"""What the papers measured, by net, row, place and score, as shares.

`rgqa_table_h1.csv`: Zhang et al., ICCV 2023, Table H1 (its AUAF is that of Table 5). `reliable_vqa_tables.csv`: Whitehead et al.,
ECCV 2022, Tables 1 and 2, on answerable questions. Rows are called as ours are; a column is place/score.
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
ScoreKey = tuple[str, str, str]  # row, place, score


@cache
def load_published_scores(table: str) -> Mapping[str, Mapping[ScoreKey, float]]:
    """Of each net, in the order of the paper, the share in each cell, and means over places of what all places have."""
    found: dict[str, dict[ScoreKey, float]] = {}
    with (TABLE_DIR / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            net, row = line.pop("net"), line.pop("row")
            of_net = found.setdefault(net, {})
            scores: dict[str, list[float]] = {}
            for column, value in line.items():
                place, score = column.split("/", 1)
                of_net[row, place, score] = float(value) / 100
                scores.setdefault(score, []).append(float(value) / 100)
            of_net |= {(row, MEAN, score): float(np.mean(shares)) for score, shares in scores.items()}
    return found
