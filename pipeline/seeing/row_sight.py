"""What a row of the leaderboard, or a model of transformers, looked at: which nets it has, and what its file says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.core.errors import UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.models.net_folder import SEES, nets_of
from pipeline.models.net_rows import ROWS
from pipeline.seeing.panels import Sighting

PREFIX = "hf-vqa/"
NO_PLACES = {  # nets that say nothing of where
    "blind": "sees no picture",
    **{net: "sees a caption, which has no places" for net, kind in SEES.items() if kind == "told"},
    **{net: "sees the truth, which is not opened here" for net, kind in SEES.items() if kind == "true"},
}


class Sees(Protocol):
    """A model that shows what it looked at."""

    def look(self, picture: Path, texts: list[str], picture_id: str = "") -> list[Sighting]: ...


class RowSight(NamedTuple):
    """A row's models by name, the first of which answers; what its predictions file says, by item (answer and confidence; empty
    where there is no file); and what else is to be known."""

    name: str
    models: Mapping[str, Sees]
    said: Mapping[str, tuple[str, float]]
    note: str = ""


def row_sight(
    folders: Folders, name: str, seed: int = 0, settings: Mapping[str, str] | None = None
) -> RowSight:
    """Open a row: of the data set's own nets, of one seed, or hf-vqa/NAME_OR_FOLDER.

    Args:
        settings: of a model of transformers, as `rgqa run --model-arg` takes them.

    Raises:
        UserError: there is no such row, no net of this seed, or nothing that looks at a place.
    """
    if name.startswith(PREFIX):
        return RowSight(name, {name: _of_transformers(name, settings or {})}, {})
    if settings:
        raise UserError(f"--model-arg is for {PREFIX}... alone, and --model is {name!r}")
    nets = nets_of(folders.vqa)
    rows = sighted_rows(folders, seed)
    there = f"rows of seed {seed} that have something to show: {', '.join(rows) or 'none'}; or {PREFIX}FOLDER"
    if name in rows:
        from pipeline.seeing.net_sight import NetSight

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


def _of_transformers(name: str, settings: Mapping[str, str]) -> Sees:
    try:
        from pipeline.seeing.transformers_sight import TransformersSight
    except ImportError as error:
        raise UserError(
            f'{name}: {error.name} is not installed; models of transformers need the extra hf: pip install ".[hf]"'
        ) from error
    return TransformersSight(name, dict(settings))
