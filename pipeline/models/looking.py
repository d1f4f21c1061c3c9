"""Nets in files, and what they make of questions.

A net's file is safetensors in float16 with all that is needed to ask it: its shape, its words, the names of its answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch.nn import functional

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import replacing
from pipeline.models.match_net import MatchNet, NetShape, Output
from pipeline.models.protocol import Ask, Seen
from pipeline.models.question_texts import WordTable
from pipeline.models.region_store import RegionStore

BATCH = 256
DIGITS = 5  # significant digits that logits and features keep, so that processors agree


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


def load_net(path: Path) -> Asked:
    """Read what `save_net` wrote.

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
    return Asked(net.eval(), WordTable(tuple(told["words"])), tuple(told["answers"]))


def look(asked: Asked, asks: Sequence[Ask], store: RegionStore, step: float = 0.0) -> Seen:
    """Ask a net. One thread and batches of a fixed size, and figures rounded to DIGITS: the same bytes each time.

    Args:
        step: ODIN's: how far regions and boxes go down the gradient of the loss (RGQA's code: 1e-4); 0: no step. The whole
            output at the moved regions becomes `Seen.stepped`.

    Raises:
        UserError: pictures that the store does not have.
    """
    problems = Problems("pictures without regions")
    for picture in sorted({ask.picture_id for ask in asks} - store.place_of.keys()):
        problems.add(picture, "not in the store; make the regions again")
    problems.raise_if_any()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _look(asked, asks, store, step)
    finally:
        torch.set_num_threads(threads)


def _look(asked: Asked, asks: Sequence[Ask], store: RegionStore, step: float) -> Seen:
    tokens = asked.words.numbers([ask.text for ask in asks])
    places = np.array([store.place_of[ask.picture_id] for ask in asks], int)
    plain, moved = [], []
    for start in range(0, len(asks), BATCH):
        words = torch.from_numpy(tokens[start : start + BATCH])
        if asked.net.shape.blind:
            with torch.no_grad():
                plain.append(asked.net(words))
            continue
        regions = tuple(map(torch.from_numpy, store.take(places[start : start + BATCH])))
        with torch.no_grad():
            plain.append(asked.net(words, *regions))
        if step:
            features, boxes = stepped(asked.net, words, regions[0], regions[1], step)
            with torch.no_grad():
                moved.append(asked.net(words, features, boxes))
    seen = _seen(asked, plain)
    return seen._replace(stepped=_seen(asked, moved)._replace(extra={})) if moved else seen


def stepped(
    net: MatchNet, words: torch.Tensor, features: torch.Tensor, boxes: torch.Tensor, step: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """ODIN's step as RGQA's code has it (`gqa_odin`): the likeliest answer's target is 1 where its probability is one half or
    more, all else 0; regions and boxes go against the sign of the loss's gradient."""
    features, boxes = features.clone().requires_grad_(), boxes.clone().requires_grad_()
    logits = net(words, features, boxes).logits
    top = logits.detach().argmax(1, keepdim=True)
    target = torch.zeros_like(logits).scatter(1, top, (logits.detach().gather(1, top) >= 0).float())
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="sum")
    grads = torch.autograd.grad(loss, (features, boxes))
    return tuple(
        (value - step * grad.sign()).detach() for value, grad in zip((features, boxes), grads, strict=True)
    )  # pyright: ignore[reportReturnType]


def _seen(asked: Asked, outputs: Sequence[Output]) -> Seen:
    """Outputs of all batches in one, rounded."""
    logits = np.concatenate([output.logits.numpy() for output in outputs])
    features = np.concatenate([output.features.numpy() for output in outputs])
    heads = outputs[0].extra
    extra = {
        name: _rounded(np.concatenate([output.extra[name].numpy() for output in outputs])) for name in heads
    }
    return Seen(asked.answers, _rounded(logits), _rounded(features), extra)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Float32 with so many significant digits.

    >>> _rounded(np.array([0.123456789, 0, -98765.4321], np.float32)).tolist() == np.float32([0.12346, 0, -98765]).tolist()
    True
    """
    wide = values.astype(np.float64)
    size = np.floor(np.log10(np.maximum(np.abs(wide), 1e-30)))
    scale = 10.0 ** (DIGITS - 1 - size)
    return (np.round(wide * scale) / scale).astype(np.float32)
