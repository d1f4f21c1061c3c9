"""Save and load nets, and run them on questions.

The file of a net is a safetensors file in float16. Its metadata are the sizes of the net, the vocabulary and
the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch.nn import functional

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import Problems, UserError
from research.reference_models.match_net import MatchNet, NetShape, Output
from research.reference_models.model_outputs import ModelOutputs, VqaQuery
from research.reference_models.prefetch import prefetch
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import WordVocabulary, trim_padding

QUERY_BATCH_SIZE = 256
# Number of significant digits of logits and features. Rounding makes the results of different processors equal. This was measured with
# net rp on 48 questions about 12 images of the sample, with and without vector instructions: logits differ by at most 7e-14 in float64 and
# 2e-5 in float32. After rounding, logits are equal in float64, but differ by up to 1e-3 (the last digit) in float32. Therefore stage
# `answer` uses float64.
SIGNIFICANT_DIGITS = 5


class LoadedModel(NamedTuple):
    """A net with its vocabulary and its answers.

    A net with a single output has only the answer "answerable".
    """

    net: MatchNet
    vocabulary: WordVocabulary
    answers: tuple[str, ...]


def save_net(path: Path, model: LoadedModel) -> None:
    """Write a net as float16."""
    state = {name: value.half().contiguous() for name, value in model.net.state_dict().items()}
    metadata = {"shape": asdict(model.net.shape), "words": model.vocabulary.words, "answers": model.answers}
    with atomic_write(path) as file:
        file.write(save(state, {"net": json.dumps(metadata)}))


def load_net(path: Path, use_float64: bool = False) -> LoadedModel:
    """Read a net.

    Args:
        path: A file that `save_net` wrote.
        use_float64: Whether the net computes in float64 instead of float32.

    Raises:
        UserError: The file cannot be read, or does not contain a net.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = json.loads(file.metadata()["net"])
        net = MatchNet(NetShape(**metadata["shape"]))
        net.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{path}: not the file of a net ({str(error).splitlines()[0]}); train it again"
        ) from error
    net = net.double() if use_float64 else net
    return LoadedModel(net.eval(), WordVocabulary(tuple(metadata["words"])), tuple(metadata["answers"]))


def resolve_device(requested: str) -> str:
    """Return the device, "cpu" or "cuda", for the option "auto", "cpu" or "cuda".

    Raises:
        UserError: "cuda" is requested and there is no GPU.
    """
    has_gpu = torch.cuda.is_available()
    if requested == "cuda" and not has_gpu:
        raise UserError("--device cuda: torch finds no GPU; omit the option, or use --device cpu")
    return "cuda" if has_gpu and requested != "cpu" else "cpu"


def predict(
    model: LoadedModel, queries: Sequence[VqaQuery], store: RegionStore, odin_step: float = 0.0
) -> ModelOutputs:
    """Return the outputs of a net for queries.

    The result is reproducible to the bit, because it is computed by one thread in batches of a fixed size,
    and rounded to `SIGNIFICANT_DIGITS`.

    Args:
        model: The net.
        queries: The questions.
        store: Regions of their images.
        odin_step: Size of ODIN's step on the features; 0 for no step. The outputs after the step are stored
            in `ModelOutputs.odin_perturbed`.

    Raises:
        UserError: The store has no regions of an image.
    """
    tokens = model.vocabulary.encode([query.text for query in queries])
    image_indices = find_image_indices(store, [query.image_id for query in queries])
    with single_threaded():
        return concatenate_outputs(list(iter_outputs(model, tokens, image_indices, store, odin_step)))


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let torch use one thread within the context, because the number of threads changes the last bits of
    sums.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def find_image_indices(store: RegionStore, images: Sequence[str]) -> np.ndarray:
    """Return the indices of images in a store.

    Raises:
        UserError: The store does not have an image. All missing images are listed.
    """
    problems = Problems("images without regions")
    for image in sorted(set(images) - store.index_of.keys()):
        problems.add(image, "not in the store; extract the regions again")
    problems.raise_if_any()
    return np.array([store.index_of[image] for image in images], int)


def iter_outputs(
    model: LoadedModel,
    tokens: np.ndarray,
    image_indices: np.ndarray,
    store: RegionStore,
    odin_step: float = 0.0,
) -> Iterator[ModelOutputs]:
    """Yield the outputs of a net batch by batch, so that memory does not grow.

    Args:
        model: The net.
        tokens: Token ids [n, L] of the questions.
        image_indices: Indices [n] of their images in the store.
        store: Regions of the images.
        odin_step: Size of ODIN's step; 0 for no step.
    """
    regions = None if model.net.shape.blind else store
    return (forward(model, batch, odin_step) for batch in iter_batches(tokens, image_indices, regions))


