"""Load open_clip models with their weights, and refuse models for which open_clip would only warn.

A model without weights is refused, whereas open_clip uses random weights. The weights must fit the
configuration in every shape. They must also agree with the configuration on QuickGELU, where this is known.
open_clip uses a default preprocessing without a warning. Here, images are prepared as the pretrained tags of
the model prescribe.
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
from pipeline.core.paths import DatasetFolders

if TYPE_CHECKING:
    import open_clip

# Prefixes of model names, as open_clip defines them.
LOCAL_DIR_PREFIX, HF_HUB_PREFIX = "local-dir:", "hf-hub:"
# Name of the configuration file in the folder of a model.
CONFIG_FILE_NAME = "open_clip_config.json"
# Name of the weights in a repository on the hub, if the pretrained tag states none.
DEFAULT_WEIGHTS_NAME = "open_clip_model.safetensors"
WEIGHTS_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")
# Settings of the preprocessing that a pretrained tag can prescribe.
TAG_PREPROCESSING_KEYS = ("mean", "std", "interpolation", "resize_mode")


def load_pretrained_model(model: str, pretrained: str) -> tuple[open_clip.CLIP, dict[str, Any], Path]:
    """Load a model with its weights.

    Args:
        model, pretrained: As in `clip.Encoder`.

    Returns:
        The model, its configuration as open_clip reads it, and the path of the weights file.

    Raises:
        UserError: The name, tag or file is unknown, the hub cannot be reached, or the weights do not fit.
    """
    import open_clip

    checkpoint = _resolve_checkpoint(model, pretrained)
    what = f"{checkpoint}: the weights do not fit the configuration of {model}"
    tag, file = parse_pretrained(pretrained)
    prepared = _get_preprocessing(model, tag) if file else None
    text_tower = None
    try:
        config = _get_model_config(model)
        # Set if the text tower is a model of transformers.
        text_tower = config.get("text_cfg", {}).get("hf_model_name")
        with use_cache_if_unreachable(f"the configuration of {text_tower}") if text_tower else nullcontext():
            network = open_clip.create_model(
                model,
                str(file or pretrained) or None,
                precision="fp32",
                require_pretrained=True,
                force_preprocess_cfg=prepared,
            )
    except Exception as error:
        # torch, safetensors, pickle and open_clip each raise errors of their own.
        reasons = _error_lines(error)
        # transformers raises OSError for files that it does not find.
        if text_tower and isinstance(error, OSError):
            raise UserError(
                _missing_file_message(model, text_tower, "the configuration of its text tower", reasons[0])
            ) from error
        raise UserError([what, *reasons]) from error
    problems = Problems(what)
    if checkpoint.suffix == ".safetensors":
        # open_clip silently interpolates positional tables of another size, so their shapes are compared
        # here.
        from safetensors import safe_open

        wanted = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
        with safe_open(checkpoint, framework="np") as file:
            # The file is no dict, so `.keys()` is needed.
            for name in file.keys():  # noqa: SIM118
                shape = file.get_slice(name).get_shape()
                if "positional_embedding" in name and shape != wanted.get(name, shape):
                    problems.add(name, f"shape {shape} in the file, {wanted[name]} in the configuration")
    problems.raise_if_any()
    # The models of open_clip share these methods but have no common type.
    return cast("open_clip.CLIP", network), config, checkpoint


def _get_model_config(model: str) -> dict[str, Any]:
    import open_clip

    prefixed = model.startswith((LOCAL_DIR_PREFIX, HF_HUB_PREFIX))
    return open_clip.get_model_config(model if prefixed else model.replace("/", "-")) or {}


def load_tokenizer(model: str) -> Any:
    """Load the tokenizer of a model.

    Raises:
        UserError: The tokenizer cannot be downloaded, or it is missing in the folder of the model. The
            message says which files to download.
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
    except Exception as error:
        # transformers, tokenizers and each hub client raise errors of their own.
        repository = name or model.removeprefix(HF_HUB_PREFIX)
        raise UserError(
            _missing_file_message(model, repository, "its tokenizer", _error_lines(error)[0])
        ) from error


