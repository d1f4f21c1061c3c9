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

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import Problems, UserError
from research.reference_models.match_net import MatchNet, NetShape, Output
from research.reference_models.model_outputs import Ask, Seen
from research.reference_models.prefetch import ahead
from research.reference_models.region_stores import RegionStore
from research.reference_models.tokenization import WordTable, cut

BATCH = 256
# Significant digits that logits and features keep, so that processors agree. Measured on 48 questions of 12 pictures of the
# sample, net rp, all vector instructions against the plain ones: logits differ by at most 7e-14 in float64 and 2e-5 in
# float32, and after rounding nowhere in float64, by up to 1e-3 in float32 (a last digit). So stage answer takes float64.
DIGITS = 5


class Asked(NamedTuple):
    """A net with its words and the names of its answers ("answerable" for a net that tells only that)."""

    net: MatchNet
    words: WordTable
    answers: tuple[str, ...]


def save_net(path: Path, asked: Asked) -> None:
    """Write a net as float16."""
    state = {name: value.half().contiguous() for name, value in asked.net.state_dict().items()}
    told = {"shape": asdict(asked.net.shape), "words": asked.words.known, "answers": asked.answers}
    with replacing(path) as file:
        file.write(save(state, {"net": json.dumps(told)}))


def load_net(path: Path, exact: bool = False) -> Asked:
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
    net = net.double() if exact else net
    return Asked(net.eval(), WordTable(tuple(told["words"])), tuple(told["answers"]))


def device_of(wanted: str) -> str:
    """cpu or cuda.

    Raises:
        UserError: a GPU is asked for and there is none.
    """
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise UserError("--device cuda: torch finds no GPU here; leave the option out, or say --device cpu")
    return "cuda" if there and wanted != "cpu" else "cpu"


def look(asked: Asked, asks: Sequence[Ask], store: RegionStore, step: float = 0.0) -> Seen:
    """Ask a net. One thread and batches of a fixed size, and figures rounded to DIGITS: the same bytes each time.

    Args:
        step: ODIN's (`stepped`); 0: no step. The whole output at the moved regions becomes `Seen.stepped`.

    Raises:
        UserError: pictures that the store does not have.
    """
    tokens = asked.words.numbers([ask.text for ask in asks])
    places = places_in(store, [ask.picture_id for ask in asks])
    with one_thread():
        return together(list(looks(asked, tokens, places, store, step)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch calculates with one thread: how sums are split changes their last bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def places_in(store: RegionStore, pictures: Sequence[str]) -> np.ndarray:
    """The places of pictures.

    Raises:
        UserError: pictures that the store does not have.
    """
    problems = Problems("pictures without regions")
    for picture in sorted(set(pictures) - store.place_of.keys()):
        problems.add(picture, "not in the store; make the regions again")
    problems.raise_if_any()
    return np.array([store.place_of[picture] for picture in pictures], int)


def looks(
    asked: Asked, tokens: np.ndarray, places: np.ndarray, store: RegionStore, step: float = 0.0
) -> Iterator[Seen]:
    """What a net sees, a batch at a time, so that memory does not grow: tokens [n, L] of the net's words, places [n] of the
    pictures."""
    regions = None if asked.net.shape.blind else store
    return (see(asked, batch, step) for batch in batches(tokens, places, regions))


def batches(
    tokens: np.ndarray, places: np.ndarray, store: RegionStore | None
) -> Iterator[tuple[np.ndarray, ...]]:
    """Words [b, L]; and where there is a store features and boxes of its p distinct pictures, and which of them each row asks
    about, [b]. Read ahead."""

    def read(start: int) -> tuple[np.ndarray, ...]:
        rows = slice(start, start + BATCH)
        words = cut(tokens[rows])
        if store is None:
            return (words,)
        distinct, picture_of = np.unique(places[rows], return_inverse=True)
        return words, *store.take(distinct), picture_of

    return (batch for _, batch in ahead(read, range(0, len(tokens), BATCH)))


def see(asked: Asked, batch: tuple[np.ndarray, ...], step: float = 0.0) -> Seen:
    """Ask a net one of `batches`, where its weights lie; what it saw lies here. Blind nets see no regions and make no step."""
    net = asked.net
    words = torch.from_numpy(batch[0]).to(net.device)
    if net.shape.blind:
        with torch.no_grad():
            return _seen(asked, net(words))
    features, boxes = (torch.from_numpy(array).to(net.device, net.mean.dtype) for array in batch[1:3])
    picture_of = torch.from_numpy(batch[3]).to(net.device)
    if not step:
        with torch.no_grad():
            return _seen(asked, net(words, features, boxes, picture_of))
    features, boxes = features[picture_of].requires_grad_(), boxes[picture_of]
    output = net(words, features, boxes)
    moved = stepped(features, output.logits, step * net.spread)
    with torch.no_grad():
        there = net(words, moved, boxes)
    return _seen(asked, output)._replace(stepped=_seen(asked, there)._replace(extra={}))


def together(parts: Sequence[Seen]) -> Seen:
    """What was seen in parts, as one; of one net, one part at least."""
    first = parts[0]
    return Seen(
        first.answers,
        np.concatenate([part.logits for part in parts]),
        np.concatenate([part.features for part in parts]),
        {name: np.concatenate([part.extra[name] for part in parts]) for name in first.extra},
        together([part.stepped for part in parts if part.stepped]) if first.stepped else None,
    )


def stepped(features: torch.Tensor, logits: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
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


def _seen(asked: Asked, output: Output) -> Seen:
    """An output, rounded."""
    logits, features = (_rounded(value.detach().cpu().numpy()) for value in (output.logits, output.features))
    extra = {name: _rounded(value.detach().cpu().numpy()) for name, value in output.extra.items()}
    return Seen(asked.answers, logits, features, extra)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Float32 with so many significant digits.

    >>> _rounded(np.array([0.123456789, 0, -98765.4321], np.float32)).tolist() == np.float32([0.12346, 0, -98765]).tolist()
    True
    """
    wide = values.astype(np.float64)
    size = np.floor(np.log10(np.maximum(np.abs(wide), 1e-30)))
    scale = 10.0 ** (DIGITS - 1 - size)
    return (np.round(wide * scale) / scale).astype(np.float32)
