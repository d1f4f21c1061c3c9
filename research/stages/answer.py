"""Answer every question of the release with the networks of the data set and the confidence methods of the
papers.

Reads   data/release/<data set>/<version>/, ingest/images.jsonl, the image files, clip/, vqa/; truth/ for the row whose
        network uses ground-truth regions (this row is marked as a reference)
Writes  ROW-seedN.json    predictions of a row and seed for every item of all subsets, in the format of `rgqa score`
        rows.yaml         confidence and note of each row, and whether it is a reference
        thresholds.json   thresholds that were chosen on val (from vqa/thresholds.json), for the rows that were written
        answer.json       numbers of queries, images, seeds and rows; which rows were skipped, and why

If there are no networks in vqa/, the outputs are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from pipeline.core import params
from pipeline.core.errors import Problems, format_count, run_command
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, SceneGraph
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources import gqa_files
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.net_files import find_nets
from research.reference_models.row_predictions import (
    ReleaseQueries,
    RowPlan,
    collect_queries,
    describe_row,
    format_predictions,
    load_regions,
    plan_rows,
    predict_rows,
)

THRESHOLDS_FILE = "thresholds.json"
# Maximum number of skipped rows that the message names.
MAX_NAMED_ROWS = 3


def main() -> None:
    folders, version = DatasetFolders(), params.read_release_version()
    nets = find_nets(folders.vqa_models)
    if not nets:
        report = {"queries": 0, "items": 0, "images": 0, "seeds": [], "rows": [], "skipped": {}}
        write_outputs(folders, f"no nets in {folders.vqa_models}, so no rows", report, {})
        return
    queries = collect_queries(read_benchmark(folders.release_dir(version)))
    plan = plan_rows(folders.vqa_models, any(folders.truth.glob("*_sceneGraphs.json")))
    files, scenes = read_image_files(folders, queries, plan)
    regions = load_regions(plan, folders.clip, files, scenes)
    written: dict[str, dict[int, Path]] = {}
    for seed, row, output in predict_rows(plan, queries.queries, regions):
        path = folders.stage_dir("answer") / f"{row}-seed{seed}.json"
        write_json(path, format_predictions(queries, row, output))
        written.setdefault(row, {})[seed] = path
    skipped = find_skipped_rows(plan.missing_requirements)
    report = {
        "queries": len(queries.queries),
        "items": len(queries.query_index),
        "images": len(files),
        "seeds": list(nets),
        "rows": [row for row in LEADERBOARD_ROWS if row in written],
        "skipped": skipped,
    }
    message = f"{format_count(len(written), 'row')}, {format_count(len(nets), 'seed')}, {format_count(len(queries.queries), 'query', 'queries')} on {format_count(len(files), 'image')}"
    write_outputs(folders, message + format_skipped_rows(skipped), report, written)


def read_image_files(
    folders: DatasetFolders, queries: ReleaseQueries, plan: RowPlan
) -> tuple[dict[str, Path], dict[str, SceneGraph] | None]:
    """Return the image files of the queries by image id, in order, and the complete scene graphs if a network
    needs them.

    Raises:
        UserError: Lists every image that is not in the data set.
    """
    records = {row.image_id: row for row in folders.read_records(ImageRecord)}
    ids = sorted({one.image_id for one in queries.queries})
    problems = Problems(f"images of the release that {folders.record_file(ImageRecord)} does not have")
    for image in ids:
        if image not in records:
            problems.add(image, "the release was built from other data; build it again")
    problems.raise_if_any()
    files = {image: Path(records[image].path) for image in ids}
    if not plan.needs_regions("ground_truth"):
        return files, None
    return files, gqa_files.read_true_scene_graphs(folders.truth, {records[image].split for image in ids})


def find_skipped_rows(missing_inputs: Mapping[int, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return row -> seed -> what is missing, for each skipped row."""
    found = {
        row: {str(seed): missing_inputs[seed][row] for seed in missing_inputs if missing_inputs[seed][row]}
        for row in LEADERBOARD_ROWS
    }
    return {row: seeds for row, seeds in found.items() if seeds}


def format_skipped_rows(skipped: Mapping[str, Mapping[str, str]]) -> str:
    """Format the skipped rows for the end of a message.

    >>> format_skipped_rows({"rp": {"1": "no net rp", "2": "no net rp"}})
    '; skipped: rp of seed 1, 2 (no net rp)'
    """
    lines = [
        f"{row} of seed {', '.join(seeds)} ({'; '.join(dict.fromkeys(seeds.values()))})"
        for row, seeds in skipped.items()
    ]
    if len(lines) > MAX_NAMED_ROWS:
        return f"; skipped: {format_count(len(lines), 'row')} of some seeds, see answer.json"
    return f"; skipped: {', '.join(lines)}" if lines else ""


def write_outputs(
    folders: DatasetFolders,
    message: str,
    report: Mapping[str, object],
    written: Mapping[str, Mapping[int, Path]],
) -> None:
    """Write all output files except the predictions files, and delete predictions files of earlier runs."""
    kept = {path for seeds in written.values() for path in seeds.values()}
    for path in folders.stage_dir("answer").glob("*-seed*.json"):
        if path not in kept:
            path.unlink()
    path = folders.vqa_models / THRESHOLDS_FILE
    chosen = read_json(path, dict[str, dict[str, object]]) if path.is_file() else {}
    thresholds = {
        row: {str(seed): chosen[row][str(seed)] for seed in seeds if str(seed) in chosen[row]}
        for row, seeds in written.items()
        if row in chosen
    }
    rows = yaml.safe_dump(
        {row: describe_row(LEADERBOARD_ROWS[row]) for row in LEADERBOARD_ROWS if row in written},
        sort_keys=False,
        width=110,
    )
    files = {"rows.yaml": rows, THRESHOLDS_FILE: thresholds, "answer.json": report}
    folders.write_stage_outputs("answer", message, files)


if __name__ == "__main__":
    run_command(main)
