"""Average the cross-attention from the words of a question to the regions of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def average_cross_attention(layers: Sequence[np.ndarray], first_region: int = 0) -> np.ndarray:
    """Return the attention [T, M] of each word to each region, averaged over layers and heads. Rows sum to 1.

    Args:
        layers: Attention [heads, T, M] of each layer, for T words and M regions. Rows sum to 1.
        first_region: Index of the first region that is used. Use 1 for BLIP, whose vision encoder has a token
            for the whole image before the tokens of the patches.

    Raises:
        ValueError: There are no layers, or their shapes differ.

    >>> average_cross_attention([np.array([[[0.5, 0.25, 0.25]]])], first_region=1).tolist()
    [[0.5, 0.5]]
    """
    shapes = sorted({layer.shape[1:] for layer in layers})
    if len(shapes) != 1 or len(shapes[0]) != 2 or first_region >= shapes[0][1]:
        raise ValueError(f"attention of shapes {shapes}; wanted [heads, words, regions] of every layer")
    table = np.mean([np.asarray(layer, float).mean(0) for layer in layers], 0)[:, first_region:]
    return table / table.sum(1, keepdims=True)


def average_over_words(table: np.ndarray, is_word: Sequence[bool]) -> np.ndarray:
    """Return the attention [M] of the question as a whole: the mean over its words.

    Args:
        table: Attention [T, M] of each token to each region.
        is_word: Whether each token is a word, not a special token of the tokenizer.

    Raises:
        ValueError: There is no word, or the length of `is_word` differs from the number of rows of `table`.

    >>> average_over_words(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), [False, True, True]).tolist()
    [0.25, 0.75]
    """
    which = np.asarray(is_word, bool)
    if which.shape != (len(table),) or not which.any():
        raise ValueError(
            f"{which.sum()} of {len(which)} tokens are words, in a table of {len(table)} rows; wanted at least one word, and a row per token"
        )
    return table[which].mean(0)
