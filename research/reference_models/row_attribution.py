"""Open a row of the leaderboard for attribution: which of the data set's own nets it has, and what its file says."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.inference.attribution.row_attribution import PREFIX, RowSight
from research.reference_models.leaderboard_rows import ROWS
from research.reference_models.net_files import SEES, nets_of

NO_PLACES = {  # nets that say nothing of where
    "blind": "sees no picture",
    **{net: "sees a caption, which has no places" for net, kind in SEES.items() if kind == "told"},
    **{net: "sees the truth, which is not opened here" for net, kind in SEES.items() if kind == "true"},
}


def own_row_sight(folders: Folders, name: str, seed: int) -> RowSight:
    """Open a row of the data set's own nets, of one seed.

    Raises:
        UserError: there is no such row, no net of this seed, or nothing that looks at a place.
    """
    nets = nets_of(folders.vqa)
    rows = sighted_rows(folders, seed)
    there = f"rows of seed {seed} that have something to show: {', '.join(rows) or 'none'}; or {PREFIX}FOLDER"
    if name in rows:
        from research.reference_models.net_attribution import NetSight

        row = ROWS[name]
        seeing = [net for net in row.nets if net not in NO_PLACES]
        models = {net: NetSight(folders.vqa, folders.clip, nets[seed][net]) for net in seeing}
        unseen = [f"net {net} {NO_PLACES[net]}" for net in row.nets if net in NO_PLACES]
        said = _said(folders, name, seed)
        if not said:
            unseen.append("its answers are not known yet: make leaderboard")
        return RowSight(name, models, said, "; ".join(unseen))
    if name in ROWS and seed not in nets:
        raise UserError(
            f"no nets of seed {seed} in {folders.vqa}; there are {', '.join(map(str, nets)) or 'none'}"
        )
    if name in ROWS:
        why = [f"net {net} {NO_PLACES[net]}" for net in ROWS[name].nets if net in NO_PLACES]
        why += [f"no net {net} of seed {seed}" for net in ROWS[name].nets if net not in nets[seed]]
        raise UserError(f"row {name} has nothing to show: {'; '.join(why)}. There are {there}")
    if name and _is_file(folders, name):
        raise UserError(
            f"row {name} is a file of predictions: no model is here that could look. There are {there}"
        )
    raise UserError(f"--model: {f'no row {name}' if name else 'name a row'}. There are {there}")


def sighted_rows(folders: Folders, seed: int) -> list[str]:
    """The rows whose nets are there, one of which at least looks at places."""
    nets = nets_of(folders.vqa).get(seed, {})
    return [
        name
        for name, row in ROWS.items()
        if nets.keys() >= set(row.nets) and any(net not in NO_PLACES for net in row.nets)
    ]


def _is_file(folders: Folders, name: str) -> bool:
    """Whether somebody's predictions, or those that a release has for reference, bear this name."""
    found = [path.name.split(".")[0].split("-seed")[0] for path in folders.predictions.glob("*")]
    release = folders.release("*")
    return name in found or any(Path().glob(f"{release}/sanity/*/{name}.json"))


def _said(folders: Folders, name: str, seed: int) -> dict[str, tuple[str, float]]:
    path = folders.stage("answer") / f"{name}-seed{seed}.json"
    rows = read_json(path, list[dict[str, str | float]]) if path.is_file() else []
    return {str(row["questionId"]): (str(row["prediction"]), float(row["confidence"])) for row in rows}
