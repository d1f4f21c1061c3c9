"""open_clip models by name, with their weights.

Where open_clip merely warns, this refuses: weights are required (its default is random ones), they must fit the
configuration to the last shape, and agree with it on QuickGELU where that is known. Where open_clip takes a default without a
warning, this takes what belongs to the weights: images are prepared for them as for the model's pretrained tags.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pipeline.core.errors import Problems, UserError
from pipeline.core.hf_hub import use_cache_if_unreachable
from pipeline.core.json_files import read_json

if TYPE_CHECKING:
    import open_clip

LOCAL_DIR_PREFIX, HF_HUB_PREFIX = "local-dir:", "hf-hub:"  # open_clip's own prefixes of model names
CONFIG_FILE_NAME = "open_clip_config.json"  # in a model's folder
WEIGHTS_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")
TAG_PREPROCESSING_KEYS = (
    "mean",
    "std",
    "interpolation",
    "resize_mode",
)  # how images are prepared, where a pretrained tag says so


def load_pretrained_model(model: str, pretrained: str) -> tuple[open_clip.CLIP, dict[str, Any], Path]:
    """Load a model with its weights, its configuration as open_clip has it, and the file of the weights; for the names
    see `clip.Encoder`.

    Raises:
        UserError: an unknown name, tag or file, a hub out of reach, weights that do not fit.
    """
    import open_clip

    checkpoint = _resolve_checkpoint(model, pretrained)
    what = f"{checkpoint}: the weights do not fit the configuration of {model}"
    tag, file = parse_pretrained(pretrained)
    prepared = _get_preprocessing(model, tag) if file else None
    text_tower = None
    try:
        config = _get_model_config(model)
        text_tower = config.get("text_cfg", {}).get("hf_model_name")  # of a text tower that transformers has
        with use_cache_if_unreachable(f"the configuration of {text_tower}") if text_tower else nullcontext():
            network = open_clip.create_model(
                model,
                str(file or pretrained) or None,
                precision="fp32",
                require_pretrained=True,
                force_preprocess_cfg=prepared,
            )
    except Exception as error:  # torch, safetensors, pickle and open_clip each raise their own
        reasons = _error_lines(error)
        if text_tower and isinstance(error, OSError):  # transformers' kind for what it does not find
            raise UserError(
                _missing_file_message(model, text_tower, "the configuration of its text tower", reasons[0])
            ) from error
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


def _get_model_config(model: str) -> dict[str, Any]:
    import open_clip

    prefixed = model.startswith((LOCAL_DIR_PREFIX, HF_HUB_PREFIX))
    return open_clip.get_model_config(model if prefixed else model.replace("/", "-")) or {}


def load_tokenizer(model: str) -> Any:
    """open_clip's tokenizer of a model.

    Raises:
        UserError: it comes from the hub, which is out of reach, or from the model's folder, which lacks it; says what to fetch.
    """
    import open_clip

    name = _get_model_config(model).get("text_cfg", {}).get("hf_tokenizer_name")
    try:
        with (
            use_cache_if_unreachable(f"the tokenizer {name}")
            if name and not model.startswith(LOCAL_DIR_PREFIX)
            else nullcontext()
        ):
            return open_clip.get_tokenizer(model)
    except Exception as error:  # transformers, tokenizers and each hub client have their own kinds
        repository = name or model.removeprefix(HF_HUB_PREFIX)
        raise UserError(
            _missing_file_message(model, repository, "its tokenizer", _error_lines(error)[0])
        ) from error


def _error_lines(error: Exception) -> list[str]:
    """The lines of an error that are not blank; the name of its type where there are none."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]


def _missing_file_message(model: str, repository: str, what: str, reason: str) -> list[str]:
    """The message about a missing part of a text tower other than its weights."""
    files = '--include "*token*" --include "*.model" --include "config.json"'
    if model.startswith(LOCAL_DIR_PREFIX):
        folder = model.removeprefix(LOCAL_DIR_PREFIX)
        return [
            f"{model}: {what} is not in the folder ({reason})",
            f"where there is a network, run: hf download {repository} {files} --local-dir {folder}",
        ]
    return [
        f"{model}: {what} comes from {repository} on the hub, and could not be fetched ({reason})",
        f"where there is a network, run: hf download {repository} {files}",
        f"and copy the folder models--{repository.replace('/', '--')} of its cache (~/.cache/huggingface/hub) into the same "
        "place here",
    ]


def parse_pretrained(pretrained: str) -> tuple[str, Path | None]:
    """The parts of a `pretrained`: a tag, a weights file, or TAG=FILE for a file with the weights of a tag.

    >>> tag_and_file("openai")
    ('openai', None)
    """
    if not pretrained:
        return "", None
    if Path(pretrained).is_file():
        return "", Path(pretrained)
    tag, equals, file = pretrained.partition("=")
    return tag, Path(file) if equals else None


