"""Open a row of the data set's reference models for attribution."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.row_attribution import HF_MODEL_PREFIX, RowAttribution
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.net_files import REGION_SOURCES, find_nets

# Net -> why its answers cannot be attributed to parts of the image.
NETS_WITHOUT_LOCATIONS = {
    "blind": "sees no image",
    **{
        net: "reads a caption, which has no positions"
        for net, kind in REGION_SOURCES.items()
        if kind == "caption"
    },
    **{
        net: "reads the ground truth, which is not loaded here"
        for net, kind in REGION_SOURCES.items()
        if kind == "ground_truth"
    },
}


def open_reference_row(folders: DatasetFolders, name: str, seed: int) -> RowAttribution:
    """Open a row of the data set's reference models.

    Args:
        folders: Folders of the data set.
        name: Name of the row.
        seed: Seed of the nets.

    Raises:
        UserError: There is no such row or seed, or no net of the row uses regions with positions in the
            image.
    """
    nets = find_nets(folders.vqa_models)
    rows = list_attributable_rows(folders, seed)
    choices = f"Choose from the rows of seed {seed} with attribution: {', '.join(rows) or 'none'}; or {HF_MODEL_PREFIX}FOLDER"
    if name in rows:
        from research.reference_models.net_attribution import NetAttributor

        row = LEADERBOARD_ROWS[name]
        with_positions = [net for net in row.required_nets if net not in NETS_WITHOUT_LOCATIONS]
        models = {
            net: NetAttributor(folders.vqa_models, folders.clip, nets[seed][net]) for net in with_positions
        }
        notes = [
            f"net {net} {NETS_WITHOUT_LOCATIONS[net]}"
            for net in row.required_nets
            if net in NETS_WITHOUT_LOCATIONS
        ]
        predictions = _read_predictions(folders, name, seed)
        if not predictions:
            notes.append("its answers are not computed yet; run make leaderboard")
        return RowAttribution(name, models, predictions, "; ".join(notes))
    if name in LEADERBOARD_ROWS and seed not in nets:
        raise UserError(
            f"no nets of seed {seed} in {folders.vqa_models}; there are {', '.join(map(str, nets)) or 'none'}"
        )
    if name in LEADERBOARD_ROWS:
        reasons = [
            f"net {net} {NETS_WITHOUT_LOCATIONS[net]}"
            for net in LEADERBOARD_ROWS[name].required_nets
            if net in NETS_WITHOUT_LOCATIONS
        ]
        reasons += [
            f"no net {net} of seed {seed}"
            for net in LEADERBOARD_ROWS[name].required_nets
            if net not in nets[seed]
        ]
        raise UserError(f"--model {name}: this row has no attribution ({'; '.join(reasons)}). {choices}")
    if name and _has_predictions_file(folders, name):
        raise UserError(f"--model {name}: this row is a file of predictions, without a model. {choices}")
    raise UserError(f"--model {name}: no such row. {choices}" if name else f"--model: missing. {choices}")


def list_attributable_rows(folders: DatasetFolders, seed: int) -> list[str]:
    """Return the rows whose nets exist, if at least one net uses regions with positions in the image."""
    nets = find_nets(folders.vqa_models).get(seed, {})
    return [
        name
        for name, row in LEADERBOARD_ROWS.items()
        if nets.keys() >= set(row.required_nets)
        and any(net not in NETS_WITHOUT_LOCATIONS for net in row.required_nets)
    ]


def _has_predictions_file(folders: DatasetFolders, name: str) -> bool:
    """Return whether predictions of the user, or reference predictions of a release, have this name."""
    names = [path.name.split(".")[0].split("-seed")[0] for path in folders.predictions.glob("*")]
    release = folders.release_dir("*")
    return name in names or any(Path().glob(f"{release}/reference_predictions/*/{name}.json"))


def _read_predictions(folders: DatasetFolders, name: str, seed: int) -> dict[str, tuple[str, float]]:
    path = folders.stage_dir("answer") / f"{name}-seed{seed}.json"
    rows = read_json(path, list[dict[str, str | float]]) if path.is_file() else []
    return {str(row["questionId"]): (str(row["prediction"]), float(row["confidence"])) for row in rows}