def iter_batches(
    tokens: np.ndarray, image_indices: np.ndarray, store: RegionStore | None
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield batches of b questions.

    A batch has the token ids [b, L]. If there is a store, a batch also has the features and boxes of the p
    distinct images in the batch, and the index of the image of each question, [b]. Meanwhile another thread
    reads the next batches.
    """

    def read(start: int) -> tuple[np.ndarray, ...]:
        rows = slice(start, start + QUERY_BATCH_SIZE)
        words = trim_padding(tokens[rows])
        if store is None:
            return (words,)
        distinct, image_of = np.unique(image_indices[rows], return_inverse=True)
        return words, *store.get_regions(distinct), image_of

    return (batch for _, batch in prefetch(read, range(0, len(tokens), QUERY_BATCH_SIZE)))


def forward(model: LoadedModel, batch: tuple[np.ndarray, ...], odin_step: float = 0.0) -> ModelOutputs:
    """Run a net, on its device, on a batch of `iter_batches`.

    Text-only nets have no regions and no ODIN step.
    """
    net = model.net
    words = torch.from_numpy(batch[0]).to(net.device)
    if net.shape.blind:
        with torch.no_grad():
            return _to_model_outputs(model, net(words))
    features, boxes = (torch.from_numpy(array).to(net.device, net.mean.dtype) for array in batch[1:3])
    image_of = torch.from_numpy(batch[3]).to(net.device)
    if not odin_step:
        with torch.no_grad():
            return _to_model_outputs(model, net(words, features, boxes, image_of))
    features, boxes = features[image_of].requires_grad_(), boxes[image_of]
    output = net(words, features, boxes)
    perturbed = odin_perturbed(features, output.logits, odin_step * net.spread)
    with torch.no_grad():
        perturbed_output = net(words, perturbed, boxes)
    return _to_model_outputs(model, output)._replace(
        odin_perturbed=_to_model_outputs(model, perturbed_output)._replace(head_logits={})
    )


def concatenate_outputs(parts: Sequence[ModelOutputs]) -> ModelOutputs:
    """Concatenate several outputs of the same net. `parts` must not be empty."""
    first = parts[0]
    return ModelOutputs(
        first.answers,
        np.concatenate([part.logits for part in parts]),
        np.concatenate([part.features for part in parts]),
        {name: np.concatenate([part.head_logits[name] for part in parts]) for name in first.head_logits},
        concatenate_outputs([part.odin_perturbed for part in parts if part.odin_perturbed])
        if first.odin_perturbed
        else None,
    )


def odin_perturbed(features: torch.Tensor, logits: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """Return the features of regions after ODIN's step, which is against the sign of the gradient of the
    loss.

    As in RGQA's code (`gqa_odin`), the target of the most likely answer is 1 if its probability is at least
    one half, and all other targets are 0. RGQA's code also perturbs the boxes. RGQA's paper (section 5.1) and
    this function perturb only the features.

    Args:
        features: Features [b, M, d], with gradient.
        logits: Logits [b, K], computed from `features`.
        step: Size of the step for each feature, [d]. RGQA uses 1e-4 for features whose standard deviation is
            about 1. Callers use 1e-4 of the standard deviation of each feature, because some features hardly
            vary.
    """
    top = logits.detach().argmax(1, keepdim=True)
    likely = logits.detach().gather(1, top) >= 0
    target = torch.zeros_like(logits).scatter(1, top, likely.to(logits.dtype))
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, (features,))
    return (features - step * gradient.sign()).detach()


def _to_model_outputs(model: LoadedModel, output: Output) -> ModelOutputs:
    logits, features = (
        _round_significant(value.detach().cpu().numpy()) for value in (output.logits, output.features)
    )
    head_logits = {
        name: _round_significant(value.detach().cpu().numpy()) for name, value in output.head_logits.items()
    }
    return ModelOutputs(model.answers, logits, features, head_logits)


def _round_significant(values: np.ndarray) -> np.ndarray:
    """Round values to `SIGNIFICANT_DIGITS`. The result is float32.

    >>> rounded = _round_significant(np.array([0.123456789, 0, -98765.4321], np.float32))
    >>> rounded.tolist() == np.float32([0.12346, 0, -98765]).tolist()
    True
    """
    wide = values.astype(np.float64)
    exponent = np.floor(np.log10(np.maximum(np.abs(wide), 1e-30)))
    scale = 10.0 ** (SIGNIFICANT_DIGITS - 1 - exponent)
    return (np.round(wide * scale) / scale).astype(np.float32)
