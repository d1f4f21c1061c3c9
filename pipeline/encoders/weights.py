"""open_clip models by name, with their weights.

Where open_clip merely warns, this refuses: weights are required (its default is random ones), they must fit the
configuration to the last shape, and agree with it on QuickGELU where that is known.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json
from pipeline.core.hub import hub_or_cache

if TYPE_CHECKING:
    import open_clip

LOCAL, HUB = "local-dir:", "hf-hub:"  # open_clip's own prefixes of model names
CONFIG = "open_clip_config.json"  # in a model's folder
ENDINGS = (".safetensors", ".bin", ".pt", ".pth")


def weighted(model: str, pretrained: str) -> tuple[open_clip.CLIP, dict[str, Any], Path]:
    """Load a model with its weights, its configuration as open_clip has it, and the file of the weights; for the names
    see `clip.Encoder`.

    Raises:
        UserError: an unknown name, tag or file, a hub out of reach, weights that do not fit.
    """
    import open_clip

    checkpoint = _checkpoint(model, pretrained)
    what = f"{checkpoint}: the weights do not fit the configuration of {model}"
    try:
        config = _config(model)
        network = open_clip.create_model(model, pretrained or None, precision="fp32", require_pretrained=True)
    except Exception as error:  # torch, safetensors, pickle and open_clip each raise their own
        reasons = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise UserError([what, *reasons]) from error
    problems = Problems(what)
    if checkpoint.suffix == ".safetensors":  # open_clip stretches positional tables of another size silently
        from safetensors import safe_open

        wanted = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
        with safe_open(checkpoint, framework="np") as file:
            for name in file.keys():  # noqa: SIM118  (not a dict)
                shape = file.get_slice(name).get_shape()
                if "positional_embedding" in name and shape != wanted.get(name, shape):
                    problems.add(name, f"shape {shape} in the file, {wanted[name]} in the configuration")
    problems.raise_if_any()
    # open_clip's kinds of models have these methods in common, but no type.
    return cast("open_clip.CLIP", network), config, checkpoint


def _config(model: str) -> dict[str, Any]:
    import open_clip

    prefixed = model.startswith((LOCAL, HUB))
    return open_clip.get_model_config(model if prefixed else model.replace("/", "-")) or {}


def _checkpoint(model: str, pretrained: str) -> Path:
    """The weights file that open_clip will load for this name, fetched from the hub if need be."""
    import open_clip

    if model.startswith((LOCAL, HUB)) and pretrained:
        raise UserError(
            f"model {model!r} brings its own weights; leave `pretrained` empty (got {pretrained!r})"
        )
    if model.startswith(LOCAL):
        return local_weights(Path(model.removeprefix(LOCAL)))
    if model.startswith(HUB):
        repository = model.removeprefix(HUB)
        return _fetched(lambda: open_clip.pretrained.download_pretrained_from_hf(repository), model)
    config, name = _config(model), model.replace("/", "-")
    if not config:
        close = difflib.get_close_matches(model, open_clip.list_models(), 5) or open_clip.list_models()[:5]
        raise UserError(
            f"open_clip knows no model {model!r}; near it: {', '.join(close)}; or {LOCAL}FOLDER, {HUB}OWNER/NAME"
        )
    if Path(pretrained).is_file():
        return Path(pretrained)
    tag = open_clip.get_pretrained_cfg(name, pretrained)
    if not tag:
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(name)) or "none"
        raise UserError(f"{model}: {pretrained!r} is neither one of its pretrained tags ({tags}) nor a file")
    if tag.get("quick_gelu", False) and not config.get("quick_gelu", False):
        raise UserError(
            f"the weights {pretrained!r} were trained with QuickGELU and give wrong vectors in {model!r}; "
            f"ask for model '{model}-quickgelu'"
        )
    return _fetched(lambda: open_clip.download_pretrained(tag), f"{model} {pretrained}")


def local_weights(folder: Path) -> Path:
    """The one weights file of a folder.

    Raises:
        UserError: none or several, or no configuration beside it.
    """
    config = folder / CONFIG
    if "model_cfg" not in read_json(config, dict[str, Any]):
        raise UserError(f"{config}: no `model_cfg` in it; take the file as open_clip publishes it")
    files = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise UserError(f"{folder}: expected one weights file ({', '.join(ENDINGS)}), found {names}")
    return files[0]


def _fetched(fetch: Callable[[], str], what: str) -> Path:
    try:
        with hub_or_cache(f"the weights of {what}"):
            return Path(fetch())
    except Exception as error:  # each hub client has its own kinds; whatever it is, the way out is the same
        raise UserError(
            [
                f"{what}: the weights could not be fetched ({str(error).splitlines()[0]})",
                "where there is no network, fetch them elsewhere and point `embed` at them:",
                f"either set `pretrained` to the weights file, or put it beside its open_clip_config.json and set `model: {LOCAL}FOLDER`",
            ]
        ) from error


def local_files(model: str, pretrained: str) -> list[Path]:
    """What on this machine a model is loaded from: its folder, or a file of weights; [] if it is fetched by name."""
    places = [Path(model.removeprefix(LOCAL))] if model.startswith(LOCAL) else []
    return places + ([Path(pretrained)] if pretrained and Path(pretrained).exists() else [])
