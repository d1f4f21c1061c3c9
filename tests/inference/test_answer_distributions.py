"""Distributions as text and as a file."""

import hashlib

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.inference.answer_distributions import (
    decode_distribution,
    encode_distribution,
    read_distributions,
    write_distributions,
)

ROWS = {"q1": np.array([0.5, 1 / 3, 0.0]), "q2": np.array([1.0, 1e-7, 0.25])}


def test_an_encoded_distribution_has_eleven_bits():
    for row in ROWS.values():
        # float16 has 11 bits of precision down to 2^-14, then steps of 2^-24.
        assert np.abs(decode_distribution(encode_distribution(row)) - row).max() <= 2**-12
        assert decode_distribution(encode_distribution(row)) == pytest.approx(row, rel=2**-11, abs=2**-25)


def test_a_file_of_distributions_is_read_and_its_bytes_are_reproducible(tmp_path):
    texts = {item: encode_distribution(row) for item, row in ROWS.items()}
    hashes = set()
    for _ in range(2):
        write_distributions(tmp_path / "distribution.npz", ("yes", "no", "a cup"), texts)
        hashes.add(hashlib.sha256((tmp_path / "distribution.npz").read_bytes()).hexdigest())
    answers, rows = read_distributions(tmp_path / "distribution.npz")
    assert answers == ["yes", "no", "a cup"] and list(rows) == ["q1", "q2"] and len(hashes) == 1
    assert rows["q2"].tolist() == np.float16(ROWS["q2"]).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["distribution.npz"]


def test_no_distributions_are_an_empty_file(tmp_path):
    write_distributions(tmp_path / "d.npz", ("yes",), {})
    assert read_distributions(tmp_path / "d.npz") == (["yes"], {})


def test_invalid_distributions_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="item q1: 3 probabilities for 2 answers"):
        write_distributions(tmp_path / "d.npz", ("yes", "no"), {"q1": encode_distribution(ROWS["q1"])})
    (tmp_path / "e.npz").write_bytes(b"no")
    np.savez(tmp_path / "f.npz", answers=["a"], items=["q"], probabilities=np.zeros((2, 1)))
    for name in ("nosuch.npz", "e.npz", "f.npz"):
        with pytest.raises(UserError, match=f"{name}: "):
            read_distributions(tmp_path / name)
