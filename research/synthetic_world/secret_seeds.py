"""Secret seeds. The hash of a secret seed can be published to prove later that the seed was fixed."""

from __future__ import annotations

import hashlib

from pipeline.core.errors import UserError


def derive_seed(secret: str) -> int:
    """Return the number that seeds all generators: 128 bits of the hash of the secret.

    Raises:
        UserError: The secret is empty.
    """
    if not secret:
        raise UserError('--seed is empty. Use any long text, such as --seed "$(openssl rand -hex 16)"')
    return int.from_bytes(hashlib.sha256(f"rgqa seed {secret}".encode()).digest()[:16], "big")


def hash_seed(secret: str) -> str:
    """Return the SHA-256 of the seed's text in hex. `printf %s SEED | sha256sum` prints the same hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
