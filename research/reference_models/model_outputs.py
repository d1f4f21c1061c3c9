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

from pipeline.core.atomic_files import atomic_write, open_for_reading
from pipeline.core.errors import Problems, UserError, format_count

HEAD_PREFIX, ODIN_PREFIX = "extra.", "stepped."
# Logits of further heads: higher is "answerable", but for `k_plus_1`, which is the logit of the answer "unanswerable".
# `separated` and `caption_match` are other nets' and stand beside the answers of the net that answers.
HEAD_NAMES = ("branch", "multi_branch", "separated", "k_plus_1", "caption_match")


class VqaQuery(NamedTuple):
    """A question of an image. Several items of a release may ask the same; a net is asked once."""

    image_id: str
    text: str


class ModelOutputs(NamedTuple):
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
    head_logits: Mapping[str, np.ndarray] = MappingProxyType({})
    odin_perturbed: ModelOutputs | None = None


def write_outputs(path: Path, queries: Sequence[VqaQuery], outputs: ModelOutputs) -> None:
    """Write what a net made of these asks.

    Raises:
        UserError: shapes that do not fit together, values that are not finite, an ask or an answer that is there twice.
    """
    from safetensors.numpy import save

    _validate_outputs(path, queries, outputs)
    tensors = {
        "asks": _encode_json(queries),
        "answers": _encode_json(outputs.answers),
        **_collect_arrays(outputs),
    }
    with atomic_write(path) as file:
        file.write(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def read_outputs(path: Path) -> tuple[list[VqaQuery], ModelOutputs]:
    """Read what `write_seen` wrote: the asks in their order, and what the net made of them.

    Raises:
        UserError: no such file, or not one of these; says all that is wrong.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_for_reading(path) as file:
            tensors = load(file.read())
        asks = msgspec.json.decode(tensors.pop("asks").tobytes(), type=list[VqaQuery])
        answers = tuple(msgspec.json.decode(tensors.pop("answers").tobytes(), type=list[str]))
        logits, features = tensors.pop("logits"), tensors.pop("features")
    except (SafetensorError, KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not what a net saw ({error}); let the net answer again") from error
    stepped = None
    if f"{ODIN_PREFIX}logits" in tensors and f"{ODIN_PREFIX}features" in tensors:
        stepped = ModelOutputs(
            answers, tensors.pop(f"{ODIN_PREFIX}logits"), tensors.pop(f"{ODIN_PREFIX}features")
        )
    extra = {name.removeprefix(HEAD_PREFIX): array for name, array in tensors.items()}
    seen = ModelOutputs(answers, logits, features, extra, stepped)
    _validate_outputs(path, asks, seen)
    return asks, seen


def _encode_json(value: Any) -> np.ndarray:
    return np.frombuffer(msgspec.json.encode(value), np.uint8)


def _collect_arrays(seen: ModelOutputs) -> dict[str, np.ndarray]:
    """The arrays of `seen` by their names in the file."""
    arrays = {"logits": seen.logits, "features": seen.features}
    arrays |= {f"{HEAD_PREFIX}{name}": array for name, array in seen.head_logits.items()}
    if seen.odin_perturbed is not None:
        arrays |= {
            f"{ODIN_PREFIX}{name}": array for name, array in _collect_arrays(seen.odin_perturbed).items()
        }
    return arrays


def _validate_outputs(path: Path, asks: Sequence[VqaQuery], seen: ModelOutputs) -> None:
    problems = Problems(f"{path}: not what a net saw")
    for name, array in _collect_arrays(seen).items():
        if name not in _expected_shapes(asks, seen):
            problems.add(name, f"unknown here; the heads are {', '.join(HEAD_NAMES)}")
        elif array.dtype != np.float32 or not _shape_matches(array.shape, _expected_shapes(asks, seen)[name]):
            wanted = str(_expected_shapes(asks, seen)[name]).replace("None", "any")
            problems.add(name, f"{array.dtype} {array.shape}, wanted float32 {wanted}")
        elif wrong := int(np.count_nonzero(~np.isfinite(array))):
            problems.add(
                name,
                f"{format_count(wrong, 'value is', 'values are')} not finite; the net's training went wrong",
            )
    for what, values in (("asks", asks), ("answers", seen.answers)):
        for value, times in _find_duplicates(values):
            problems.add(what, f"{value!r} is there {times} times")
    if not seen.answers:
        problems.add("answers", "none")
    problems.raise_if_any()


def _expected_shapes(asks: Sequence[VqaQuery], seen: ModelOutputs) -> dict[str, tuple[int | None, ...]]:
    """The shape that each array may have; None where any length will do."""
    n = len(asks)
    shapes: dict[str, tuple[int | None, ...]] = {"logits": (n, len(seen.answers)), "features": (n, None)}
    shapes |= {f"{HEAD_PREFIX}{name}": (n,) for name in HEAD_NAMES}
    return shapes | {
        f"{ODIN_PREFIX}logits": shapes["logits"],
        f"{ODIN_PREFIX}features": seen.features.shape,  # the same net, so as many features
    }


def _shape_matches(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(b in (None, a) for a, b in zip(shape, wanted, strict=True))


def _find_duplicates(values: Iterable[Any]) -> list[tuple[Any, int]]:
    return [(value, times) for value, times in Counter(values).items() if times > 1]
