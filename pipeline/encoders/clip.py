"""Pictures and texts to unit vectors with any open_clip model. The one door to torch and open_clip (loaded late).

Where open_clip merely warns, this refuses: weights are required (its default is random ones), they must fit the
configuration to the last shape, agree with it on QuickGELU where that is known, and no text is cut silently.
"""

from __future__ import annotations

import difflib
import json
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, read_json, sha256_file

if TYPE_CHECKING:
    import torch

LOCAL, HUB = "local-dir:", "hf-hub:"  # open_clip's own prefixes of model names
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
CUT_TOLERANCE = (
    1e-5  # largest difference of any component between a text cut to its batch and at full context
)
Device = Literal["auto", "cpu", "cuda"]
Batches = Iterator[tuple[np.ndarray, np.ndarray]]


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What made the vectors. `fingerprint` depends on the weights and the configuration, on nothing else;
    `preprocessing` is open_clip's, as JSON; `weights_sha256` is of the checkpoint file."""

    model: str
    pretrained: str
    weights_sha256: str
    fingerprint: str
    preprocessing: str
    quick_gelu: bool
    dimension: int
    context_length: int
    open_clip: str
    torch: str


def load(model: str, pretrained: str = "", *, device: Device = "auto") -> Encoder:
    """Load a model with its weights, ready to encode.

    Args:
        model: a name that open_clip knows ("ViT-B-32"), "hf-hub:owner/name", or "local-dir:FOLDER" where FOLDER
            holds open_clip_config.json (as open_clip writes it) and one weights file.
        pretrained: a tag of the named model ("laion2b_s34b_b79k") or the path of a weights file; empty for the
            two prefixes, which bring their own.
        device: "auto" takes the GPU when there is one.

    Raises:
        UserError: an unknown name, tag or file, a hub out of reach, weights that do not fit, no such device.
    """
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device: cuda was asked for, but torch sees no GPU here; set it to auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    checkpoint = _checkpoint(model, pretrained)
    return Encoder(model, pretrained, checkpoint, device)