def _get_preprocessing(model: str, tag: str) -> dict[str, Any] | None:
    """How images are prepared for the weights of a named model that come as a file; None leaves it to open_clip's default, with
    which it trains.

    Args:
        tag: whose weights they are; "" if it is not known.

    Raises:
        UserError: it is not known, and the tags of the model differ.
    """
    import open_clip

    name = model.replace("/", "-")
    tags = [tag] if tag else open_clip.list_pretrained_tags_by_model(name)
    by_values: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for one in tags:
        values = {key: open_clip.get_pretrained_cfg(name, one).get(key) for key in TAG_PREPROCESSING_KEYS}
        by_values.setdefault(str(values), (values, []))[1].append(one)
    if len(by_values) > 1:
        kinds = [f"{', '.join(names)}: {_format_values(values)}" for values, names in by_values.values()]
        raise UserError(
            [
                f"{model}: how images are prepared for these weights is not in the file, and differs among the pretrained tags",
                *kinds,
                "say whose weights they are: set `pretrained` to TAG=FILE",
            ]
        )
    return next((values for values, _ in by_values.values()), None)


def _format_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def find_pretrained_conflict(model: str, pretrained: str) -> str:
    """What is wrong with `pretrained` beside a model that brings its own weights; "" if nothing is."""
    if model.startswith((LOCAL_DIR_PREFIX, HF_HUB_PREFIX)) and pretrained:
        return f"model {model!r} brings its own weights; leave `pretrained` empty (got {pretrained!r})"
    return ""


def _resolve_checkpoint(model: str, pretrained: str) -> Path:
    """The weights file that open_clip will load for this name, fetched from the hub if need be."""
    import open_clip

    if fault := find_pretrained_conflict(model, pretrained):
        raise UserError(fault)
    if model.startswith(LOCAL_DIR_PREFIX):
        return find_local_weights(Path(model.removeprefix(LOCAL_DIR_PREFIX)))
    if model.startswith(HF_HUB_PREFIX):
        repository = model.removeprefix(HF_HUB_PREFIX)
        return _download_weights(
            lambda: open_clip.pretrained.download_pretrained_from_hf(repository),
            model,
            f"run there: hf download {repository} --local-dir FOLDER, bring FOLDER here, and set `model: {LOCAL_DIR_PREFIX}FOLDER`",
        )
    config, name = _get_model_config(model), model.replace("/", "-")
    if not config:
        close = difflib.get_close_matches(model, open_clip.list_models(), 5) or open_clip.list_models()[:5]
        raise UserError(
            f"open_clip knows no model {model!r}; near it: {', '.join(close)}; or {LOCAL_DIR_PREFIX}FOLDER, {HF_HUB_PREFIX}OWNER/NAME"
        )
    tag, file = parse_pretrained(pretrained)
    if file and not tag:
        return file
    made = open_clip.get_pretrained_cfg(name, tag)
    if not made or (file and not file.is_file()):
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(name)) or "none"
        what = (
            f"{str(file)!r} is no file"
            if made
            else f"{tag!r} is neither one of its pretrained tags ({tags}) nor a file"
        )
        raise UserError(f"{model}: {what}")
    if made.get("quick_gelu", False) and not config.get("quick_gelu", False):
        raise UserError(
            f"the weights {tag!r} were trained with QuickGELU and give wrong vectors in {model!r}; "
            f"ask for model '{model}-quickgelu'"
        )
    if file:
        return file
    return _download_weights(
        lambda: open_clip.download_pretrained(made),
        f"{model} {tag}",
        f"set `pretrained: {tag}=FILE`, FILE being the weights file",
    )


def find_local_weights(folder: Path) -> Path:
    """The one weights file of a folder.

    Raises:
        UserError: none or several, or no configuration beside it.
    """
    config = folder / CONFIG_FILE_NAME
    written = read_json(config, dict[str, Any])
    prepared = written.get("preprocess_cfg")
    wanted = {
        "model_cfg": isinstance(written.get("model_cfg"), dict),
        "preprocess_cfg with mean and std": isinstance(prepared, dict) and {"mean", "std"} <= prepared.keys(),
    }
    if missing := [f"`{name}`" for name, there in wanted.items() if not there]:
        raise UserError(
            f"{config}: no {' and no '.join(missing)} in it; take the file as open_clip publishes it"
        )
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS_SUFFIXES)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise UserError(f"{folder}: expected one weights file ({', '.join(WEIGHTS_SUFFIXES)}), found {names}")
    return files[0]


def _download_weights(fetch: Callable[[], str], what: str, advice: str) -> Path:
    try:
        with use_cache_if_unreachable(f"the weights of {what}"):
            return Path(fetch())
    except Exception as error:  # each hub client has its own kinds; whatever it is, the way out is the same
        raise UserError(
            [
                f"{what}: the weights could not be fetched ({_error_lines(error)[0]})",
                f"where there is no network, fetch them elsewhere, and {advice}; or put the weights file beside its "
                f"{CONFIG_FILE_NAME} and set `model: {LOCAL_DIR_PREFIX}FOLDER`",
            ]
        ) from error


def list_local_files(model: str, pretrained: str) -> list[Path]:
    """What on this machine a model is loaded from: its folder, or a file of weights; [] if it is fetched by name."""
    if model.startswith(LOCAL_DIR_PREFIX):
        return [Path(model.removeprefix(LOCAL_DIR_PREFIX))]
    file = parse_pretrained(pretrained)[1]
    return [file] if file and file.exists() else []
