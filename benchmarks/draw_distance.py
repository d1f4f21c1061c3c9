"""How far the draw of pairs one by one, which large data sets get, is from the optimum, which the linear program finds.

    python -m benchmarks.draw_distance --project FOLDER      a project of which `embed` has run, as stage_memory makes it

Both draw from the same pools by the project's parameters, in memory that the linear program takes: 1.3 kB for each pair of a
pool. Of each subset: candidates, and the sum over pictures of how many more or fewer they are asked than they give, of which at
least half are left out again when pictures are balanced.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.harness import command, timed
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Subset
from pipeline.ranking.draw import draw_evenly
from pipeline.ranking.propose import RankParams, parts
from pipeline.ranking.rank_inputs import question_table, read_vectors
from pipeline.ranking.topk import End, ends

METHODS = {"one by one": -1, "exact": 1 << 62}  # of networks of how many arcs the optimum is found


def main(project: Path = Path()) -> None:
    if not project.is_dir():
        raise UserError(
            f"{project}: no such folder; --project is one in which the stages up to embed have run"
        )
    os.chdir(project)
    folders, p = Folders(), params.load("rank", RankParams)
    vectors = read_vectors(folders.stage("embed"))
    part = parts(vectors.picture_ids, p.dev_share, p.seed)
    table = question_table(folders.asked(part), vectors.picture_ids, vectors.text_list)
    best, last, _ = ends(vectors.pictures, vectors.texts, table, p.hard_pool, p.easy_pool)
    dev = np.array([part[picture] == "dev" for picture in table.picture_ids])
    print(f"{len(table.picture_ids):,} pictures, {len(table.questions):,} questions")
    print("| subset | method | candidates | asked less given, sum | seconds of processors |")
    print("|---|---|---|---|---|")
    wanted: dict[Subset, tuple[End, int]] = {
        "clip-easy": (last, p.easy_last),
        "clip-hard": (best, p.hard_draw),
    }
    for subset, (end, draw) in wanted.items():
        for method, arcs in METHODS.items():
            drawn, taken = timed(draw_evenly, subset, end.places, table, dev, draw, p.cap, p.seed, arcs)
            given = table.picture_rows[end.places[drawn.picture, drawn.place]]
            asked, gave = (np.bincount(rows, minlength=len(dev)) for rows in (drawn.picture, given))
            apart = int(np.abs(asked - gave).sum())
            print(f"| {subset} | {method} | {len(given):,} | {apart:,} | {taken[1]:.1f} |", flush=True)


if __name__ == "__main__":
    command(main)
