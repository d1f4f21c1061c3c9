"""Vectors that were already computed, by what they were computed from.

A vector's key is the SHA-256 of the model's fingerprint, its preprocessing and the content (a picture file's SHA-256,
or a text). Every data set shares one SQLite file, written batch by batch, so that a kill at any moment loses
at most the batch in work. It can be deleted at any time. Vectors computed elsewhere come in through a *seed*: a
small safetensors file with `keys` uint8 [n, 32] and `vectors` float32 [n, d].
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.files import replacing
from pipeline.encoders.clip import ModelRecord


def keys(model: ModelRecord, kind: Literal["picture", "text"], contents: Iterable[str]) -> list[bytes]:
    """Keys of vectors that a model makes, 32 bytes each.

    Args:
        contents: pictures' SHA-256 in hex, or the texts themselves.
    """
    made_by = f"{model.fingerprint}\x1f{model.preprocessing}\x1f{kind}\x1f"
    return [hashlib.sha256(f"{made_by}{content}".encode()).digest() for content in contents]


class Cache:
    """Vectors of `dimension` float32 by key, in one file that survives a kill at any moment.

    Args:
        path: the SQLite file; made when missing.
        seed: a file written by `write_seed`; its vectors take the place of any of the same key.

    Raises:
        UserError: the file is damaged (delete it: it is only a cache). OSError: the disk is full.
    """

    def __init__(self, path: Path, dimension: int, seed: Path | None = None) -> None:
        self._path, self.dimension = path, dimension
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors_told():
            self._base = sqlite3.connect(path)
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )
        if seed is not None and seed.exists():
            self.put(*read_seed(seed))

    def missing(self, wanted: Sequence[bytes]) -> list[bytes]:
        """Those keys that have no vector yet, each once, in the order given."""
        with self._errors_told():
            there = "SELECT 1 FROM vectors WHERE key = ?"  # the vectors themselves are not read
            return [
                key for key in dict.fromkeys(wanted) if self._base.execute(there, (key,)).fetchone() is None
            ]

    def put(self, wanted: Sequence[bytes], vectors: np.ndarray) -> None:
        """Keep vectors [len(wanted), d] by key; on return they are on the disk."""
        rows = [vector.tobytes() for vector in np.ascontiguousarray(vectors, np.float32)]
        with self._errors_told(), self._base:  # one transaction
            self._base.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", zip(wanted, rows, strict=True)
            )

    def get(self, wanted: Sequence[bytes]) -> np.ndarray:
        """Vectors float32 [len(wanted), dimension]; every key must be there."""
        with self._errors_told():
            content = b"".join(self._vector(key) or b"" for key in wanted)
        return np.frombuffer(content, np.float32).reshape(len(wanted), self.dimension)

    def close(self) -> None:
        self._base.close()

    def _vector(self, key: bytes) -> bytes | None:
        row = self._base.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return row and row[0]

    @contextmanager
    def _errors_told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, "the disk is full", str(self._path)) from error
            raise UserError(
                f"{self._path}: the cache cannot be used ({error}); is another run using it, may you write there?"
            ) from error
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"{self._path}: the cache is damaged ({error}); delete the file and run again, it is only a cache"
            ) from error


def write_seed(path: Path, wanted: Sequence[bytes], vectors: np.ndarray) -> None:
    """Write vectors [len(wanted), d] sorted by key: the same vectors give the same bytes."""
    from safetensors.numpy import save

    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    table = np.frombuffer(b"".join(wanted[i] for i in order), np.uint8).reshape(-1, 32)
    with replacing(path) as file:
        file.write(save({"keys": table, "vectors": np.ascontiguousarray(vectors[order], np.float32)}))


def read_seed(path: Path) -> tuple[list[bytes], np.ndarray]:
    """Keys and vectors of a seed file.

    Raises:
        UserError: not such a file, or cut off.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
        return [bytes(row) for row in tensors["keys"]], tensors["vectors"]
    except (SafetensorError, KeyError, OSError) as error:
        raise UserError(
            f"{path}: not a file of vectors ({error}); restore it, or delete it to compute the vectors anew"
        ) from error