def _error_lines(error: Exception) -> list[str]:
    """Return the lines of an error's message that are not blank, or the name of the error's type."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]


def _missing_file_message(model: str, repository: str, what: str, reason: str) -> list[str]:
    """Return the message about a missing file of a text tower. The file is not a weights file.

    Args:
        model: The name of the model.
        repository: The repository on the hub that has the file.
        what: What is missing ("its tokenizer").
        reason: The reason in the original error.
    """
    files = '--include "*token*" --include "*.model" --include "config.json"'
    if model.startswith(LOCAL_DIR_PREFIX):
        folder = model.removeprefix(LOCAL_DIR_PREFIX)
        return [
            f"{model}: {what} is missing in the folder ({reason})",
            f"On a machine with network access, run: hf download {repository} {files} --local-dir {folder}",
        ]
    return [
        f"{model}: {what} could not be downloaded from {repository} on the hub ({reason})",
        f"On a machine with network access, run: hf download {repository} {files}",
        f"Then copy the folder models--{repository.replace('/', '--')} from its cache (~/.cache/huggingface/hub)"
        " into the same folder on this machine.",
    ]


def parse_pretrained(pretrained: str) -> tuple[str, Path | None]:
    """Split the value of `pretrained` into a tag and a weights file.

    >>> parse_pretrained("openai")
    ('openai', None)
    """
    if not pretrained:
        return "", None
    if Path(pretrained).is_file():
        return "", Path(pretrained)
    tag, equals, file = pretrained.partition("=")
    return tag, Path(file) if equals else None


def _get_preprocessing(model: str, tag: str) -> dict[str, Any] | None:
    """Return how images are prepared for weights that come as a file.

    Args:
        model: The name of the model.
        tag: The pretrained tag of the weights, or "" if the tag is not known.

    Returns:
        The preprocessing, or None to use open_clip's default, which open_clip also uses for training.

    Raises:
        UserError: The tag is not known, and the tags of the model prescribe different preprocessing.
    """
    import open_clip

    name = model.replace("/", "-")
    tags = [tag] if tag else open_clip.list_pretrained_tags_by_model(name)
    by_values: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for known_tag in tags:
        tag_config = open_clip.get_pretrained_cfg(name, known_tag)
        values = {key: tag_config.get(key) for key in TAG_PREPROCESSING_KEYS}
        by_values.setdefault(str(values), (values, []))[1].append(known_tag)
    if len(by_values) > 1:
        kinds = [f"{', '.join(names)}: {_format_values(values)}" for values, names in by_values.values()]
        raise UserError(
            [
                f"{model}: the file does not say how images are prepared for these weights, and the pretrained"
                " tags differ",
                *kinds,
                "Name the tag of the weights: set `pretrained` to TAG=FILE.",
            ]
        )
    return next((values for values, _ in by_values.values()), None)


def _format_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def find_pretrained_conflict(model: str, pretrained: str) -> str:
    """Return what is wrong with `pretrained` for a model that brings its own weights, or ""."""
    if model.startswith((LOCAL_DIR_PREFIX, HF_HUB_PREFIX)) and pretrained:
        return f"model {model!r} brings its own weights, but `pretrained` is {pretrained!r}. Leave it empty."
    return ""


def _resolve_checkpoint(model: str, pretrained: str) -> Path:
    """Return the weights file that open_clip will load for a model. The file is downloaded if necessary."""
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
            f"hf download {repository} {CONFIG_FILE_NAME} {DEFAULT_WEIGHTS_NAME} --local-dir clip",
            f"copy the files in clip to {_get_clip_folder()} on this machine, and set `embed.model: {LOCAL_DIR_PREFIX}{_get_clip_folder()}` in params.yaml",
        )
    config, name = _get_model_config(model), model.replace("/", "-")
    if not config:
        close = difflib.get_close_matches(model, open_clip.list_models(), 5) or open_clip.list_models()[:5]
        raise UserError(
            f"model: open_clip knows no model {model!r}. Similar names: {', '.join(close)}. Also possible:"
            f" {LOCAL_DIR_PREFIX}FOLDER, {HF_HUB_PREFIX}OWNER/NAME."
        )
    tag, file = parse_pretrained(pretrained)
    if file and not tag:
        return file
    tag_config = open_clip.get_pretrained_cfg(name, tag)
    if not tag_config or (file and not file.is_file()):
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(name)) or "none"
        what = (
            f"{str(file)!r} does not exist"
            if tag_config
            else f"{tag!r} is neither a pretrained tag of the model ({tags}) nor a file"
        )
        raise UserError(f"{model}: {what}")
    if tag_config.get("quick_gelu", False) and not config.get("quick_gelu", False):
        raise UserError(
            f"pretrained: the weights {tag!r} were trained with QuickGELU and give wrong vectors in {model!r}. "
            f"Set `model` to '{model}-quickgelu'."
        )
    if file:
        return file
    command, name = _get_download_command(tag_config)
    return _download_weights(
        lambda: open_clip.download_pretrained(tag_config),
        f"{model} {tag}",
        command,
        f"copy clip/{name} to {_get_clip_folder()} on this machine, and set `embed.pretrained: {tag}={_get_clip_folder()}/{name}` in params.yaml",
    )


def _get_download_command(pretrained_config: dict[str, Any]) -> tuple[str, str]:
    """Return the command that downloads the weights of a pretrained tag into a folder `clip`, and the name of the file."""
    if hub := pretrained_config.get("hf_hub", ""):
        # "owner/name/file", or "owner/name/" for the default file.
        repository, _, file = hub.rpartition("/")
        file = file or DEFAULT_WEIGHTS_NAME
        return f"hf download {repository} {file} --local-dir clip", file
    url = pretrained_config["url"]
    file = url.rpartition("/")[2]
    return f"curl -L --create-dirs -o clip/{file} {url}", file


def _get_clip_folder() -> str:
    """Return the folder for local models of the data set in use, for messages."""
    try:
        return DatasetFolders().clip.as_posix()
    except UserError:
        return "data/NAME/clip"


def find_local_weights(folder: Path) -> Path:
    """Return the only weights file of a folder.

    Raises:
        UserError: The folder has no weights file or several, or the configuration file is missing or
            incomplete.
    """
    config = folder / CONFIG_FILE_NAME
    written = read_json(config, dict[str, Any])
    prepared = written.get("preprocess_cfg")
    wanted = {
        "model_cfg": isinstance(written.get("model_cfg"), dict),
        "preprocess_cfg with mean and std": isinstance(prepared, dict) and {"mean", "std"} <= prepared.keys(),
    }
    if missing := [f"`{name}`" for name, is_present in wanted.items() if not is_present]:
        raise UserError(f"{config}: {' and '.join(missing)} missing. Use the file as open_clip publishes it.")
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS_SUFFIXES)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise UserError(
            f"{folder}: expected one weights file ({', '.join(WEIGHTS_SUFFIXES)}), found {names}."
        )
    return files[0]


def _download_weights(fetch: Callable[[], str], what: str, command: str, advice: str) -> Path:
    """Return the path of downloaded weights.

    Args:
        fetch: Downloads them.
        what: Name of the model, for messages.
        command: Command that downloads them on another machine.
        advice: What to do with the files then.
    """
    try:
        with use_cache_if_unreachable(f"the weights of {what}"):
            return Path(fetch())
    except Exception as error:
        # Each hub client raises errors of its own. The remedy is the same for all of them.
        raise UserError(
            [
                f"{what}: the weights could not be downloaded ({_error_lines(error)[0]})",
                f"On a machine with network access, run: {command}",
                f"Then {advice}.",
                "Subsets of edited questions need no CLIP model: ingest.subsets: [pt-easy, pt-hard]",
            ]
        ) from error


def list_local_files(model: str, pretrained: str) -> list[Path]:
    """Return the local files from which a model is loaded: the folder of the model, or its weights file.

    The result is empty if the model is downloaded by its name.
    """
    if model.startswith(LOCAL_DIR_PREFIX):
        return [Path(model.removeprefix(LOCAL_DIR_PREFIX))]
    file = parse_pretrained(pretrained)[1]
    return [file] if file and file.exists() else []
