"""What the draw loses in a large data set, where each text's cheapest pairs alone are in the network.

    python -m research.benchmarks.draw_quality --project FOLDER      a project of which `embed` has run, as stage_memory makes it

From the same pools by the project's parameters, with all pairs, then with ever fewer of each text: how many candidates are
drawn, and what share of the bound that no draw can exceed is missing. In every draw each picture is asked as many as it gives.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np

from pipeline.candidates.ranking.clip_candidates import RankParams, parts
from pipeline.candidates.ranking.pair_selection import REUSES, draw_evenly
from pipeline.candidates.ranking.rank_inputs import question_table, read_vectors
from pipeline.candidates.ranking.topk import End, ends
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Subset
from research.benchmarks.harness import command, timed

SHARES = (1, 2, 4, 8)  # of how many arcs of the whole network there is one


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
    print(
        "| subset | arcs at most | method | candidates | short of bound | seconds of processors | peak memory, GB |"
    )
    print("|---|---|---|---|---|---|---|")
    wanted: dict[Subset, tuple[End, int]] = {
        "clip-easy": (last, p.easy_last),
        "clip-hard": (best, p.hard_draw),
    }
    for subset, (end, draw) in wanted.items():
        whole = end.places.size + len(table.questions) + (REUSES + 2) * len(vectors.text_list)
        for share in SHARES:
            arcs = whole // share
            drawn, taken = timed(draw_evenly, subset, end.places, table, dev, draw, p.cap, p.seed, arcs)
            short = 1 - len(drawn.picture) / drawn.bound
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"| {subset} | {arcs:,} | {drawn.method} | {len(drawn.picture):,} | {short:.4f} | {taken[1]:.1f} | {peak:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    command(main)
