"""Let the data set's own nets answer every question of the release, with each confidence of the papers.

Reads   data/release/<data set>/<version>/, ingest/pictures.jsonl, the picture files, clip/, vqa/; truth/ for the one row whose
        net sees the truth's regions, which is marked as a reference
Writes  ROW-seedN.json    predictions of a row and seed in the form that `rgqa score` reads: every item of all subsets
        rows.yaml         of each row what its confidence is, what else is to be known, and whether it is a reference
        thresholds.json   those of vqa/thresholds.json, chosen on val, of the rows that were written
        answer.json       how many asks, pictures, seeds and rows; which rows were left out, and why

Without nets in vqa/ there is nothing to write but empty files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from pipeline.core import params
from pipeline.core.errors import Problems, counted, run
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import Folders
from pipeline.core.records import Picture, Scene
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.sources import gqa_files
from research.reference_models.leaderboard_rows import ROWS
from research.reference_models.net_answers import RowPlan, plan_rows, regions_for, said_by_nets
from research.reference_models.net_files import nets_of
from research.reference_models.row_predictions import ReleaseAsks, about, asks_of, predictions

THRESHOLDS = "thresholds.json"
FEW = 3  # rows that are named with what they lack


def main() -> None:
    folders, version = Folders(), params.version()
    nets = nets_of(folders.vqa)
    if not nets:
        report = {"asks": 0, "items": 0, "pictures": 0, "seeds": [], "rows": [], "left_out": {}}
        finish(folders, f"no nets in {folders.vqa}, so no rows", report, {})
        return
    asked = asks_of(read_benchmark(folders.release(version)))
    plan = plan_rows(folders.vqa, any(folders.truth.glob("*_sceneGraphs.json")))
    files, scenes = shown(folders, asked, plan)
    regions = regions_for(plan, folders.clip, files, scenes)
    written: dict[str, dict[int, Path]] = {}
    for seed, row, said in said_by_nets(plan, asked.asks, regions):
        path = folders.stage("answer") / f"{row}-seed{seed}.json"
        write_json(path, predictions(asked, row, said))
        written.setdefault(row, {})[seed] = path
    missing = left_out(plan.lacks)
    report = {
        "asks": len(asked.asks),
        "items": len(asked.place_of),
        "pictures": len(files),
        "seeds": list(nets),
        "rows": [row for row in ROWS if row in written],
        "left_out": missing,
    }
    what = f"{counted(len(written), 'row')}, {counted(len(nets), 'seed')}, {counted(len(asked.asks), 'ask')} of {counted(len(files), 'picture')}"
    finish(folders, what + summary(missing), report, written)


def shown(
    folders: Folders, asked: ReleaseAsks, plan: RowPlan
) -> tuple[dict[str, Path], dict[str, Scene] | None]:
    """The files of the pictures that are asked about, by their ids in order; and their complete truth, where a net sees it.

    Raises:
        UserError: names every picture that ingest does not know.
    """
    records = {row.picture_id: row for row in folders.rows(Picture)}
    ids = sorted({one.picture_id for one in asked.asks})
    problems = Problems(f"pictures of the release that {folders.file(Picture)} does not have")
    for picture in ids:
        if picture not in records:
            problems.add(picture, "the release was made of other data; make it again")
    problems.raise_if_any()
    files = {picture: Path(records[picture].path) for picture in ids}
    if not plan.needs("true"):
        return files, None
    return files, gqa_files.truth(folders.truth, {records[picture].split for picture in ids})


def left_out(lacks: Mapping[int, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """By row and seed what is lacking."""
    found = {row: {str(seed): lacks[seed][row] for seed in lacks if lacks[seed][row]} for row in ROWS}
    return {row: seeds for row, seeds in found.items() if seeds}


def summary(missing: Mapping[str, Mapping[str, str]]) -> str:
    """What is left out, in a line's end.

    >>> summary({"rp": {"1": "no net rp", "2": "no net rp"}})
    '; left out: rp of seed 1, 2 (no net rp)'
    """
    told = [
        f"{row} of seed {', '.join(seeds)} ({'; '.join(dict.fromkeys(seeds.values()))})"
        for row, seeds in missing.items()
    ]
    if len(told) > FEW:
        return f"; left out: {counted(len(told), 'row')} of some seeds, answer.json says why"
    return f"; left out: {', '.join(told)}" if told else ""


def finish(
    folders: Folders, what: str, report: Mapping[str, object], written: Mapping[str, Mapping[int, Path]]
) -> None:
    """Write what goes with the predictions files, and remove those of an earlier run."""
    kept = {path for seeds in written.values() for path in seeds.values()}
    for path in folders.stage("answer").glob("*-seed*.json"):
        if path not in kept:
            path.unlink()
    path = folders.vqa / THRESHOLDS
    chosen = read_json(path, dict[str, dict[str, object]]) if path.is_file() else {}
    thresholds = {
        row: {str(seed): chosen[row][str(seed)] for seed in seeds if str(seed) in chosen[row]}
        for row, seeds in written.items()
        if row in chosen
    }
    rows = yaml.safe_dump(
        {row: about(ROWS[row]) for row in ROWS if row in written}, sort_keys=False, width=110
    )
    files = {"rows.yaml": rows, THRESHOLDS: thresholds, "answer.json": report}
    folders.finish("answer", what, files)


if __name__ == "__main__":
    run(main)
