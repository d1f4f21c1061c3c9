"""Encode images and texts as unit vectors with any open_clip model.

This module and `weights` are the only modules of the pipeline that import open_clip. They import open_clip and
torch on first use. open_clip truncates long texts silently. `Encoder` reports long texts instead.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np

from pipeline.candidates.encoders.weights import (
    CONFIG_FILE_NAME,
    LOCAL_DIR_PREFIX,
    find_local_weights,
    load_pretrained_model,
    load_tokenizer,
)
from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.images import load_rgb
from pipeline.core.json_files import content_hash, read_json
from pipeline.core.parallel import num_model_replicas, ordered_map
from pipeline.core.records import Record

if TYPE_CHECKING:
    import torch
    from PIL import Image

# Maximum difference of any component between two vectors of the same text: with the padding truncated, and at
# full context.
TRUNCATION_TOLERANCE = 1e-5
# All keys of open_clip's preprocessing configuration.
PREPROCESSING_KEYS = {
    "size",
    "mode",
    "mean",
    "std",
    "interpolation",
    "resize_mode",
    "fill_color",
}
# Number of texts that are tokenized at once.
TOKENIZER_CHUNK_SIZE = 4096
Device = Literal["auto", "cpu", "cuda"]
Batch = TypeVar("Batch")
Encoded = TypeVar("Encoded")
# Pairs of indices into the input, and vectors float32 [len(indices), dimension].
EmbeddingBatches = Iterator[tuple[np.ndarray, np.ndarray]]


class ModelRecord(Record):
    """The model that made a set of vectors.

    Attributes:
        model, pretrained: The names of the model and its weights, as in `Encoder`.
        weights_sha256: SHA-256 of the checkpoint file.
        fingerprint: Hash of the weights, the configuration and the context length, and of nothing else.
        preprocessing: The preprocessing configuration of open_clip, as JSON.
        quick_gelu: Whether the model uses QuickGELU.
        dimension: Length of the vectors.
        context_length: Maximum number of tokens of a text.
        open_clip, torch: Versions of the libraries.
    """

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


def _make_model_record(
    model: str,
    pretrained: str,
    config: dict[str, Any],
    checkpoint: Path,
    preprocessing: dict[str, Any],
    context: int,
) -> ModelRecord:
    sha256 = sha256_file(checkpoint)
    return ModelRecord(
        model=model,
        pretrained=pretrained,
        weights_sha256=sha256,
        fingerprint=content_hash(sha256, json.dumps(config, sort_keys=True), str(context)),
        preprocessing=json.dumps(preprocessing, sort_keys=True),
        quick_gelu=bool(config.get("quick_gelu", False)),
        dimension=int(config["embed_dim"]),
        context_length=context,
        open_clip=version("open_clip_torch"),
        torch=version("torch"),
    )


def read_model_record(model: str, pretrained: str = "") -> ModelRecord | None:
    """Return the `record` that an `Encoder` of this model would have, without loading the model.

    This is possible only for a local folder whose configuration states all values. Otherwise open_clip would
    fill in missing values.

    Returns:
        The record, or None if the model is not a local folder, or if the folder is incomplete or invalid.
        `Encoder` reports such a fault.
    """
    folder = Path(model.removeprefix(LOCAL_DIR_PREFIX))
    if not model.startswith(LOCAL_DIR_PREFIX) or pretrained or not (folder / CONFIG_FILE_NAME).is_file():
        return None
    try:
        checkpoint, written = find_local_weights(folder), read_json(folder / CONFIG_FILE_NAME, dict[str, Any])
        config, preprocessing = written["model_cfg"], written["preprocess_cfg"]
        size, text = config["vision_cfg"]["image_size"], config["text_cfg"]
        is_complete = (
            set(preprocessing) == PREPROCESSING_KEYS and preprocessing["size"] == size and len(size) == 2
        )
        if not is_complete or any(key.startswith(("hf_", "tokenizer")) for key in text):
            return None
        return _make_model_record(
            model, pretrained, config, checkpoint, preprocessing, int(text["context_length"])
        )
    except (KeyError, TypeError, ValueError, UserError):
        # `Encoder` reports the fault when it loads the folder.
        return None


class Encoder:
    """An open_clip model with its weights, ready to encode.

    All vectors have length 1 and are float32. On a CPU they are computed in double precision, which can take
    twice as long. With double precision, the batch size, the number of threads and the type of processor do
    not change the bytes of the vectors.

    Args:
        model: A name that open_clip knows ("ViT-B-32"), "hf-hub:OWNER/NAME", or "local-dir:FOLDER". FOLDER
            holds open_clip_config.json, as open_clip writes it, and one weights file.
        pretrained: A pretrained tag of the named model ("laion2b_s34b_b79k"), the path of a weights file, or
            TAG=FILE for a file with the weights of a tag. Leave it empty for "hf-hub:" and "local-dir:",
            whose models bring their own weights. Images are prepared as the tag prescribes. For a file
            without a tag, all tags of the model must prescribe the same preprocessing.
        device: "auto" uses a GPU if there is one.

    Raises:
        UserError: The name, tag or file is not known, the hub cannot be reached, the weights do not fit, or
            the device is missing.
    """

    def __init__(self, model: str, pretrained: str = "", *, device: Device = "auto") -> None:
        import open_clip
        import torch
        from open_clip.transform import PreprocessCfg, image_transform_v2

        gpu = torch.cuda.is_available()
        if device == "cuda" and not gpu:
            raise UserError(
                "device: cuda is not available, because torch finds no GPU. Set device to auto or cpu."
            )
        self._requested_device: Device = device
        self._device = "cuda" if gpu and device != "cpu" else "cpu"
        network, config, checkpoint = load_pretrained_model(model, pretrained)
        # TF32 would change the vectors of a GPU by 1e-3.
        torch.backends.cudnn.allow_tf32 = False
        # Double precision has twice as many digits as the stored numbers. Other processors may add numbers in
        # a different order, but the sums then round to the same float32 numbers.
        self._dtype = torch.float32 if self._device == "cuda" else torch.float64
        self._network = network.eval().requires_grad_(False).to(self._device, self._dtype)
        preprocessing = open_clip.get_model_preprocess_cfg(network)
        transform = image_transform_v2(PreprocessCfg(**preprocessing), is_train=False)
        # open_clip returns a tuple of transforms only for training.
        self._transform = cast("Callable[[Image.Image], torch.Tensor]", transform)
        self._tokenizer = load_tokenizer(model)
        context = int(self._tokenizer([""]).shape[1])
        self._text_tower: Any = getattr(self._network, "text", self._network)
        positions = getattr(self._text_tower, "positional_embedding", None)
        self._positional_embedding = None if positions is None else positions.data
        # The text tower of CoCa has one more position after the positions of the text.
        self._num_extra_positions = 0 if positions is None else len(positions) - context
        self._attention_mask: torch.Tensor | None = getattr(self._text_tower, "attn_mask", None)
        # Whether the padding of texts can be truncated without changing the vectors. None until the first
        # batch has been checked.
        self._can_truncate: bool | None = None
        self.record = _make_model_record(model, pretrained, config, checkpoint, preprocessing, context)

    def encode_images(self, paths: Sequence[Path | str], batch_size: int) -> EmbeddingBatches:
        """Encode image files batch by batch.

        Yields:
            Indices into `paths`, and vectors float32 [len(indices), dimension].

        Raises:
            UserError: Some images cannot be read. The error is raised after all other images have been
                yielded, and lists all images that cannot be read.
        """
        problems, starts = Problems("images that cannot be read"), range(0, len(paths), batch_size)
        batches = (list(map(str, paths[start : start + batch_size])) for start in starts)
        results = self._map_in_parallel(Encoder._encode_image_batch, batches, len(starts))
        for start, (vectors, faults) in zip(starts, results, strict=True):
            for position, error in faults.items():
                what = f"{error}. Download it again or remove it from the source."
                problems.add(str(paths[start + position]), what)
            if len(vectors):
                read = [i for i in range(len(vectors) + len(faults)) if i not in faults]
                yield start + np.array(read), vectors
        problems.raise_if_any()

    def encode_texts(
        self, texts: Sequence[str], batch_size: int, *, skip_long: bool = False
    ) -> EmbeddingBatches:
        """Encode texts batch by batch, short texts first.

        Each batch is truncated to the length of its longest text. The first texts are also encoded at full
        context, to check that truncation does not change the vectors. In architectures that attend to the
        padding, truncation changes the vectors. Then the full context is used, with a warning.

        Args:
            texts: The texts.
            batch_size: The number of texts per batch.
            skip_long: Whether to skip the texts that are longer than the model's context.

        Yields:
            Indices into `texts`, and vectors float32 [len(indices), dimension].

        Raises:
            UserError: Some texts are longer than the model's context, and `skip_long` is false. The error is
                raised before anything is encoded, and lists all such texts.
        """
        tokens, lengths, too_long = self._tokenize(texts)
        if not skip_long:
            problems = Problems(f"texts longer than the model's context of {tokens.shape[1]} tokens")
            for index, needed in too_long.items():
                what = f"{format_count(needed, 'token')}. Shorten it or use a model with a longer context."
                problems.add(repr(texts[index]), what)
            problems.raise_if_any()
        order = np.argsort(lengths, kind="stable")
        order = order[~np.isin(order, list(too_long))]
        batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        if batches and self._can_truncate is None:
            first = batches[0][:4]
            self._can_truncate = self._is_truncation_safe(tokens[first], int(lengths[first].max()))
        rows = (
            tokens[indices][:, : int(lengths[indices[-1]]) if self._can_truncate else None]
            for indices in batches
        )
        yield from zip(
            batches, self._map_in_parallel(Encoder._encode_token_batch, rows, len(batches)), strict=True
        )

    def stack_batches(self, batches: EmbeddingBatches, count: int) -> np.ndarray:
        """Return all vectors of `encode_images` or `encode_texts` in the order of the input.

        Args:
            batches: The batches. Together they have a vector for every input.
            count: The number of inputs.

        Returns:
            Vectors, float32 [count, dimension].
        """
        rows = np.empty((count, self.record.dimension), np.float32)
        for indices, vectors in batches:
            rows[indices] = vectors
        return rows

    def _map_in_parallel(
        self, work: Callable[[Encoder, Batch], Encoded], batches: Iterable[Batch], count: int
    ) -> Iterator[Encoded]:
        """Apply `work` to each batch and yield the results in order.

        The work is done with this model, or with copies of this model on a cluster.
        """
        copies, gpu_fraction = num_model_replicas(count, use_gpu=self._requested_device != "cpu")
        is_local = copies == 1 and not gpu_fraction
        set_up = partial(Encoder, self.record.model, self.record.pretrained, device=self._requested_device)
        return ordered_map(
            work, batches, (lambda: self) if is_local else set_up, copies, 1, gpus_per_worker=gpu_fraction
        )

    def _encode_image_batch(self, paths: Sequence[str]) -> tuple[np.ndarray, dict[int, str]]:
        """Return the vectors of a batch's readable images, and position -> error for the other images."""
        import torch

        images, faults = [], {}
        for position, path in enumerate(paths):
            try:
                images.append(self._transform(load_rgb(path)))
            except (OSError, ValueError) as error:
                faults[position] = str(error)
        if not images:
            return np.empty((0, self.record.dimension), np.float32), faults
        pixels = torch.stack(images).to(self._device, self._dtype)
        with torch.inference_mode():
            return self._to_finite_array(self._network.encode_image(pixels, normalize=True)), faults

    def _tokenize(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
        """Tokenize texts.

        Returns:
            The token ids, int32 [n, context], the lengths without padding, [n], and index -> number of tokens
            for each text that does not fit into the context.
        """
        context = self.record.context_length
        tokens = np.empty((len(texts), context), np.int32)
        for start in range(0, len(texts), TOKENIZER_CHUNK_SIZE):
            tokens[start : start + TOKENIZER_CHUNK_SIZE] = self._tokenizer(
                list(texts[start : start + TOKENIZER_CHUNK_SIZE])
            ).numpy()
        # An empty text consists almost entirely of padding.
        padding = np.bincount(self._tokenizer([""])[0].numpy()).argmax()
        used = tokens != padding
        lengths = context - used[:, ::-1].argmax(axis=1)
        too_long = {}
        for index in map(int, np.flatnonzero(used[:, -1])):
            full = self._tokenizer([texts[index]], context_length=4 * context)[0].numpy()
            needed = int((full != padding).sum())
            if needed > used[index].sum():
                too_long[index] = needed
        return tokens, lengths, too_long

    def _is_truncation_safe(self, tokens: np.ndarray, length: int) -> bool:
        try:
            difference = np.abs(
                self._encode_token_batch(tokens[:, :length]) - self._encode_token_batch(tokens)
            ).max()
            reason = f"vectors change by up to {difference:.1g}"
        except RuntimeError as error:
            difference, reason = np.inf, str(error).splitlines()[0]
        if difference > TRUNCATION_TOLERANCE:
            warnings.warn(
                f"{self.record.model}: texts cannot be truncated to the longest of their batch ({reason}). "
                "They are encoded at full context, which is slower.",
                stacklevel=4,
            )
        return bool(difference <= TRUNCATION_TOLERANCE)

    def _encode_token_batch(self, tokens: np.ndarray) -> np.ndarray:
        import torch

        ids = torch.from_numpy(np.ascontiguousarray(tokens)).long().to(self._device)
        length = ids.shape[1] + self._num_extra_positions
        # The text towers of open_clip add their whole table of positions and their whole mask. So both are
        # truncated to the same length.
        if self._positional_embedding is not None:
            self._text_tower.positional_embedding.data = self._positional_embedding[:length]
        if self._attention_mask is not None:
            self._text_tower.attn_mask = self._attention_mask[:length, :length]
        with torch.inference_mode():
            return self._to_finite_array(self._network.encode_text(ids, normalize=True))

    def _to_finite_array(self, rows: torch.Tensor) -> np.ndarray:
        vectors = rows.float().cpu().numpy()
        if not np.isfinite(vectors).all():
            raise UserError(
                f"{self.record.model}: the model returns vectors that are not finite. Its weights are damaged or do"
                " not fit."
            )
        return vectors
