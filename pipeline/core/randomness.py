"""Random numbers that depend only on a seed and a key, not on the order of processing."""

from __future__ import annotations

import hashlib

import numpy as np


def make_generator(seed: int, *key: str) -> np.random.Generator:
    """Return a random generator for one decision.

    Args:
        seed: Seed of the stage.
        key: Texts that identify the decision, for example the name of the stage and the id of a question.

    Example:
        >>> make_generator(3, "perturb", "n1").random() == make_generator(3, "perturb", "n1").random()
        True
    """
    digest = hashlib.sha256("\x1f".join([str(seed), *key]).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def hash_uniform(*key: str) -> float:
    """Return a pseudo-random number in [0, 1) for one decision, about 100 times faster than with a generator.

    Args:
        key: Texts that identify the decision. The seed is one of them.

    Example:
        >>> 0 <= hash_uniform("3", "weak", "n1") < 1
        True
    """
    return int.from_bytes(hashlib.sha256("\x1f".join(key).encode()).digest()[:6], "big") / 2**48
