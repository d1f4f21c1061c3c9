"""A seed that nobody knows until it is told, and whose hash says before that it was fixed."""

from __future__ import annotations

import hashlib

from pipeline.core.errors import UserError


def derive_seed(secret: str) -> int:
    """What is drawn with, from a seed of any text: 128 bits of its hash.

    Raises:
        UserError: it is empty.
    """
    if not secret:
        raise UserError(
            'the seed is empty; wanted any text, the longer the better: --seed "$(openssl rand -hex 16)"'
        )
    return int.from_bytes(hashlib.sha256(f"rgqa seed {secret}".encode()).digest()[:16], "big")


def hash_seed(secret: str) -> str:
    """The SHA-256 of the seed's text, in hex, as `printf %s SEED | sha256sum` gives it."""
    return hashlib.sha256(secret.encode()).hexdigest()
