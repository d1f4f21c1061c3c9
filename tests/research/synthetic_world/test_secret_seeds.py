"""A seed of any text: its hash can be checked by anybody, and does not tell what was drawn with."""

from __future__ import annotations

import pytest

from pipeline.core.errors import UserError
from research.synthetic_world.secret_seeds import seed_hash, seed_number


def test_the_hash_is_what_sha256sum_says() -> None:
    # printf %s abc | sha256sum: FIPS 180-4's own example
    assert seed_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_whoever_knows_the_hash_does_not_know_the_number() -> None:
    assert seed_number("abc") != seed_number("abd")
    assert 0 <= seed_number("abc") < 2**128
    assert f"{seed_number('abc'):032x}" not in seed_hash("abc")


def test_an_empty_seed_is_refused() -> None:
    with pytest.raises(UserError, match="the seed is empty"):
        seed_number("")