class Encoder:
    """A loaded model. All vectors have length 1 and are float32; on a CPU they depend neither on what else is in
    the batch nor on the number of threads beyond 1e-6."""

    def __init__(self, model: str, pretrained: str, checkpoint: Path, device: str) -> None:
        import open_clip
        import torch

        config, network = _fitting(model, pretrained, checkpoint)
        self._network = network.eval().requires_grad_(False).to(device)
        self._device = device
        torch.backends.cudnn.allow_tf32 = False  # otherwise a GPU's vectors are off by 1e-3
        preprocessing = open_clip.get_model_preprocess_cfg(network)
        self._transform = open_clip.image_transform(
            image_size=preprocessing["size"],
            is_train=False,
            mean=preprocessing["mean"],
            std=preprocessing["std"],
            resize_mode=preprocessing["resize_mode"],
            interpolation=preprocessing["interpolation"],
            fill_color=preprocessing["fill_color"],
        )
        self._tokenizer = open_clip.get_tokenizer(model)
        self._cut: bool | None = None  # whether cut texts give the same vectors; None until checked
        context = int(self._tokenizer([""]).shape[1])
        weights = sha256_file(checkpoint)
        self.record = ModelRecord(
            model=model,
            pretrained=pretrained,
            weights_sha256=weights,
            fingerprint=content_key(weights, json.dumps(config, sort_keys=True), str(context)),
            preprocessing=json.dumps(preprocessing, sort_keys=True),
            quick_gelu=bool(config.get("quick_gelu", False)),
            dimension=int(config["embed_dim"]),
            context_length=context,
            open_clip=version("open_clip_torch"),
            torch=version("torch"),
        )

    def pictures(self, paths: Sequence[Path | str], batch: int) -> Batches:
        """Yield (indices into `paths`, vectors [len(indices), dimension]) batch by batch.

        Raises:
            UserError: at the end, naming every picture that cannot be read; all others were yielded by then.
        """
        import torch

        problems = Problems("pictures that cannot be read")
        for start in range(0, len(paths), batch):
            indices, images = [], []
            for index in range(start, min(start + batch, len(paths))):
                try:
                    images.append(self._image(paths[index]))
                    indices.append(index)
                except (OSError, SyntaxError, ValueError) as error:  # what Pillow's decoders raise
                    problems.add(str(paths[index]), f"{error}; fetch it again or take it out of the source")
            if images:
                with torch.inference_mode():
                    rows = self._network.encode_image(torch.stack(images).to(self._device), normalize=True)
                yield np.array(indices), _checked(rows, self.record.model)
        problems.raise_if_any()

    def texts(self, texts: Sequence[str], batch: int) -> Batches:
        """Yield (indices into `texts`, vectors [len(indices), dimension]) batch by batch, short texts first.

        Each batch is cut to its longest text. Whether that changes the vectors is checked on the first batch;
        if it does (some architectures look at the padding), a warning says so and the full context is used.

        Raises:
            UserError: naming every text that is longer than the model's context, before anything is encoded.
        """
        tokens, lengths = self._tokens(texts)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(texts), batch):
            indices = order[start : start + batch]
            rows, longest = tokens[indices], int(lengths[indices[-1]])
            if self._cut is None:
                self._cut = self._cut_changes_nothing(rows[:4], int(lengths[indices[:4]].max()))
            yield indices, self._encode_tokens(rows, longest if self._cut else tokens.shape[1])

    def picture_table(self, paths: Sequence[Path | str], batch: int) -> np.ndarray:
        """Vectors float32 [len(paths), dimension] in the order of `paths`. Raises: as `pictures`."""
        return self._table(self.pictures(paths, batch), len(paths))

    def text_table(self, texts: Sequence[str], batch: int) -> np.ndarray:
        """Vectors float32 [len(texts), dimension] in the order of `texts`. Raises: as `texts`."""
        return self._table(self.texts(texts, batch), len(texts))

    def _table(self, batches: Batches, count: int) -> np.ndarray:
        rows = np.empty((count, self.record.dimension), np.float32)
        for indices, vectors in batches:
            rows[indices] = vectors
        return rows

    def _image(self, path: Path | str) -> torch.Tensor:
        from PIL import Image

        with Image.open(path) as image:
            return self._transform(image)

    def _tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Token ids int32 [n, context] and how many of them, from the left, are not padding [n]."""
        context = self.record.context_length
        tokens = np.concatenate(
            [
                self._tokenizer(list(texts[i : i + 4096])).numpy().astype(np.int32)
                for i in range(0, len(texts), 4096)
            ]
            or [np.zeros((0, context), np.int32)]
        )
        padding = np.bincount(
            self._tokenizer([""])[0].numpy()
        ).argmax()  # an empty text is padding nearly all over
        used = tokens != padding
        lengths = context - used[:, ::-1].argmax(axis=1)
        problems = Problems(f"texts longer than the model's context of {context} tokens")
        for index in np.flatnonzero(used[:, -1]):
            roomy = self._tokenizer([texts[index]], context_length=4 * context)[0].numpy()
            needed = int((roomy != padding).sum())
            if needed > used[index].sum():
                problems.add(
                    repr(texts[index]), f"{needed} tokens; shorten it or take a model with a longer context"
                )
        problems.raise_if_any()
        return tokens, lengths

    def _cut_changes_nothing(self, tokens: np.ndarray, length: int) -> bool:
        try:
            difference = np.abs(
                self._encode_tokens(tokens, length) - self._encode_tokens(tokens, tokens.shape[1])
            ).max()
            reason = f"vectors change by up to {difference:.1g}"
        except RuntimeError as error:
            difference, reason = np.inf, str(error).splitlines()[0]
        if difference > CUT_TOLERANCE:
            warnings.warn(
                f"{self.record.model}: texts cannot be cut to the longest of the batch ({reason}); "
                "encoding at full context, which is slower",
                stacklevel=4,
            )
        return bool(difference <= CUT_TOLERANCE)

    def _encode_tokens(self, tokens: np.ndarray, length: int) -> np.ndarray:
        import torch

        ids = torch.from_numpy(np.ascontiguousarray(tokens[:, :length])).long().to(self._device)
        with torch.inference_mode():
            return _checked(encode_text(self._network, ids), self.record.model)


def encode_text(network: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Unit vectors of token ids [n, length], where `length` may be less than the model's context.

    open_clip's towers add their whole positional table and mask, so for this call both are replaced by their first
    `length` rows. Gradients flow through.
    """
    import torch

    length = ids.shape[1]
    prefix, tower = ("network.text.", network.text) if hasattr(network, "text") else ("network.", network)
    shorter: dict[str, torch.Tensor] = {}
    if getattr(tower, "positional_embedding", None) is not None:
        shorter[f"{prefix}positional_embedding"] = tower.positional_embedding[:length]
    if getattr(tower, "attn_mask", None) is not None:
        shorter[f"{prefix}attn_mask"] = tower.attn_mask[:length, :length]
    return torch.func.functional_call(_text_only(network), shorter, (ids,))


