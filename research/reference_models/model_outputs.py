"""The queries to a net, the outputs of the net, and the file that stores both.

Detectors and selection functions need only these. The file is a safetensors file with the tensors `queries`
and `answers` (JSON in UTF-8, as bytes), `logits`, `features`, `extra.NAME` for each head,
`odin_perturbed.logits` and `odin_perturbed.features`. Equal content gives equal bytes.
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

HEAD_PREFIX, ODIN_PREFIX = "extra.", "odin_perturbed."
# Names of extra heads. Higher logits mean answerable, except for `k_plus_1`, which is the logit of the answer "unanswerable".
# `separated` and `caption_match` are outputs of other nets that are stored together with the outputs of the net that answers.
HEAD_NAMES = ("branch", "multi_branch", "separated", "k_plus_1", "caption_match")


class VqaQuery(NamedTuple):
    """A question about an image.

    Several items of a release may have the same query, which a net answers only once.
    """

    image_id: str
    text: str


class ModelOutputs(NamedTuple):
    """The outputs of a net for n queries.

    Attributes:
        answers: The K answers.
        logits: float32 [n, K]. The nets are trained with binary cross-entropy for each answer: sigmoid(logit)
            is the probability that this answer is correct. All K probabilities may be low.
        features: Input of the classifier, float32 [n, d].
        head_logits: Name in `HEAD_NAMES` -> logits of this extra head, float32 [n].
        odin_perturbed: Logits and features after ODIN's step on the regions (`detectors.odin`); None without
            the step.
    """

    answers: tuple[str, ...]
    logits: np.ndarray
    features: np.ndarray
    head_logits: Mapping[str, np.ndarray] = MappingProxyType({})
    odin_perturbed: ModelOutputs | None = None


def write_outputs(path: Path, queries: Sequence[VqaQuery], outputs: ModelOutputs) -> None:
    """Write queries and the outputs of a net.

    Raises:
        UserError: Shapes do not match, a value is not finite, or a query or an answer occurs twice.
    """
    from safetensors.numpy import save

    _validate_outputs(path, queries, outputs)
    tensors = {
        "queries": _encode_json(queries),
        "answers": _encode_json(outputs.answers),
        **_collect_arrays(outputs),
    }
    with atomic_write(path) as file:
        file.write(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def read_outputs(path: Path) -> tuple[list[VqaQuery], ModelOutputs]:
    """Read queries and the outputs of a net.

    Raises:
        UserError: The file cannot be read, or was not written by `write_outputs`. All faults are listed.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_for_reading(path) as file:
            tensors = load(file.read())
        queries = msgspec.json.decode(tensors.pop("queries").tobytes(), type=list[VqaQuery])
        answers = tuple(msgspec.json.decode(tensors.pop("answers").tobytes(), type=list[str]))
        logits, features = tensors.pop("logits"), tensors.pop("features")
    except (SafetensorError, KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not the outputs of a net ({error}); run the net again") from error
    odin_perturbed = None
    if f"{ODIN_PREFIX}logits" in tensors and f"{ODIN_PREFIX}features" in tensors:
        odin_perturbed = ModelOutputs(
            answers, tensors.pop(f"{ODIN_PREFIX}logits"), tensors.pop(f"{ODIN_PREFIX}features")
        )
    head_logits = {name.removeprefix(HEAD_PREFIX): array for name, array in tensors.items()}
    outputs = ModelOutputs(answers, logits, features, head_logits, odin_perturbed)
    _validate_outputs(path, queries, outputs)
    return queries, outputs


def _encode_json(value: Any) -> np.ndarray:
    return np.frombuffer(msgspec.json.encode(value), np.uint8)


def _collect_arrays(outputs: ModelOutputs) -> dict[str, np.ndarray]:
    """Return name in the file -> array."""
    arrays = {"logits": outputs.logits, "features": outputs.features}
    arrays |= {f"{HEAD_PREFIX}{name}": array for name, array in outputs.head_logits.items()}
    if outputs.odin_perturbed is not None:
        arrays |= {
            f"{ODIN_PREFIX}{name}": array for name, array in _collect_arrays(outputs.odin_perturbed).items()
        }
    return arrays


def _validate_outputs(path: Path, queries: Sequence[VqaQuery], outputs: ModelOutputs) -> None:
    problems = Problems(f"{path}: not the outputs of a net; run the net again")
    for name, array in _collect_arrays(outputs).items():
        if name not in _expected_shapes(queries, outputs):
            problems.add(name, f"unknown head; the heads are {', '.join(HEAD_NAMES)}")
        elif array.dtype != np.float32 or not _shape_matches(
            array.shape, _expected_shapes(queries, outputs)[name]
        ):
            wanted = str(_expected_shapes(queries, outputs)[name]).replace("None", "any")
            problems.add(name, f"{array.dtype} {array.shape}, wanted float32 {wanted}")
        elif wrong := int(np.count_nonzero(~np.isfinite(array))):
            problems.add(
                name,
                f"{format_count(wrong, 'value is', 'values are')} not finite; the net's training went wrong",
            )
    for what, values in (("queries", queries), ("answers", outputs.answers)):
        for value, times in _find_duplicates(values):
            problems.add(what, f"{value!r} occurs {times} times")
    if not outputs.answers:
        problems.add("answers", "none")
    problems.raise_if_any()


def _expected_shapes(queries: Sequence[VqaQuery], outputs: ModelOutputs) -> dict[str, tuple[int | None, ...]]:
    """Return name -> expected shape of the array. None in a shape means any length."""
    n = len(queries)
    shapes: dict[str, tuple[int | None, ...]] = {"logits": (n, len(outputs.answers)), "features": (n, None)}
    shapes |= {f"{HEAD_PREFIX}{name}": (n,) for name in HEAD_NAMES}
    return shapes | {
        f"{ODIN_PREFIX}logits": shapes["logits"],
        f"{ODIN_PREFIX}features": outputs.features.shape,
    }


def _shape_matches(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(b in (None, a) for a, b in zip(shape, wanted, strict=True))


def _find_duplicates(values: Iterable[Any]) -> list[tuple[Any, int]]:
    return [(value, times) for value, times in Counter(values).items() if times > 1]
