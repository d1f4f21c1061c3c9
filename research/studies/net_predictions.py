"""What a data set's nets say to any items: those of a release of other images, or of sets that were never released.

Nets, detector and CLIP are those of one data set's folder; images lie anywhere. Stage `answer`'s own code asks, so on its
release this gives its rows.

Writes  ROW-seedN.json   predictions in the form that `rgqa score` reads, every item
        rows.yaml        of each row what its confidence is, and whether it is a reference
        further.json     further nets that answered, by their content
        asked.json       what was asked of which nets; a folder made of anything else is made anew
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import yaml

from pipeline.core.atomic_files import sha256_file, write_text
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import SceneGraph
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS, LeaderboardRow, score_row
from research.reference_models.model_outputs import VqaQuery
from research.reference_models.net_answers import load_regions, plan_rows, predict_rows
from research.reference_models.net_files import find_nets
from research.reference_models.row_predictions import (
    PlannedInference,
    ReleaseQueries,
    WorkerInputs,
    describe_row,
    format_predictions,
    run_inference,
)
from research.synthetic_world.graded_models import GradedModel, keep_best_regions

QUERIES_FILE, EXTRA_NETS_FILE = "asked.json", "further.json"
ROWS_FILE = "rows.yaml"
NO_EXTRA_NETS: Mapping[str, GradedModel] = MappingProxyType({})
MSP_ROW = LeaderboardRow("msp")
SceneLoader = Callable[[Collection[str]], Mapping[str, SceneGraph]]  # the complete truth of images, by id


class QueryItem(NamedTuple):
    """A question that is posed of an image; the file is named by the image's id."""

    item_id: str
    image: Path
    text: str


def predict_items(
    items: Sequence[QueryItem],
    out: Path,
    folders: DatasetFolders,
    load_scenes: SceneLoader | None = None,
    extra_nets: Mapping[str, GradedModel] = NO_EXTRA_NETS,
) -> list[Path]:
    """Let the nets of a data set answer; what lies in `out` already is not asked again.

    Args:
        out: a folder of this function's own. folders: of the data set whose nets they are. truth: for a net that sees it;
            None: nobody knows it.
        more: further nets on the detector's regions, by the names of their rows; their confidence is MSP.

    Returns:
        The predictions files, by row and seed.

    Raises:
        UserError: no nets, images that cannot be read or share a name, an id with two questions.
    """
    files, asked = _collect_queries(items)
    if not find_nets(folders.vqa_models):
        raise UserError(f"no nets in {folders.vqa_models}; rgqa sample train-vqa trains the sample's")
    plan = plan_rows(folders.vqa_models, load_scenes is not None)
    _clear_if_changed(out, {"asked": _hash_inputs(files, asked), "nets": _hash_nets(folders)})
    paths = {
        (row, seed): out / f"{row}-seed{seed}.json"
        for seed in plan.planned_inference
        for row in plan.available_rows(seed)
    }
    anew = {name: out / f"{name}-seed0.json" for name in extra_nets}
    due = sorted({seed for (_, seed), path in paths.items() if not path.exists()})
    due_more = _find_stale_nets(extra_nets, anew, out)
    if due or due_more:
        scenes = load_scenes(files.keys()) if load_scenes and plan.needs_regions("true") else None
        regions = load_regions(plan, folders.clip, files, scenes)
        short = plan._replace(planned_inference={seed: plan.planned_inference[seed] for seed in due})
        for seed, row, said in predict_rows(short, asked.queries, regions) if due else ():
            write_json(paths[row, seed], format_predictions(asked, row, said))
        for name in track(due_more, "answer", unit="further net"):
            store = keep_best_regions(regions.stores["found"], extra_nets[name].num_regions)
            seen = run_inference(
                WorkerInputs(asked.queries, {"found": store}),
                PlannedInference(extra_nets[name].path, "found", 0.0),
            )
            write_json(anew[name], format_predictions(asked, name, score_row(MSP_ROW, {MSP_ROW.net: seen})))
    told = {
        row: describe_row(LEADERBOARD_ROWS[row])
        for row in LEADERBOARD_ROWS
        if any(name == row for name, _ in paths)
    }
    told |= {name: describe_row(MSP_ROW) | {"note": "further net"} for name in extra_nets}
    write_text(out / ROWS_FILE, yaml.safe_dump(told, sort_keys=False, width=110))
    return [*(paths[key] for key in sorted(paths)), *anew.values()]


def _clear_if_changed(out: Path, key: dict[str, str]) -> None:
    """Take away answers that were given to something else, or by others."""
    if (out / QUERIES_FILE).exists() and read_json(out / QUERIES_FILE, dict[str, str]) == key:
        return
    for path in out.glob("*-seed*.json"):
        path.unlink()
    write_json(out / QUERIES_FILE, key)


def _find_stale_nets(more: Mapping[str, GradedModel], anew: Mapping[str, Path], out: Path) -> list[str]:
    """The further nets that have not answered yet, or are other ones by now."""
    said_by = out / EXTRA_NETS_FILE
    known = read_json(said_by, dict[str, str]) if said_by.exists() else {}
    now = {name: f"{sha256_file(net.path)} {net.num_regions}" for name, net in more.items()}
    for name in more:
        if known.get(name) != now[name]:
            anew[name].unlink(missing_ok=True)
    write_json(said_by, now)  # last: a run that is killed before finds the same nets stale
    return [name for name in more if not anew[name].exists()]


def _collect_queries(items: Sequence[QueryItem]) -> tuple[dict[str, Path], ReleaseQueries]:
    """Images by id, in order, and what is asked of them, each distinct question once."""
    problems = Problems("items that the nets cannot be asked")
    files: dict[str, Path] = {}
    posed: dict[str, VqaQuery] = {}
    for item_id, path, text in items:
        if files.setdefault(path.stem, path) != path:
            problems.add(item_id, f"two images of one name: {files[path.stem]} and {path}")
        if posed.setdefault(item_id, VqaQuery(path.stem, text)) != (path.stem, text):
            problems.add(item_id, "stands there twice, with different questions")
    problems.raise_if_any()
    asks = sorted(set(posed.values()))
    number = {ask: place for place, ask in enumerate(asks)}
    return dict(sorted(files.items())), ReleaseQueries(asks, {key: number[ask] for key, ask in posed.items()})


def _hash_inputs(files: Mapping[str, Path], asked: ReleaseQueries) -> str:
    """Of images, by their content, and questions."""
    images = {name: sha256_file(path) if path.is_file() else "" for name, path in files.items()}
    return hashlib.sha256(msgspec.json.encode([images, asked.queries, asked.query_index])).hexdigest()


def _hash_nets(folders: DatasetFolders) -> str:
    paths = sorted([*folders.vqa_models.glob("*.safetensors"), *folders.clip.glob("*.safetensors")])
    return hashlib.sha256("".join(sha256_file(path) for path in paths).encode()).hexdigest()