def _text_only(network: torch.nn.Module) -> torch.nn.Module:
    """The model as a module that takes token ids alone (some models' own `forward` insists on a picture)."""
    import torch

    class TextOnly(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.network.encode_text(ids, normalize=True)

    return TextOnly()


def _checked(rows: torch.Tensor, model: str) -> np.ndarray:
    vectors = rows.float().cpu().numpy()
    if not np.isfinite(vectors).all():
        raise UserError(
            f"{model}: the model gives vectors that are not finite; its weights are damaged or do not fit"
        )
    return vectors


def _checkpoint(model: str, pretrained: str) -> Path:
    """The weights file that open_clip will load for this name, fetched from the hub if need be."""
    import open_clip

    if model.startswith((LOCAL, HUB)) and pretrained:
        raise UserError(
            f"model {model!r} brings its own weights; leave `pretrained` empty (got {pretrained!r})"
        )
    if model.startswith(LOCAL):
        return _local_weights(Path(model.removeprefix(LOCAL)))
    if model.startswith(HUB):
        return _fetched(
            lambda: open_clip.pretrained.download_pretrained_from_hf(model.removeprefix(HUB)), model
        )
    if open_clip.get_model_config(model.replace("/", "-")) is None:
        close = difflib.get_close_matches(model, open_clip.list_models(), 5) or open_clip.list_models()[:5]
        raise UserError(
            f"open_clip knows no model {model!r}; near it: {', '.join(close)}; or {LOCAL}FOLDER, {HUB}OWNER/NAME"
        )
    if Path(pretrained).is_file():
        return Path(pretrained)
    tag = open_clip.get_pretrained_cfg(model.replace("/", "-"), pretrained)
    if not tag:
        known = open_clip.list_pretrained_tags_by_model(model.replace("/", "-"))
        raise UserError(
            f"{model}: {pretrained!r} is neither one of its pretrained tags ({', '.join(known) or 'none'}) nor a file"
        )
    if tag.get("quick_gelu", False) and not open_clip.get_model_config(model.replace("/", "-")).get(
        "quick_gelu", False
    ):
        raise UserError(
            f"the weights {pretrained!r} were trained with QuickGELU and give wrong vectors in {model!r}; "
            f"ask for model '{model}-quickgelu'"
        )
    return _fetched(lambda: open_clip.download_pretrained(tag), f"{model} {pretrained}")


def _local_weights(folder: Path) -> Path:
    if "model_cfg" not in read_json(folder / "open_clip_config.json", dict[str, Any]):
        raise UserError(
            f"{folder / 'open_clip_config.json'}: no `model_cfg` in it; take the file as open_clip publishes it"
        )
    found = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS)
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise UserError(f"{folder}: expected one weights file ({', '.join(WEIGHTS)}), found {names}")
    return found[0]


def _fetched(fetch: Any, what: str) -> Path:
    try:
        return Path(fetch())
    except Exception as error:  # each hub client has its own kinds; whatever it is, the way out is the same
        raise UserError(
            [
                f"{what}: the weights could not be fetched ({str(error).splitlines()[0]})",
                "where there is no network, fetch them elsewhere and point `embed` at them:",
                f"either set `pretrained` to the weights file, or put it beside its open_clip_config.json and set `model: {LOCAL}FOLDER`",
            ]
        ) from error


def _fitting(model: str, pretrained: str, checkpoint: Path) -> tuple[dict[str, Any], torch.nn.Module]:
    """The configuration and the network with its weights in it, or an error that says what does not fit."""
    import open_clip

    try:
        config = open_clip.get_model_config(
            model if model.startswith((LOCAL, HUB)) else model.replace("/", "-")
        )
        network = open_clip.create_model(model, pretrained or None, precision="fp32", require_pretrained=True)
    except (
        Exception
    ) as error:  # torch, safetensors, pickle and open_clip each raise their own for a wrong file
        reasons = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise UserError(
            [f"{checkpoint}: the weights do not fit the configuration of {model}", *reasons]
        ) from error
    problems = Problems(f"{checkpoint}: the weights do not fit the configuration of {model}")
    if (
        checkpoint.suffix == ".safetensors"
    ):  # open_clip stretches positional tables of another size without a word
        from safetensors import safe_open

        wanted = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
        with safe_open(checkpoint, framework="np") as file:
            for name in file.keys():  # noqa: SIM118  (not a dict)
                came = file.get_slice(name).get_shape()
                if "positional_embedding" in name and came != wanted.get(name, came):
                    problems.add(name, f"shape {came} in the file, {wanted[name]} in the configuration")
    problems.raise_if_any()
    return config, network
