"""Seeds of any text: the hash can be checked by anyone and does not reveal the random numbers."""

from __future__ import annotations

import pytest

from pipeline.core.errors import UserError
from research.synthetic_world.secret_seeds import derive_seed, hash_seed


def test_the_hash_is_what_sha256sum_says() -> None:
    # printf %s abc | sha256sum: FIPS 180-4's own example
    assert hash_seed("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_number_does_not_follow_from_the_published_hash() -> None:
    assert derive_seed("abc") != derive_seed("abd")
    assert 0 <= derive_seed("abc") < 2**128
    assert f"{derive_seed('abc'):032x}" not in hash_seed("abc")


def test_an_empty_seed_is_an_error() -> None:
    with pytest.raises(UserError, match="--seed is empty"):
        derive_seed("")
