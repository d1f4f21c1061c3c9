"""Store the probabilities of all answers that a VQA model knows: as text in a log, and as one .npz file for a
run.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..core.atomic_files import atomic_write
from ..core.errors import UserError, format_count

_DTYPE = np.dtype("<f2")


def encode_distribution(probabilities: np.ndarray) -> str:
    """Encode probabilities [K] in [0, 1] as base64 of float16. The error is at most 2^-12 (0.025 %).

    >>> decode_distribution(encode_distribution(np.array([0.5, 0.25, 0.0]))).tolist()
    [0.5, 0.25, 0.0]
    """
    return base64.b64encode(np.asarray(probabilities, _DTYPE).tobytes()).decode()


def decode_distribution(text: str) -> np.ndarray:
    """Decode what `encode_distribution` wrote; return float16 [K].

    Raises:
        ValueError: The text is not a distribution.
    """
    return np.frombuffer(base64.b64decode(text, validate=True), _DTYPE)


def write_distributions(
    path: Path, answer_vocabulary: Sequence[str], encoded_by_item: Mapping[str, str]
) -> None:
    """Write the arrays `answers` [K], `items` [n] and `probabilities` [n, K] (float16) to an .npz file.

    Equal content gives equal bytes.

    Args:
        path: The file to write.
        answer_vocabulary: The K answers of the model.
        encoded_by_item: Item id -> distribution, encoded by `encode_distribution`.

    Raises:
        ValueError: A distribution does not have K probabilities.
    """
    rows = {item: decode_distribution(text) for item, text in encoded_by_item.items()}
    if wrong := [item for item, row in rows.items() if len(row) != len(answer_vocabulary)]:
        raise ValueError(
            f"item {wrong[0]}: {format_count(len(rows[wrong[0]]), 'probability', 'probabilities')} for "
            f"{format_count(len(answer_vocabulary), 'answer')}"
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
    """Read the K answers of the model, and item id -> probabilities of the answers (float16 [K]).

    Raises:
        UserError: The file cannot be read, or was not written by `write_distributions`.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            answers, items, table = (file[name] for name in ("answers", "items", "probabilities"))
        if table.shape != (len(items), len(answers)):
            raise ValueError(
                f"probabilities of shape {table.shape} for {format_count(len(items), 'item')} and {format_count(len(answers), 'answer')}"
            )
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise UserError(
            f"{path}: wanted the distribution.npz of a run ({error}). Run `rgqa run` again to write it"
        ) from error
    return answers.tolist(), dict(zip(items.tolist(), table, strict=True))
