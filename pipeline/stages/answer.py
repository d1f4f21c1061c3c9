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

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import yaml

from pipeline.core import params
from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import read_json, write_json
from pipeline.core.parallel import ordered_map, threads
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Picture, Scene
from pipeline.models.asked_regions import asked_regions
from pipeline.models.looking import load_net
from pipeline.models.net_folder import HEAD, OWN_HEAD, fitted_of, nets_of
from pipeline.models.net_rows import ROWS, said_of_row
from pipeline.models.noun_rule import asked_nouns
from pipeline.models.protocol import Seen
from pipeline.models.regions import RegionHead, load_head, load_tower
from pipeline.models.row_answers import (
    Held,
    PlannedLook,
    ReleaseAsks,
    about,
    asks_of,
    given_of,
    lacking_of_rows,
    look_with,
    looks,
    predictions,
)
from pipeline.models.towers import Tower
from pipeline.scorers.benchmark import read_benchmark
from pipeline.scorers.validation import InputError
from pipeline.sources import gqa_files
from pipeline.words.tagger import Tagger

THRESHOLDS = "thresholds.json"
FEW = 3  # rows that are named with what they lack


def main() -> None:
    folders, version = Folders(), params.version()
    nets = nets_of(folders.vqa)
    if not nets:
        report = {"asks": 0, "items": 0, "pictures": 0, "seeds": [], "rows": [], "left_out": {}}
        finish(folders, f"no nets in {folders.vqa}, so no rows", report, {})
        return
    try:
        asked = asks_of(read_benchmark(folders.release(version)))
    except InputError as error:
        raise UserError(error.problems) from error
    check_files(folders.vqa, nets)
    head = load_head(folders.vqa / HEAD)
    fitted = {seed: fitted_of(folders.vqa, seed) for seed in nets}
    known = any(folders.truth.glob("*_sceneGraphs.json"))
    lacks = {seed: lacking_of_rows(nets[seed], fitted[seed], known) for seed in nets}
    rows = {seed: [row for row in ROWS if not lacks[seed][row]] for seed in nets}
    plan = {seed: looks(rows[seed], nets[seed]) for seed in nets}
    regions = asked_regions(folders.clip, head, *shown(folders, asked, plan), own_of(folders, plan))
    nouns = nouns_of(asked, head)
    written: dict[str, dict[int, Path]] = {}
    for seed, seen in seen_by_seed(plan, Held(asked.asks, regions.stores)):
        detected = [regions.detected[one.picture_id] for one in asked.asks]
        given = given_of(fitted[seed], nouns, detected, head.names.kinds)
        for row in rows[seed]:
            path = folders.stage("answer") / f"{row}-seed{seed}.json"
            write_json(path, predictions(asked, row, said_of_row(ROWS[row], seen, given)))
            written.setdefault(row, {})[seed] = path
    missing = left_out(lacks)
    report = {
        "asks": len(asked.asks),
        "items": len(asked.place_of),
        "pictures": len(regions.detected),
        "seeds": list(nets),
        "rows": [row for row in ROWS if row in written],
        "left_out": missing,
    }
    what = f"{len(written)} rows, {len(nets)} seeds, {len(asked.asks):,} asks of {len(regions.detected)} pictures"
    finish(folders, what + summary(missing), report, written)


def check_files(folder: Path, nets: Mapping[int, Mapping[str, Path]]) -> None:
    """Refuse damaged files before anything is asked.

    Raises:
        UserError: names every file of the folder that cannot be read.
    """
    problems = Problems(f"{folder}: the nets cannot be asked")
    heads = [folder / HEAD, *folder.glob(OWN_HEAD)]
    loading = [
        *(partial(load_head, path) for path in heads),
        *(partial(load_net, path) for of_seed in nets.values() for path in of_seed.values()),
        *(partial(fitted_of, folder, seed) for seed in nets),
    ]
    for load in loading:
        try:
            load()
        except UserError as error:
            problems.lines += error.problems
    problems.raise_if_any()


def own_of(
    folders: Folders, plan: Mapping[int, Mapping[str, PlannedLook]]
) -> tuple[Tower, RegionHead] | None:
    """The tower of its own with its head, where a net sees their regions."""
    if not any(one.kind == "own" for looks_of in plan.values() for one in looks_of.values()):
        return None
    path = folders.vqa / OWN_HEAD
    return load_tower(path, folders.clip), load_head(path)


def shown(
    folders: Folders, asked: ReleaseAsks, plan: Mapping[int, Mapping[str, PlannedLook]]
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
    if not any(one.kind == "true" for looks_of in plan.values() for one in looks_of.values()):
        return files, None
    return files, gqa_files.truth(folders.truth, {records[picture].split for picture in ids})


def nouns_of(asked: ReleaseAsks, head: RegionHead) -> list[frozenset[str]]:
    """The nouns of each ask; each distinct text is tagged once."""
    texts = sorted({one.text for one in asked.asks})
    tokens = track(Tagger().tag(texts), "nouns", len(texts), "text")
    found = {
        text: asked_nouns(text, some, head.names.kinds) for text, some in zip(texts, tokens, strict=True)
    }
    return [found[one.text] for one in asked.asks]


def seen_by_seed(
    plan: Mapping[int, Mapping[str, PlannedLook]], held: Held
) -> Iterator[tuple[int, dict[str, Seen]]]:
    """What the nets of each seed make of all asks: one seed in memory at a time, nets side by side."""
    every = [one for looks_of in plan.values() for one in looks_of.values()]
    side_by_side = max(1, min(threads(), len(every)))
    results = ordered_map(look_with, every, partial(Held, *held), side_by_side, 1)
    told = track(results, "answer", len(every), "net")
    for seed, looks_of in plan.items():
        yield seed, dict(zip(looks_of, islice(told, len(looks_of)), strict=True))


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
        return f"; left out: {len(told)} rows of some seeds, answer.json says why"
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
