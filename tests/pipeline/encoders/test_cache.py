"""The cache keeps what was written, whatever happens to the run."""

from __future__ import annotations

import errno
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.encoders.cache import Cache, keys, read_seed, write_seed
from pipeline.encoders.clip import ModelRecord

KEYS = [bytes([i]) * 32 for i in range(6)]
ROWS = np.arange(18, dtype=np.float32).reshape(6, 3)


def key(fingerprint: str, preprocessing: str, kind: Literal["picture", "text"], content: str) -> bytes:
    model = ModelRecord(
        model="m",
        pretrained="",
        weights_sha256="w",
        fingerprint=fingerprint,
        preprocessing=preprocessing,
        quick_gelu=False,
        dimension=3,
        context_length=8,
        open_clip="3",
        torch="2",
    )
    (found,) = keys(model, kind, [content])
    return found


def test_a_key_changes_with_each_of_its_parts_and_with_nothing_else() -> None:
    same = key("model", "resize", "text", "red")
    others = [
        key("other", "resize", "text", "red"),
        key("model", "crop", "text", "red"),
        key("model", "resize", "picture", "red"),
        key("model", "resize", "text", "blue"),
        key("modelresize", "", "text", "red"),
    ]
    assert key("model", "resize", "text", "red") == same and len(same) == 32
    assert len({same, *others}) == 6


def test_vectors_come_back_bit_for_bit_in_the_order_asked(tmp_path: Path) -> None:
    first = Cache(tmp_path / "a" / "v.sqlite", 3)
    first.put(KEYS, ROWS / 7)
    first.close()
    again = Cache(tmp_path / "a" / "v.sqlite", 3)
    np.testing.assert_array_equal(again.get([KEYS[4], KEYS[0], KEYS[4]]), (ROWS / 7)[[4, 0, 4]])


def test_missing_keys_are_told_once_each_in_order(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "v.sqlite", 3)
    cache.put(KEYS[1:3], ROWS[1:3])
    assert cache.missing([KEYS[5], KEYS[1], KEYS[0], KEYS[5], KEYS[2]]) == [KEYS[5], KEYS[0]]


def test_what_was_put_before_a_kill_9_is_there_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    program = f"""
import os, signal, numpy as np
from pathlib import Path
from pipeline.encoders.cache import Cache
cache = Cache(Path({str(path)!r}), 3)
for i in range(4):
    cache.put([bytes([i]) * 32], np.full((1, 3), i, np.float32))
cache._base.execute("BEGIN")
cache._base.execute("INSERT INTO vectors VALUES (?, ?)", (bytes([9]) * 32, b"half"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    cache = Cache(path, 3)
    np.testing.assert_array_equal(cache.get(KEYS[:4])[:, 0], [0, 1, 2, 3])
    assert cache.missing([bytes([9]) * 32]) != []  # the transaction in work left nothing


def test_a_full_disk_is_told_as_such_and_loses_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "v.sqlite", 1000)
    cache.put(KEYS[:1], np.ones((1, 1000)))
    cache._base.execute("PRAGMA max_page_count = 4")  # SQLite's own way to stand on a full disk
    with pytest.raises(OSError) as caught:
        cache.put(KEYS[1:], np.ones((5, 1000)))
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path / "v.sqlite")
    assert cache.missing(KEYS) == KEYS[1:]


def test_a_damaged_cache_says_that_it_may_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(UserError, match="delete the file and run again"):
        Cache(tmp_path / "v.sqlite", 3)


def test_a_seed_gives_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    write_seed(tmp_path / "one", KEYS, ROWS)
    write_seed(tmp_path / "two", KEYS[::-1], ROWS[::-1])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    keys, rows = read_seed(tmp_path / "one")
    assert keys == KEYS
    np.testing.assert_array_equal(rows, ROWS)


def test_the_seed_wins_over_what_this_machine_computed(tmp_path: Path) -> None:
    # only so are the bytes the same on every machine, also where something was encoded before the seed came
    Cache(tmp_path / "v.sqlite", 3).put(KEYS[:2], ROWS[:2] + 1e-7)
    write_seed(tmp_path / "seed", KEYS[:1], ROWS[:1])
    cache = Cache(tmp_path / "v.sqlite", 3, seed=tmp_path / "seed")
    np.testing.assert_array_equal(cache.get(KEYS[:2]), [ROWS[0], ROWS[1] + np.float32(1e-7)])


@pytest.mark.parametrize("content", [b"", b"\x10" * 40])
def test_a_broken_seed_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "seed").write_bytes(content)
    with pytest.raises(UserError, match="seed: not a file of vectors"):
        Cache(tmp_path / "v.sqlite", 3, seed=tmp_path / "seed")


def test_the_cache_is_plain_sqlite(tmp_path: Path) -> None:
    Cache(tmp_path / "v.sqlite", 3).put(KEYS[:1], ROWS[:1])
    ((k, v),) = sqlite3.connect(tmp_path / "v.sqlite").execute("SELECT key, vector FROM vectors")
    assert (k, v) == (KEYS[0], ROWS[0].tobytes())
