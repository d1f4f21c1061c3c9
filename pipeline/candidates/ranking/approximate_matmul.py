"""Multiply image and text vectors approximately, to filter pairs before they are scored exactly.

numpy multiplies in float32, and torch multiplies in bfloat16. Pairs that pass the filter are scored exactly
by `exact_scores`, and a row is computed again if the filter may have missed a question. So rounding changes
no result, as long as the rounding error is bounded. Processors with AMX (Intel's matrix instructions)
multiply bfloat16 several times faster than float32. Other processors multiply bfloat16 more slowly, so numpy
is used there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

# Minimum number of pairs for which torch saves more than the two seconds that importing torch takes.
MIN_PAIRS_FOR_TORCH = 5 * 10**8
# Number of vectors that are rounded at once. They take half a megabyte, which fits into the cache of a
# processor.
ROUNDING_CHUNK_ROWS = 256
# The file in which Linux describes the processor.
CPU_INFO_PATH = Path("/proc/cpuinfo")


class ApproximateMatmul(NamedTuple):
    """A matrix product that runs on one thread.

    Attributes:
        multiply: A function that takes images float32 [n, d], texts float32 [m, d] and an array [n, m] for
            the result.
        max_error: Upper bound of |result - exact product| for vectors whose length is 1 within 1 %.
    """

    multiply: Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    max_error: float


@contextmanager
def choose_matmul(images: np.ndarray, texts: np.ndarray) -> Iterator[ApproximateMatmul]:
    """Provide the faster matrix product for the vectors of images and texts, float32 [n, d] and [m, d].

    Within the context, the matrix product uses one thread.
    """
    # |float32 sum - exact sum| <= d 2**-24 |p||t| in any order of summation, for an image p and a text t.
    # Twice this bound leaves a margin.
    error = images.shape[1] * 2.0**-23
    with threadpool_limits(1, "blas"):
        if len(images) * len(texts) < MIN_PAIRS_FOR_TORCH or not _has_amx():
            yield ApproximateMatmul(_matmul_float32, error)
            return
        import torch

        precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
        # "medium" rounds the factors to bfloat16 and adds in float32.
        torch.set_float32_matmul_precision("medium")
        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                # Memory-mapped files are read-only.
                warnings.filterwarnings("ignore", "The given NumPy array is not writable")
                # p' and t' are the rounded vectors. |p't' - pt| <= |p' - p||t| + |p'||t' - t| by the
                # Cauchy-Schwarz inequality, and |p'| and |t| are at most 1.02.
                yield ApproximateMatmul(
                    _matmul_bfloat16,
                    error + 1.02 * (_max_rounding_error(images) + _max_rounding_error(texts)),
                )
        finally:
            torch.set_float32_matmul_precision(precision)
            torch.set_num_threads(threads)


def _has_amx() -> bool:
    """Return whether the processor multiplies bfloat16 matrices with AMX. False if this is not known."""
    return CPU_INFO_PATH.is_file() and " amx_bf16 " in CPU_INFO_PATH.read_text(errors="replace")


def _max_rounding_error(vectors: np.ndarray) -> float:
    """Return the maximum distance between a vector and the same vector rounded to bfloat16."""
    import torch

    chunks = (
        torch.from_numpy(vectors[start : start + ROUNDING_CHUNK_ROWS])
        for start in range(0, len(vectors), ROUNDING_CHUNK_ROWS)
    )
    return max(float((chunk - chunk.bfloat16()).norm(dim=1).max()) for chunk in chunks)


def _matmul_float32(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    np.matmul(one, other.T, out=out)


def _matmul_bfloat16(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    import torch

    torch.mm(torch.from_numpy(one), torch.from_numpy(other).T, out=torch.from_numpy(out))
