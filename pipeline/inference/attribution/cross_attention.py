"""Cross-attention: how much each word of a question looks at each region of the image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def average_cross_attention(layers: Sequence[np.ndarray], first_region: int = 0) -> np.ndarray:
    """[T, M], row t: the share of each region in what word t looks at, mean over layers and heads.

    Args:
        layers: attention [H, T, M] of each layer, words on regions; rows sum to 1.
        first: the region that counts first. BLIP's vision tower has a token for the whole image before its patches: 1.

    Raises:
        ValueError: no layers, or shapes that differ.

    >>> words_on_regions([np.array([[[0.5, 0.25, 0.25]]])], first=1).tolist()
    [[0.5, 0.5]]
    """
    shapes = sorted({layer.shape[1:] for layer in layers})
    if len(shapes) != 1 or len(shapes[0]) != 2 or first_region >= shapes[0][1]:
        raise ValueError(f"attention of shapes {shapes}; wanted [heads, words, regions] of every layer")
    table = np.mean([np.asarray(layer, float).mean(0) for layer in layers], 0)[:, first_region:]
    return table / table.sum(1, keepdims=True)


def average_over_words(table: np.ndarray, is_word: Sequence[bool]) -> np.ndarray:
    """What the question as a whole looks at, [M]: the mean over the words that count (marks of the tokenizer do not).

    Raises:
        ValueError: no word counts, or there are not as many as rows.

    >>> of_words(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), [False, True, True]).tolist()
    [0.25, 0.75]
    """
    which = np.asarray(is_word, bool)
    if which.shape != (len(table),) or not which.any():
        raise ValueError(f"{which.sum()} of {len(which)} words count, of a table of {len(table)} rows")
    return table[which].mean(0)
