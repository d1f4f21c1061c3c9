"""What a row of the leaderboard, or a model of transformers, looked at: which nets it has, and what its file says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline import research_registry
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.panels import Attribution

HF_MODEL_PREFIX = "hf-vqa/"


class Attributor(Protocol):
    """A model that shows what it looked at."""

    def attribute(self, image: Path, texts: list[str], image_id: str = "") -> list[Attribution]: ...


class RowAttribution(NamedTuple):
    """A row's models by name, the first of which answers; what its predictions file says, by item (answer and confidence; empty
    where there is no file); and what else is to be known."""

    name: str
    models: Mapping[str, Attributor]
    predictions: Mapping[str, tuple[str, float]]
    note: str = ""


def open_row(
    folders: DatasetFolders, name: str, seed: int = 0, settings: Mapping[str, str] | None = None
) -> RowAttribution:
    """Open a row: of the data set's own nets, of one seed, or hf-vqa/NAME_OR_FOLDER.

    Args:
        settings: of a model of transformers, as `rgqa run --model-arg` takes them.

    Raises:
        UserError: there is no such row, no net of this seed, or nothing that looks at a place.
    """
    if name.startswith(HF_MODEL_PREFIX):
        return RowAttribution(name, {name: _load_hf_model(name, settings or {})}, {})
    if settings:
        raise UserError(f"--model-arg is for {HF_MODEL_PREFIX}... alone, and --model is {name!r}")
    return research_registry.own_row_sight(folders, name, seed)


def _load_hf_model(name: str, settings: Mapping[str, str]) -> Attributor:
    try:
        from pipeline.inference.attribution.transformers_attribution import TransformersAttributor
    except ImportError as error:
        raise UserError(
            f'{name}: {error.name} is not installed; models of transformers need the extra hf: pip install ".[hf]"'
        ) from error
    return TransformersAttributor(name, dict(settings))
