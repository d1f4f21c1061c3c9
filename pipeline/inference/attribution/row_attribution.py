"""Open a row of the leaderboard, or a model of transformers, for attribution."""

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
    """A model that shows which parts of an image it used."""

    def attribute(self, image: Path, texts: list[str], image_id: str = "") -> list[Attribution]:
        """Return the attribution of each question about an image."""
        ...


class RowAttribution(NamedTuple):
    """A row of the leaderboard.

    Attributes:
        name: Name of the row.
        models: Name -> model of the row. The answers are from the first model.
        predictions: Item id -> answer and confidence, from the predictions file of the row; empty if there is
            no file.
        note: Remark for the page; "" for none.
    """

    name: str
    models: Mapping[str, Attributor]
    predictions: Mapping[str, tuple[str, float]]
    note: str = ""


def open_row(
    folders: DatasetFolders, name: str, seed: int = 0, settings: Mapping[str, str] | None = None
) -> RowAttribution:
    """Open a row.

    Args:
        folders: Folders of the data set.
        name: Name of a row of the data set's reference models, or hf-vqa/NAME_OR_FOLDER for a model of
            transformers.
        seed: Training seed of the reference models to open.
        settings: Settings of a model of transformers, as for `rgqa run --model-arg`; None for the defaults.

    Raises:
        UserError: There is no such row or seed, or the models of the row do not use the image.
    """
    if name.startswith(HF_MODEL_PREFIX):
        return RowAttribution(name, {name: _load_hf_model(name, settings or {})}, {})
    if settings:
        raise UserError(f"--model-arg has no effect with --model {name}; it is for {HF_MODEL_PREFIX}... only")
    return research_registry.open_reference_row(folders, name, seed)


def _load_hf_model(name: str, settings: Mapping[str, str]) -> Attributor:
    try:
        from pipeline.inference.attribution.transformers_attribution import TransformersAttributor
    except ImportError as error:
        raise UserError(
            f'{name}: {error.name} is not installed; models of transformers need the extra hf: pip install ".[hf]"'
        ) from error
    return TransformersAttributor(name, dict(settings))
