"""What a data set's nets say to any items: those of a release of other pictures, or of sets that were never released.

Nets, detector and CLIP are those of one data set's folder; pictures lie anywhere. Stage `answer`'s own code asks, so on its
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
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Scene
from research.reference_models.leaderboard_rows import ROWS, NetRow, said_of_row
from research.reference_models.model_outputs import Ask
from research.reference_models.net_answers import plan_rows, regions_for, said_by_nets
from research.reference_models.net_files import nets_of
from research.reference_models.row_predictions import (
    Held,
    PlannedLook,
    ReleaseAsks,
    about,
    look_with,
    predictions,
)
from research.synthetic_world.graded_models import GradedNet, best_regions

ASKED, FURTHER = "asked.json", "further.json"
ABOUT = "rows.yaml"
NONE: Mapping[str, GradedNet] = MappingProxyType({})
MSP = NetRow("msp")
Scenes = Callable[[Collection[str]], Mapping[str, Scene]]  # the complete truth of pictures, by id


class PosedItem(NamedTuple):
    """A question that is posed of a picture; the file is named by the picture's id."""

    item_id: str
    picture: Path
    text: str


def answer_items(
    items: Sequence[PosedItem],
    out: Path,
    folders: Folders,
    truth: Scenes | None = None,
    more: Mapping[str, GradedNet] = NONE,
) -> list[Path]:
    """Let the nets of a data set answer; what lies in `out` already is not asked again.

    Args:
        out: a folder of this function's own. folders: of the data set whose nets they are. truth: for a net that sees it;
            None: nobody knows it.
        more: further nets on the detector's regions, by the names of their rows; their confidence is MSP.

    Returns:
        The predictions files, by row and seed.

    Raises:
        UserError: no nets, pictures that cannot be read or share a name, an id with two questions.
    """
    files, asked = _checked(items)
    if not nets_of(folders.vqa):
        raise UserError(f"no nets in {folders.vqa}; rgqa sample train-vqa trains the sample's")
    plan = plan_rows(folders.vqa, truth is not None)
    _clear(out, {"asked": _key(files, asked), "nets": _nets_key(folders)})
    paths = {(row, seed): out / f"{row}-seed{seed}.json" for seed in plan.looks for row in plan.rows(seed)}
    anew = {name: out / f"{name}-seed0.json" for name in more}
    due = sorted({seed for (_, seed), path in paths.items() if not path.exists()})
    due_more = _stale(more, anew, out)
    if due or due_more:
        scenes = truth(files.keys()) if truth and plan.needs("true") else None
        regions = regions_for(plan, folders.clip, files, scenes)
        short = plan._replace(looks={seed: plan.looks[seed] for seed in due})
        for seed, row, said in said_by_nets(short, asked.asks, regions) if due else ():
            write_json(paths[row, seed], predictions(asked, row, said))
        for name in track(due_more, "answer", unit="further net"):
            store = best_regions(regions.stores["found"], more[name].seen)
            seen = look_with(Held(asked.asks, {"found": store}), PlannedLook(more[name].path, "found", 0.0))
            write_json(anew[name], predictions(asked, name, said_of_row(MSP, {MSP.net: seen})))
    told = {row: about(ROWS[row]) for row in ROWS if any(name == row for name, _ in paths)}
    told |= {name: about(MSP) | {"note": "further net"} for name in more}
    write_text(out / ABOUT, yaml.safe_dump(told, sort_keys=False, width=110))
    return [*(paths[key] for key in sorted(paths)), *anew.values()]


def _clear(out: Path, key: dict[str, str]) -> None:
    """Take away answers that were given to something else, or by others."""
    if (out / ASKED).exists() and read_json(out / ASKED, dict[str, str]) == key:
        return
    for path in out.glob("*-seed*.json"):
        path.unlink()
    write_json(out / ASKED, key)


def _stale(more: Mapping[str, GradedNet], anew: Mapping[str, Path], out: Path) -> list[str]:
    """The further nets that have not answered yet, or are other ones by now."""
    said_by = out / FURTHER
    known = read_json(said_by, dict[str, str]) if said_by.exists() else {}
    now = {name: f"{sha256_file(net.path)} {net.seen}" for name, net in more.items()}
    for name in more:
        if known.get(name) != now[name]:
            anew[name].unlink(missing_ok=True)
    write_json(said_by, now)  # last: a run that is killed before finds the same nets stale
    return [name for name in more if not anew[name].exists()]


def _checked(items: Sequence[PosedItem]) -> tuple[dict[str, Path], ReleaseAsks]:
    """Pictures by id, in order, and what is asked of them, each distinct question once."""
    problems = Problems("items that the nets cannot be asked")
    files: dict[str, Path] = {}
    posed: dict[str, Ask] = {}
    for item_id, path, text in items:
        if files.setdefault(path.stem, path) != path:
            problems.add(item_id, f"two pictures of one name: {files[path.stem]} and {path}")
        if posed.setdefault(item_id, Ask(path.stem, text)) != (path.stem, text):
            problems.add(item_id, "stands there twice, with different questions")
    problems.raise_if_any()
    asks = sorted(set(posed.values()))
    number = {ask: place for place, ask in enumerate(asks)}
    return dict(sorted(files.items())), ReleaseAsks(asks, {key: number[ask] for key, ask in posed.items()})


def _key(files: Mapping[str, Path], asked: ReleaseAsks) -> str:
    """Of pictures, by their content, and questions."""
    pictures = {name: sha256_file(path) if path.is_file() else "" for name, path in files.items()}
    return hashlib.sha256(msgspec.json.encode([pictures, asked.asks, asked.place_of])).hexdigest()


def _nets_key(folders: Folders) -> str:
    paths = sorted([*folders.vqa.glob("*.safetensors"), *folders.clip.glob("*.safetensors")])
    return hashlib.sha256("".join(sha256_file(path) for path in paths).encode()).hexdigest()
