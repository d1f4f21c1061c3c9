"""What a classifying model makes of all its answers: by question as text in a log, by item in one file of a run."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..core.atomic_files import atomic_write
from ..core.errors import UserError, format_count

_DTYPE = np.dtype("<f2")


def encode_distribution(probabilities: np.ndarray) -> str:
    """Probabilities [K] in [0, 1] as text: base64 of float16, whose error is at most 2^-12 (0.025 %).

    >>> unpacked(packed(np.array([0.5, 0.25, 0.0]))).tolist()
    [0.5, 0.25, 0.0]
    """
    return base64.b64encode(np.asarray(probabilities, _DTYPE).tobytes()).decode()


def decode_distribution(text: str) -> np.ndarray:
    """What `packed` made, float16 [K].

    Raises:
        ValueError: something else.
    """
    return np.frombuffer(base64.b64decode(text, validate=True), _DTYPE)


def write_distributions(
    path: Path, answer_vocabulary: Sequence[str], encoded_by_item: Mapping[str, str]
) -> None:
    """Write `answers` [K], `items` [n] and `probabilities` [n, K] float16 as one .npz; the same content gives the same bytes.

    Args:
        by_item: what `packed` made, by item id.

    Raises:
        ValueError: a distribution has another number of answers.
    """
    rows = {item: decode_distribution(text) for item, text in encoded_by_item.items()}
    if wrong := [item for item, row in rows.items() if len(row) != len(answer_vocabulary)]:
        raise ValueError(
            f"{format_count(len(answer_vocabulary), 'answer')}, but {format_count(len(rows[wrong[0]]), 'probability', 'probabilities')} of {wrong[0]}"
        )
    table = np.array(list(rows.values()), _DTYPE).reshape(len(rows), len(answer_vocabulary))
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            answers=np.array(answer_vocabulary, str),
            items=np.array(list(rows), str),
            probabilities=table,
        )


def read_distributions(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of the answers, and by item their probabilities, float16 [K].

    Raises:
        UserError: no such file, or not one of these.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            answers, items, table = (file[name] for name in ("answers", "items", "probabilities"))
        if table.shape != (len(items), len(answers)):
            raise ValueError(
                f"{table.shape} probabilities of {format_count(len(items), 'item')} and {format_count(len(answers), 'answer')}"
            )
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise UserError(f"{path}: no distributions of a run ({error})") from error
    return answers.tolist(), dict(zip(items.tolist(), table, strict=True))
