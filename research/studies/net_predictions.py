"""Let a data set's nets answer any items, for example those of a release with other images.

Nets, detector and CLIP are those of one data set's folder. The images can be anywhere. The code is that of
stage `answer`, so its results on the data set's own release are the same.

Writes  ROW-seedN.json    predictions for all items, as `rgqa score` reads them
        rows.yaml         the confidence method of each model, and whether the model is only a reference
        extra_nets.json   SHA-256 of the extra nets that answered
        queries.json      hashes of the queries and the nets; predictions for anything else are deleted
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
from research.reference_models.net_files import find_nets
from research.reference_models.row_predictions import (
    PlannedInference,
    ReleaseQueries,
    WorkerInputs,
    describe_row,
    format_predictions,
    load_regions,
    plan_rows,
    predict_rows,
    run_inference,
)
from research.synthetic_world.graded_models import GradedModel, keep_best_regions

QUERIES_FILE, EXTRA_NETS_FILE = "queries.json", "extra_nets.json"
ROWS_FILE = "rows.yaml"
NO_EXTRA_NETS: Mapping[str, GradedModel] = MappingProxyType({})
MSP_ROW = LeaderboardRow("msp")
# Loads the complete scene graphs of images by id.
SceneLoader = Callable[[Collection[str]], Mapping[str, SceneGraph]]


class QueryItem(NamedTuple):
    """A question about an image. The name of the file without suffix is the image's id."""

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
    """Let the nets of a data set answer. Predictions that `out` already has are kept.

    Args:
        items: The questions.
        out: Output folder. Nothing else may write to it.
        folders: The data set whose nets are used.
        load_scenes: Loads the complete scene graphs for nets that need them. None if they are not known.
        extra_nets: Further nets on the detector's regions, by the names of their rows. Their confidence is
            MSP.

    Returns:
        The predictions files, by row and seed.

    Raises:
        UserError: There are no nets, images cannot be read or share a name, or an id has two questions.
    """
    files, asked = _collect_queries(items)
    if not find_nets(folders.vqa_models):
        raise UserError(
            f"{folders.vqa_models}: there are no nets. Run `rgqa sample train-vqa` to train the sample's."
        )
    plan = plan_rows(folders.vqa_models, load_scenes is not None)
    _clear_if_changed(out, {"queries": _hash_inputs(files, asked), "nets": _hash_nets(folders)})
    paths = {
        (row, seed): out / f"{row}-seed{seed}.json"
        for seed in plan.planned_inference
        for row in plan.available_rows(seed)
    }
    extra_paths = {name: out / f"{name}-seed0.json" for name in extra_nets}
    due = sorted({seed for (_, seed), path in paths.items() if not path.exists()})
    due_extra = _find_stale_nets(extra_nets, extra_paths, out)
    if due or due_extra:
        scenes = load_scenes(files.keys()) if load_scenes and plan.needs_regions("ground_truth") else None
        regions = load_regions(plan, folders.clip, files, scenes)
        missing = plan._replace(planned_inference={seed: plan.planned_inference[seed] for seed in due})
        for seed, row, output in predict_rows(missing, asked.queries, regions) if due else ():
            write_json(paths[row, seed], format_predictions(asked, row, output))
        for name in track(due_extra, "answer", unit="graded net"):
            store = keep_best_regions(regions.stores["detected"], extra_nets[name].num_regions)
            seen = run_inference(
                WorkerInputs(asked.queries, {"detected": store}),
                PlannedInference(extra_nets[name].path, "detected", 0.0),
            )
            write_json(
                extra_paths[name], format_predictions(asked, name, score_row(MSP_ROW, {MSP_ROW.net: seen}))
            )
    described = {
        row: describe_row(LEADERBOARD_ROWS[row])
        for row in LEADERBOARD_ROWS
        if any(name == row for name, _ in paths)
    }
    described |= {name: describe_row(MSP_ROW) | {"note": "graded net"} for name in extra_nets}
    write_text(out / ROWS_FILE, yaml.safe_dump(described, sort_keys=False, width=110))
    return [*(paths[key] for key in sorted(paths)), *extra_paths.values()]


def _clear_if_changed(out: Path, key: dict[str, str]) -> None:
    """Delete predictions for other queries or by other nets."""
    if (out / QUERIES_FILE).exists() and read_json(out / QUERIES_FILE, dict[str, str]) == key:
        return
    for path in out.glob("*-seed*.json"):
        path.unlink()
    write_json(out / QUERIES_FILE, key)


def _find_stale_nets(nets: Mapping[str, GradedModel], paths: Mapping[str, Path], out: Path) -> list[str]:
    """Return the extra nets that have not answered yet or that changed since."""
    path = out / EXTRA_NETS_FILE
    known = read_json(path, dict[str, str]) if path.exists() else {}
    now = {name: f"{sha256_file(net.path)} {net.num_regions}" for name, net in nets.items()}
    for name in nets:
        if known.get(name) != now[name]:
            paths[name].unlink(missing_ok=True)
    # Written last: a run that is killed before finds the same nets stale.
    write_json(path, now)
    return [name for name in nets if not paths[name].exists()]


def _collect_queries(items: Sequence[QueryItem]) -> tuple[dict[str, Path], ReleaseQueries]:
    """Return the images by id, sorted, and each distinct question once."""
    problems = Problems("items that cannot be passed to the nets")
    files: dict[str, Path] = {}
    posed: dict[str, VqaQuery] = {}
    for item_id, path, text in items:
        if files.setdefault(path.stem, path) != path:
            problems.add(item_id, f"two images have the same name: {files[path.stem]} and {path}")
        if posed.setdefault(item_id, VqaQuery(path.stem, text)) != (path.stem, text):
            problems.add(item_id, "occurs twice with different questions")
    problems.raise_if_any()
    asks = sorted(set(posed.values()))
    number = {ask: place for place, ask in enumerate(asks)}
    return dict(sorted(files.items())), ReleaseQueries(asks, {key: number[ask] for key, ask in posed.items()})


def _hash_inputs(files: Mapping[str, Path], asked: ReleaseQueries) -> str:
    """Hash the content of the images and the questions."""
    images = {name: sha256_file(path) if path.is_file() else "" for name, path in files.items()}
    return hashlib.sha256(msgspec.json.encode([images, asked.queries, asked.query_index])).hexdigest()


def _hash_nets(folders: DatasetFolders) -> str:
    paths = sorted([*folders.vqa_models.glob("*.safetensors"), *folders.clip.glob("*.safetensors")])
    return hashlib.sha256("".join(sha256_file(path) for path in paths).encode()).hexdigest()
