"""Open a row of the leaderboard for attribution: which of the data set's own nets it has, and what its file says."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.row_attribution import HF_MODEL_PREFIX, RowAttribution
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.net_files import REGION_SOURCES, find_nets

NETS_WITHOUT_LOCATIONS = {  # nets that say nothing of where
    "blind": "sees no image",
    **{net: "sees a caption, which has no places" for net, kind in REGION_SOURCES.items() if kind == "told"},
    **{
        net: "sees the truth, which is not opened here"
        for net, kind in REGION_SOURCES.items()
        if kind == "true"
    },
}


def own_row_sight(folders: DatasetFolders, name: str, seed: int) -> RowAttribution:
    """Open a row of the data set's own nets, of one seed.

    Raises:
        UserError: there is no such row, no net of this seed, or nothing that looks at a place.
    """
    nets = find_nets(folders.vqa_models)
    rows = list_attributable_rows(folders, seed)
    there = f"rows of seed {seed} that have something to show: {', '.join(rows) or 'none'}; or {HF_MODEL_PREFIX}FOLDER"
    if name in rows:
        from research.reference_models.net_attribution import NetAttributor

        row = LEADERBOARD_ROWS[name]
        seeing = [net for net in row.required_nets if net not in NETS_WITHOUT_LOCATIONS]
        models = {net: NetAttributor(folders.vqa_models, folders.clip, nets[seed][net]) for net in seeing}
        unseen = [
            f"net {net} {NETS_WITHOUT_LOCATIONS[net]}"
            for net in row.required_nets
            if net in NETS_WITHOUT_LOCATIONS
        ]
        said = _read_predictions(folders, name, seed)
        if not said:
            unseen.append("its answers are not known yet: make leaderboard")
        return RowAttribution(name, models, said, "; ".join(unseen))
    if name in LEADERBOARD_ROWS and seed not in nets:
        raise UserError(
            f"no nets of seed {seed} in {folders.vqa_models}; there are {', '.join(map(str, nets)) or 'none'}"
        )
    if name in LEADERBOARD_ROWS:
        why = [
            f"net {net} {NETS_WITHOUT_LOCATIONS[net]}"
            for net in LEADERBOARD_ROWS[name].required_nets
            if net in NETS_WITHOUT_LOCATIONS
        ]
        why += [
            f"no net {net} of seed {seed}"
            for net in LEADERBOARD_ROWS[name].required_nets
            if net not in nets[seed]
        ]
        raise UserError(f"row {name} has nothing to show: {'; '.join(why)}. There are {there}")
    if name and _has_predictions_file(folders, name):
        raise UserError(
            f"row {name} is a file of predictions: no model is here that could look. There are {there}"
        )
    raise UserError(f"--model: {f'no row {name}' if name else 'name a row'}. There are {there}")


def list_attributable_rows(folders: DatasetFolders, seed: int) -> list[str]:
    """The rows whose nets are there, one of which at least looks at places."""
    nets = find_nets(folders.vqa_models).get(seed, {})
    return [
        name
        for name, row in LEADERBOARD_ROWS.items()
        if nets.keys() >= set(row.required_nets)
        and any(net not in NETS_WITHOUT_LOCATIONS for net in row.required_nets)
    ]


def _has_predictions_file(folders: DatasetFolders, name: str) -> bool:
    """Whether somebody's predictions, or those that a release has for reference, bear this name."""
    found = [path.name.split(".")[0].split("-seed")[0] for path in folders.predictions.glob("*")]
    release = folders.release_dir("*")
    return name in found or any(Path().glob(f"{release}/reference_predictions/*/{name}.json"))


def _read_predictions(folders: DatasetFolders, name: str, seed: int) -> dict[str, tuple[str, float]]:
    path = folders.stage_dir("answer") / f"{name}-seed{seed}.json"
    rows = read_json(path, list[dict[str, str | float]]) if path.is_file() else []
    return {str(row["questionId"]): (str(row["prediction"]), float(row["confidence"])) for row in rows}
