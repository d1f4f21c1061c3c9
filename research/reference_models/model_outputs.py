"""What is asked of a net and what it saw, and the file that holds both. Detectors and selection functions know no more of
a net than this.

The file is safetensors: `asks` and `answers` (JSON in UTF-8, as bytes), `logits`, `features`, `extra.NAME` for each head,
`stepped.logits` and `stepped.features`. The same content gives the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from pipeline.core.atomic_files import opened, replacing
from pipeline.core.errors import Problems, UserError, counted

EXTRA, STEPPED = "extra.", "stepped."
# Logits of further heads: higher is "answerable", but for `k_plus_1`, which is the logit of the answer "unanswerable".
# `separated` and `caption_match` are other nets' and stand beside the answers of the net that answers.
HEADS = ("branch", "multi_branch", "separated", "k_plus_1", "caption_match")


class Ask(NamedTuple):
    """A question of a picture. Several items of a release may ask the same; a net is asked once."""

    picture_id: str
    text: str


class Seen(NamedTuple):
    """What a net makes of n asks.

    Attributes:
        answers: the names of the K answers.
        logits: [n, K] float32. The nets are trained by binary cross-entropy, each answer for itself: sigmoid(logit) is the
            probability that this answer is right, and all K may be low.
        features: [n, d] float32, what goes into the classifier.
        extra: [n] float32 each, by a name of `HEADS`: logits of heads beside the answers, of the nets that have them.
        stepped: the same after ODIN's step on the regions (`detectors.odin`), logits and features; None where no step was made.
    """

    answers: tuple[str, ...]
    logits: np.ndarray
    features: np.ndarray
    extra: Mapping[str, np.ndarray] = MappingProxyType({})
    stepped: Seen | None = None


def write_seen(path: Path, asks: Sequence[Ask], seen: Seen) -> None:
    """Write what a net made of these asks.

    Raises:
        UserError: shapes that do not fit together, values that are not finite, an ask or an answer that is there twice.
    """
    from safetensors.numpy import save

    _check(path, asks, seen)
    tensors = {"asks": _bytes(asks), "answers": _bytes(seen.answers), **_arrays(seen)}
    with replacing(path) as file:
        file.write(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def read_seen(path: Path) -> tuple[list[Ask], Seen]:
    """Read what `write_seen` wrote: the asks in their order, and what the net made of them.

    Raises:
        UserError: no such file, or not one of these; says all that is wrong.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with opened(path) as file:
            tensors = load(file.read())
        asks = msgspec.json.decode(tensors.pop("asks").tobytes(), type=list[Ask])
        answers = tuple(msgspec.json.decode(tensors.pop("answers").tobytes(), type=list[str]))
        logits, features = tensors.pop("logits"), tensors.pop("features")
    except (SafetensorError, KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not what a net saw ({error}); let the net answer again") from error
    stepped = None
    if f"{STEPPED}logits" in tensors and f"{STEPPED}features" in tensors:
        stepped = Seen(answers, tensors.pop(f"{STEPPED}logits"), tensors.pop(f"{STEPPED}features"))
    extra = {name.removeprefix(EXTRA): array for name, array in tensors.items()}
    seen = Seen(answers, logits, features, extra, stepped)
    _check(path, asks, seen)
    return asks, seen


def _bytes(value: Any) -> np.ndarray:
    return np.frombuffer(msgspec.json.encode(value), np.uint8)


def _arrays(seen: Seen) -> dict[str, np.ndarray]:
    """The arrays of `seen` by their names in the file."""
    arrays = {"logits": seen.logits, "features": seen.features}
    arrays |= {f"{EXTRA}{name}": array for name, array in seen.extra.items()}
    if seen.stepped is not None:
        arrays |= {f"{STEPPED}{name}": array for name, array in _arrays(seen.stepped).items()}
    return arrays


def _check(path: Path, asks: Sequence[Ask], seen: Seen) -> None:
    problems = Problems(f"{path}: not what a net saw")
    for name, array in _arrays(seen).items():
        if name not in _shapes(asks, seen):
            problems.add(name, f"unknown here; the heads are {', '.join(HEADS)}")
        elif array.dtype != np.float32 or not _fits(array.shape, _shapes(asks, seen)[name]):
            wanted = str(_shapes(asks, seen)[name]).replace("None", "any")
            problems.add(name, f"{array.dtype} {array.shape}, wanted float32 {wanted}")
        elif wrong := int(np.count_nonzero(~np.isfinite(array))):
            problems.add(
                name, f"{counted(wrong, 'value is', 'values are')} not finite; the net's training went wrong"
            )
    for what, values in (("asks", asks), ("answers", seen.answers)):
        for value, times in _repeated(values):
            problems.add(what, f"{value!r} is there {times} times")
    if not seen.answers:
        problems.add("answers", "none")
    problems.raise_if_any()


def _shapes(asks: Sequence[Ask], seen: Seen) -> dict[str, tuple[int | None, ...]]:
    """The shape that each array may have; None where any length will do."""
    n = len(asks)
    shapes: dict[str, tuple[int | None, ...]] = {"logits": (n, len(seen.answers)), "features": (n, None)}
    shapes |= {f"{EXTRA}{name}": (n,) for name in HEADS}
    return shapes | {
        f"{STEPPED}logits": shapes["logits"],
        f"{STEPPED}features": seen.features.shape,  # the same net, so as many features
    }


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(b in (None, a) for a, b in zip(shape, wanted, strict=True))


def _repeated(values: Iterable[Any]) -> list[tuple[Any, int]]:
    return [(value, times) for value, times in Counter(values).items() if times > 1]
