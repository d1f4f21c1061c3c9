"""Measure what pair selection loses in a large data set, where the flow network contains only the cheapest
pairs of each text.

    python -m research.benchmarks.draw_quality --project FOLDER      a project in which `embed` has run, as made by stage_memory

From the same pools and with the project's parameters, pairs are selected from all pairs, then from fewer and
fewer pairs of each text. The benchmark prints how many candidates are selected, and how far that is below the
upper bound of any selection. In every selection, each image gets as many questions of other images as its own questions are used for other images.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np

from pipeline.candidates.ranking.pair_selection import MAX_PRICED_REUSES, select_balanced_pairs
from pipeline.candidates.ranking.rank_inputs import build_question_table, load_embeddings
from pipeline.candidates.ranking.topk import Extreme, top_and_bottom_k
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.rank_params import RankParams, assign_splits, resolve_rank_sizes
from pipeline.core.records import Subset
from research.benchmarks.harness import run_benchmark, time_call

# The network is limited to this fraction of its arcs: 1, 1/2, 1/4, 1/8.
ARC_DIVISORS = (1, 2, 4, 8)


def main(project: Path = Path()) -> None:
    if not project.is_dir():
        raise UserError(
            f"{project}: no such folder. --project must be one in which the stages up to embed have run"
        )
    os.chdir(project)
    folders, p = DatasetFolders(), params.load_params("rank", RankParams)
    vectors = load_embeddings(folders.stage_dir("embed"))
    split = assign_splits(vectors.image_ids, p.validation_proportion, p.seed)
    table = build_question_table(folders.read_questions_about(split), vectors.image_ids, vectors.text_strings)
    sizes = resolve_rank_sizes(p, table.measure_size())
    best, last, _ = top_and_bottom_k(
        vectors.image_vectors, vectors.text_vectors, table, sizes.hard_pool, sizes.easy_pool
    )
    validation = np.array([split[image] == "validation" for image in table.image_ids])
    print(f"{len(table.image_ids):,} images, {len(table.question_ids):,} questions")
    print("| subset | arcs at most | method | candidates | short of bound | CPU seconds | peak memory, GB |")
    print("|---|---|---|---|---|---|---|")
    wanted: dict[Subset, tuple[Extreme, int]] = {
        "clip-easy": (last, sizes.easy_last),
        "clip-hard": (best, sizes.hard_draw),
    }
    for subset, (end, draw) in wanted.items():
        whole = (
            end.questions.size + len(table.question_ids) + (MAX_PRICED_REUSES + 2) * len(vectors.text_strings)
        )
        for divisor in ARC_DIVISORS:
            arcs = whole // divisor
            drawn, taken = time_call(
                select_balanced_pairs,
                subset,
                end.questions,
                table,
                validation,
                draw,
                p.max_question_uses,
                p.seed,
                arcs,
            )
            short = 1 - len(drawn.image_rows) / drawn.upper_bound
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"| {subset} | {arcs:,} | {drawn.method} | {len(drawn.image_rows):,} | {short:.4f} | {taken[1]:.1f} | {peak:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    run_benchmark(main)
