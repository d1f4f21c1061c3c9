"""Nets in files, and what they make of questions.

A net's file is safetensors in float16 with all that is needed to ask it: its shape, its words, the names of its answers.
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
# Significant digits that logits and features keep, so that processors agree. Measured on 48 questions of 12 images of the
# sample, net rp, all vector instructions against the plain ones: logits differ by at most 7e-14 in float64 and 2e-5 in
# float32, and after rounding nowhere in float64, by up to 1e-3 in float32 (a last digit). So stage answer takes float64.
SIGNIFICANT_DIGITS = 5


class LoadedModel(NamedTuple):
    """A net with its words and the names of its answers ("answerable" for a net that tells only that)."""

    net: MatchNet
    vocabulary: WordVocabulary
    answers: tuple[str, ...]


def save_net(path: Path, model: LoadedModel) -> None:
    """Write a net as float16."""
    state = {name: value.half().contiguous() for name, value in model.net.state_dict().items()}
    told = {"shape": asdict(model.net.shape), "words": model.vocabulary.words, "answers": model.answers}
    with atomic_write(path) as file:
        file.write(save(state, {"net": json.dumps(told)}))


def load_net(path: Path, use_float64: bool = False) -> LoadedModel:
    """Read what `save_net` wrote. With `exact` the net calculates in float64.

    Raises:
        UserError: no such file, or not a net's.
    """
    try:
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["net"])
        net = MatchNet(NetShape(**told["shape"]))
        net.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{path}: not the file of a net ({str(error).splitlines()[0]}); train it again"
        ) from error
    net = net.double() if use_float64 else net
    return LoadedModel(net.eval(), WordVocabulary(tuple(told["words"])), tuple(told["answers"]))


def resolve_device(requested: str) -> str:
    """cpu or cuda.

    Raises:
        UserError: a GPU is asked for and there is none.
    """
    there = torch.cuda.is_available()
    if requested == "cuda" and not there:
        raise UserError("--device cuda: torch finds no GPU here; leave the option out, or say --device cpu")
    return "cuda" if there and requested != "cpu" else "cpu"


def predict(
    model: LoadedModel, queries: Sequence[VqaQuery], store: RegionStore, odin_step: float = 0.0
) -> ModelOutputs:
    """Ask a net. One thread and batches of a fixed size, and figures rounded to DIGITS: the same bytes each time.

    Args:
        step: ODIN's (`stepped`); 0: no step. The whole output at the moved regions becomes `Seen.stepped`.

    Raises:
        UserError: images that the store does not have.
    """
    tokens = model.vocabulary.encode([ask.text for ask in queries])
    places = find_image_indices(store, [ask.image_id for ask in queries])
    with single_threaded():
        return concatenate_outputs(list(iter_outputs(model, tokens, places, store, odin_step)))


@contextmanager
def single_threaded() -> Iterator[None]:
    """Torch calculates with one thread: how sums are split changes their last bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def find_image_indices(store: RegionStore, images: Sequence[str]) -> np.ndarray:
    """The places of images.

    Raises:
        UserError: images that the store does not have.
    """
    problems = Problems("images without regions")
    for image in sorted(set(images) - store.index_of.keys()):
        problems.add(image, "not in the store; make the regions again")
    problems.raise_if_any()
    return np.array([store.index_of[image] for image in images], int)


def iter_outputs(
    model: LoadedModel,
    tokens: np.ndarray,
    image_indices: np.ndarray,
    store: RegionStore,
    odin_step: float = 0.0,
) -> Iterator[ModelOutputs]:
    """What a net sees, a batch at a time, so that memory does not grow: tokens [n, L] of the net's words, places [n] of the
    images."""
    regions = None if model.net.shape.blind else store
    return (forward(model, batch, odin_step) for batch in iter_batches(tokens, image_indices, regions))


def iter_batches(
    tokens: np.ndarray, image_indices: np.ndarray, store: RegionStore | None
) -> Iterator[tuple[np.ndarray, ...]]:
    """Words [b, L]; and where there is a store features and boxes of its p distinct images, and which of them each row asks
    about, [b]. Read ahead."""

    def read(start: int) -> tuple[np.ndarray, ...]:
        rows = slice(start, start + QUERY_BATCH_SIZE)
        words = trim_padding(tokens[rows])
        if store is None:
            return (words,)
        distinct, image_of = np.unique(image_indices[rows], return_inverse=True)
        return words, *store.get_regions(distinct), image_of

    return (batch for _, batch in prefetch(read, range(0, len(tokens), QUERY_BATCH_SIZE)))


def forward(model: LoadedModel, batch: tuple[np.ndarray, ...], odin_step: float = 0.0) -> ModelOutputs:
    """Ask a net one of `batches`, where its weights lie; what it saw lies here. Blind nets see no regions and make no step."""
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
    moved = odin_perturbed(features, output.logits, odin_step * net.spread)
    with torch.no_grad():
        there = net(words, moved, boxes)
    return _to_model_outputs(model, output)._replace(
        odin_perturbed=_to_model_outputs(model, there)._replace(head_logits={})
    )


def concatenate_outputs(parts: Sequence[ModelOutputs]) -> ModelOutputs:
    """What was seen in parts, as one; of one net, one part at least."""
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
    """Regions' features after ODIN's step, given the logits that came of them: they go against the sign of the loss's gradient,
    each so far as `step` [d] says. RGQA moves all by 1e-4, of features that vary by about 1; here it is 1e-4 of a feature's
    spread, because some hardly vary, and 1e-4 would carry those out of all that the net has seen. The likeliest answer's
    target is 1 where its probability is one half or more, all else 0, as in RGQA's code (`gqa_odin`). That moves the boxes,
    too; the paper (5.1) the features alone, and so do we."""
    top = logits.detach().argmax(1, keepdim=True)
    likely = logits.detach().gather(1, top) >= 0
    target = torch.zeros_like(logits).scatter(1, top, likely.to(logits.dtype))
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="sum")
    (slope,) = torch.autograd.grad(loss, (features,))
    return (features - step * slope.sign()).detach()


def _to_model_outputs(asked: LoadedModel, output: Output) -> ModelOutputs:
    """An output, rounded."""
    logits, features = (
        _round_significant(value.detach().cpu().numpy()) for value in (output.logits, output.features)
    )
    extra = {
        name: _round_significant(value.detach().cpu().numpy()) for name, value in output.head_logits.items()
    }
    return ModelOutputs(asked.answers, logits, features, extra)


def _round_significant(values: np.ndarray) -> np.ndarray:
    """Float32 with so many significant digits.

    >>> _rounded(np.array([0.123456789, 0, -98765.4321], np.float32)).tolist() == np.float32([0.12346, 0, -98765]).tolist()
    True
    """
    wide = values.astype(np.float64)
    size = np.floor(np.log10(np.maximum(np.abs(wide), 1e-30)))
    scale = 10.0 ** (SIGNIFICANT_DIGITS - 1 - size)
    return (np.round(wide * scale) / scale).astype(np.float32)
