"""The matrix product that filters pairs before they are scored exactly: numpy's in float32, or torch's in bfloat16.

What passes a filter is scored by another rule, and a row is done again where the filter may have left something out;
so that the product may be rounded as it likes, as long as its error is known, and changes no result. Processors with
AMX multiply bfloat16 several times faster than float32; without it bfloat16 is slower, and numpy's product is taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

MIN_PAIRS_FOR_TORCH = 5 * 10**8  # pairs from which on it pays to load torch (two seconds)
ROUNDING_CHUNK_ROWS = 256  # vectors: half a megabyte, which stays near the processor
CPU_INFO_PATH = Path("/proc/cpuinfo")  # of Linux


class ApproximateMatmul(NamedTuple):
    """A product of one thread.

    Attributes:
        multiply: of float32 [n, d], [m, d] and room for the result, [n, m].
        error: |result - true product| is at most so much, of unit vectors (within 1 %).
    """

    multiply: Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    max_error: float


@contextmanager
def choose_matmul(images: np.ndarray, texts: np.ndarray) -> Iterator[ApproximateMatmul]:
    """The faster product for these vectors, float32 [n, d] and [m, d]; within it no product takes several threads."""
    # |float32 sum - true| <= d 2**-24 |p||t| in any order of summation; twice that, to be safe.
    error = images.shape[1] * 2.0**-23
    with threadpool_limits(1, "blas"):
        if len(images) * len(texts) < MIN_PAIRS_FOR_TORCH or not _has_amx():
            yield ApproximateMatmul(_matmul_float32, error)
            return
        import torch

        precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
        torch.set_float32_matmul_precision("medium")  # numbers are rounded to bfloat16, sums are of float32
        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # a mapped file
                # |p't' - pt| <= |p' - p||t| + |p'||t' - t|, by Cauchy and Schwarz; p' and t' are no longer than 1.02.
                yield ApproximateMatmul(
                    _matmul_bfloat16,
                    error + 1.02 * (_max_rounding_error(images) + _max_rounding_error(texts)),
                )
        finally:
            torch.set_float32_matmul_precision(precision)
            torch.set_num_threads(threads)


def _has_amx() -> bool:
    """Whether the processor multiplies matrices of bfloat16; False where that cannot be told."""
    return CPU_INFO_PATH.is_file() and " amx_bf16 " in CPU_INFO_PATH.read_text(errors="replace")


def _max_rounding_error(vectors: np.ndarray) -> float:
    """How far the vector is from its place that is moved most by rounding to bfloat16."""
    import torch

    parts = (
        torch.from_numpy(vectors[start : start + ROUNDING_CHUNK_ROWS])
        for start in range(0, len(vectors), ROUNDING_CHUNK_ROWS)
    )
    return max(float((part - part.bfloat16()).norm(dim=1).max()) for part in parts)


def _matmul_float32(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    np.matmul(one, other.T, out=out)


def _matmul_bfloat16(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    import torch

    torch.mm(torch.from_numpy(one), torch.from_numpy(other).T, out=torch.from_numpy(out))
